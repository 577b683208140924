//===- Executor.h - PTX run and checked on the CPU --------------*- C++ -*-===//
//
// Runs kernels in PTX, as LLVM writes them, without a GPU, and says what they
// do wrong: docs/internals/ptx-executor.md. Throws Error, which names a line of
// the PTX, for a module or a launch that is malformed; what a kernel does wrong
// as it runs is a Report, and the launch goes on.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_EMULATED_EXECUTOR_H
#define DIST_RUNTIME_EMULATED_EXECUTOR_H

#include "dist/Tensor.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dist::emulated {

struct Buffer;
struct Code;

/// The buffers of a device. One launch at a time uses it.
class Memory {
public:
  /// An address of the device is one of the host and `base` besides. Pointers
  /// below are the device's.
  explicit Memory(uint64_t base = 0);
  ~Memory();
  Memory(const Memory &) = delete;

  /// A buffer of `bytes`, aligned to 256, of bytes 0xff that count as not
  /// written. `name` stands in reports.
  void *allocate(uint64_t bytes, const std::string &name);
  /// Memory of the caller's, at an address of the host, whose bytes count as
  /// written if `isWritten`.
  void add(void *data, uint64_t bytes, const std::string &name, bool isWritten);
  /// Forgets a buffer that begins at `data`, and frees it if it was allocated
  /// here.
  void remove(const void *data);

  /// Counts `bytes` from `data` on as written, or as not.
  void setWritten(const void *data, uint64_t bytes, bool isWritten = true);
  /// How many of these bytes nobody has written.
  uint64_t countUnwritten(const void *data, uint64_t bytes) const;
  /// The offset from `data` of the first of them; `bytes` if there is none.
  uint64_t findUnwritten(const void *data, uint64_t bytes) const;

  uint64_t addressOf(const void *ofHost) const {
    return reinterpret_cast<uint64_t>(ofHost) + base;
  }
  uint8_t *hostOf(uint64_t address) const {
    return reinterpret_cast<uint8_t *>(address - base);
  }
  /// The buffer that holds these bytes, or null.
  Buffer *find(uint64_t address, uint64_t bytes) const;
  /// The buffer at or below an address, or null.
  const Buffer *below(uint64_t address) const;

private:
  friend class Launch;
  Buffer &owner(const void *data, uint64_t bytes) const;

  const uint64_t base;
  std::map<uint64_t, std::unique_ptr<Buffer>> buffers;
};

/// A parameter of a kernel. Offset, size and alignment are bytes.
struct Parameter {
  std::string name;
  uint32_t offset = 0, bytes = 0, alignment = 1;
};

/// What a module says about a kernel.
struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  /// Bytes of all parameters.
  uint32_t parameterBytes = 0;
  /// Static shared memory and local memory of a thread, in bytes.
  uint32_t sharedBytes = 0, localBytes = 0;
  /// The most threads of a block along x, y and z, or their exact number; 0
  /// where nothing is said.
  std::array<uint32_t, 3> mostThreads{}, exactThreads{};
};

/// A module in PTX. Its variables are buffers of `memory` while it lives.
class Module {
public:
  /// Parses `ptx`; `name` stands before line numbers in messages.
  Module(std::string_view ptx, std::string name, Memory &memory);
  ~Module();
  Module(const Module &) = delete;

  std::vector<const Kernel *> kernels() const;
  /// Throws Error, which lists the kernels, if there is none of that name.
  const Kernel &kernel(const std::string &name) const;
  /// Address and size of a variable in global or constant memory; null, 0.
  std::pair<void *, uint64_t> variable(const std::string &name) const;
  const std::string &name() const;

private:
  friend class Launch;
  std::unique_ptr<Code> code;
  Memory &memory;
};

enum class Order { Issue, Reverse, Seeded };

struct LaunchShape {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  /// Dynamic shared memory, in bytes.
  uint32_t sharedBytes = 0;
};

struct LaunchOptions {
  /// In which order blocks, the warps of a block, and the lanes of an atomic
  /// operation come.
  Order order = Order::Issue;
  uint64_t seed = 0;
  /// Instructions of all warps together after which a launch is given up.
  uint64_t mostInstructions = 1'000'000'000;
  /// Shared memory that a block may have, in bytes.
  uint32_t mostSharedBytes = 232'448;
};

enum class Fault {
  OutOfBounds,
  Misaligned,
  Unwritten,
  Race,
  BlockRace,
  NonCoherent,
  PartOfWarp,
  MissingLanes,
  Barrier,
  DivisionByZero,
  Endless,
  Trap,
};

/// A short name: "shared race".
const char *nameOf(Fault fault);

/// What a kernel did wrong at one line, and how often.
struct Report {
  Fault fault = Fault::Trap;
  /// The line of the PTX.
  uint32_t line = 0;
  /// "file:line:column" by .loc, or nothing.
  std::string source;
  /// What happened the first time: addresses as offsets in named buffers.
  std::string text;
  /// The first block and thread that did it, numbered with x running first.
  uint64_t block = 0, thread = 0;
  uint64_t count = 0;
  /// All of it in one line.
  std::string str() const;
};

/// Sums over a launch.
struct Counts {
  /// Instructions of warps, and of threads.
  uint64_t warpInstructions = 0, threadInstructions = 0;
  /// Loads, stores and atomics of warps in global memory; the sectors of 32
  /// bytes that they touch; the bytes in these that a request uses.
  uint64_t globalRequests = 0, sectors = 0, usefulBytes = 0;
  /// Bytes that threads read from and wrote to global memory.
  uint64_t bytesRead = 0, bytesWritten = 0;
  /// Requests of shared memory, split into parts of at most 128 bytes, and the
  /// cycles that their bank conflicts make of them.
  uint64_t sharedRequests = 0, sharedCycles = 0;
  /// Bytes that threads move to and from local memory.
  uint64_t localBytes = 0;

  /// 1 at best.
  double sectorRatio() const {
    return usefulBytes ? 32.0 * sectors / usefulBytes : 1;
  }
  double cyclesPerRequest() const {
    return sharedRequests ? double(sharedCycles) / sharedRequests : 1;
  }
};

struct LaunchResult {
  /// In the order of lines.
  std::vector<Report> reports;
  Counts counts;
  /// False if the launch was given up.
  bool isComplete = true;
};

/// Runs a kernel to its end. `arguments` has a pointer to the value of each
/// parameter, as cuLaunchKernel takes them. Throws Error if the launch itself
/// is malformed: its shape, its shared memory, the number of arguments.
LaunchResult launch(const Module &module, const std::string &kernel,
                    const LaunchShape &shape,
                    const std::vector<const void *> &arguments,
                    const LaunchOptions &options = {});

} // namespace dist::emulated

#endif // DIST_RUNTIME_EMULATED_EXECUTOR_H
