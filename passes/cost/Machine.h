//===- Machine.h - What devices and links can do ----------------*- C++ -*-===//
//
// The figures behind every estimate of time: a roofline for computation
// (Williams, Waterman, Patterson: CACM 52(4), 2009) and latency plus bytes over
// bandwidth for communication (the alpha-beta model; Hockney, 1994), with links
// in levels, as in a cluster of nodes.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_COST_MACHINE_H
#define DIST_PASSES_COST_MACHINE_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>
#include <vector>

namespace mlir::dist {

/// The links between the devices of a block: NVLink within a node, InfiniBand
/// between nodes. Devices are numbered; a block has `devices` consecutive ones.
struct MachineLink {
  std::string name;
  int64_t devices = 1;
  /// Bytes that one device sends in a second while all do.
  double bytesPerSecond = 0;
  /// From one device to the next, for any number of bytes.
  double stepSeconds = 0;
};

struct Machine {
  std::string name;
  /// Operations per second of large products, by element type ("bf16"). A
  /// multiplication and an addition are two operations.
  std::map<std::string, double> flopsPerSecond;
  /// Scalar operations per second of loop nests that are not products.
  double scalarOpsPerSecond = 0;
  /// Bytes per second of the device's memory, read and written together.
  double bytesPerSecond = 0;
  /// The same for the first so many bytes of each kernel, which fit caches; 0
  /// if there is no difference.
  int64_t cacheBytes = 0;
  double cacheBytesPerSecond = 0;
  int64_t memoryBytes = 0;
  /// The minimum cost of a kernel or library call.
  double opSeconds = 0;
  /// The cost of a collective, in addition to its steps.
  double callSeconds = 0;
  /// The computation time that starting a collective beside computation, and
  /// waiting for it, costs.
  double startSeconds = 0;
  /// The slowdown of computation beside a transfer of `links`; 0.1 for 10%.
  double slowdown = 0;
  /// From the innermost outwards: each block consists of whole blocks of the
  /// level before.
  std::vector<MachineLink> links;

  /// Number of devices.
  int64_t getDevices() const {
    return links.empty() ? 1 : links.back().devices;
  }

  /// Replaces the links by one link that joins all devices. It takes `latency`
  /// + bytes / `bandwidth` (0 for no limit) for the bytes that a rank sends in
  /// a collective. The machine's cost of calls stays a lower bound, and its
  /// bandwidth an upper bound. A byte slows computation as much as before: on
  /// slower links, computation is slowed for longer, and by less.
  void setLink(double latency, double bandwidth);

  /// The unknown machine: each collective takes 20 us plus the bytes that a
  /// device sends at 1 GB/s, between any devices. It has no other figures.
  static Machine getUnknown();

  /// Reads a machine file (docs/internals/machines.md). Emits errors with line
  /// and column of `file`.
  static FailureOr<Machine> parse(StringRef text, StringRef file,
                                  MLIRContext *context);
  /// `name` is a preset, or a file (*.json).
  static FailureOr<Machine> load(StringRef name, MLIRContext *context);
};

/// The machine of this name or file. If `link` ("latency=20us,bandwidth=1GB/s")
/// is not empty, it replaces the links. `pass` is named in errors.
FailureOr<Machine> loadMachine(Location loc, StringRef pass, StringRef name,
                               StringRef link);

/// The file of a machine that is known by name, as text.
struct MachinePreset {
  std::string name, text;
};
ArrayRef<MachinePreset> getMachinePresets();

} // namespace mlir::dist

#endif // DIST_PASSES_COST_MACHINE_H
