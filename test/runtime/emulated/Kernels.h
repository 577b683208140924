//===- Kernels.h - A device with kernels.ptx --------------------*- C++ -*-===//

#ifndef DIST_TEST_RUNTIME_EMULATED_KERNELS_H
#define DIST_TEST_RUNTIME_EMULATED_KERNELS_H

#include "runtime/emulated/Executor.h"

#include <cstring>
#include <functional>
#include <memory>
#include <optional>

namespace dist::test {

/// A file of Inputs/.
std::string readKernels(const std::string &name = "kernels.ptx");

/// An array on the device, which the host reads and writes in place.
template <class T> class Array {
public:
  Array(emulated::Memory &memory, const std::string &name, size_t count)
      : memory(memory), count(count) {
    data = static_cast<T *>(memory.allocate(count * sizeof(T), name));
  }
  Array(emulated::Memory &memory, const std::string &name,
        const std::vector<T> &values)
      : Array(memory, name, values.size()) {
    std::memcpy(data, values.data(), count * sizeof(T));
    memory.setWritten(data, count * sizeof(T));
  }
  ~Array() { memory.remove(data); }
  Array(const Array &) = delete;

  const void *argument() const { return &data; }
  T operator[](size_t i) const { return data[i]; }
  size_t size() const { return count; }
  std::vector<T> values() const { return {data, data + count}; }
  uint64_t unwritten() const {
    return memory.countUnwritten(data, count * sizeof(T));
  }

private:
  emulated::Memory &memory;
  size_t count;
  T *data;
};

/// What running a kernel once has given.
struct Outcome {
  emulated::LaunchResult result;
  /// Elements that are not what plain C++ computes, NaN and unwritten ones
  /// among them, and the first of them.
  uint64_t wrong = 0;
  std::string firstWrong;

  bool isClean() const { return result.reports.empty() && !wrong; }
  std::string str() const;
};

/// A kernel, its inputs, and what plain C++ makes of them.
struct Case {
  std::string name;
  std::function<Outcome(emulated::Memory &, const emulated::Module &,
                        const emulated::LaunchOptions &)>
      run;
};

/// A case for every kernel of kernels.ptx. Equal seeds give equal inputs.
std::vector<Case> makeCases();

/// The orders that a correct kernel's results do not depend on.
std::vector<emulated::LaunchOptions> makeOrders();

/// Runs a case on a module, in an order; an error of the parser or the launch
/// is in `error`.
Outcome runCase(const Case &one, const std::string &ptx,
                const emulated::LaunchOptions &options, std::string *error);

} // namespace dist::test

#endif // DIST_TEST_RUNTIME_EMULATED_KERNELS_H
