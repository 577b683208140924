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

/// What connects the devices of a block: NVLink those of a node, InfiniBand
/// nodes. Devices are numbered, and a block has `devices` of them that follow
/// each other.
struct MachineLink {
  std::string name;
  int64_t devices = 1;
  /// What one device sends a second while all do.
  double bytesPerSecond = 0;
  /// From one device to the next, however few the bytes.
  double stepSeconds = 0;
};

struct Machine {
  std::string name;
  /// Operations a second of large products, by element type ("bf16"); a
  /// multiplication and an addition are 2.
  std::map<std::string, double> flopsPerSecond;
  /// Scalar operations a second of loop nests that are no products.
  double scalarOpsPerSecond = 0;
  /// Of the device's memory, read and written together.
  double bytesPerSecond = 0;
  /// The same of the first so many bytes of each kernel, which caches hold; 0
  /// where that makes no difference.
  int64_t cacheBytes = 0;
  double cacheBytesPerSecond = 0;
  int64_t memoryBytes = 0;
  /// What every kernel and library call costs at least.
  double opSeconds = 0;
  /// What every collective costs, beside its steps.
  double callSeconds = 0;
  /// What starting a collective beside computation, and waiting for it, takes
  /// from computation.
  double startSeconds = 0;
  /// By how much computation is slower beside a transfer of `links`; 0.1 for
  /// 10%.
  double slowdown = 0;
  /// From the innermost outwards: each block is made of whole blocks of the
  /// level before.
  std::vector<MachineLink> links;

  /// Devices that there are.
  int64_t getDevices() const {
    return links.empty() ? 1 : links.back().devices;
  }

  /// In place of its links, one that joins all devices and takes `latency` +
  /// bytes / `bandwidth` (0 for no limit) for what a rank sends in a
  /// collective; what calls cost and links carry without it stays the least and
  /// the most. A byte takes as much from computation as it did, so that
  /// computation is slower for longer, and less so, where links are slower.
  void setLink(double latency, double bandwidth);

  /// What nothing is known of: each collective takes 20 us, and what a device
  /// sends at 1 GB/s, whichever devices it is between. It has no other figures.
  static Machine getUnknown();

  /// Reads a machine file (docs/internals/machines.md). Emits errors with line
  /// and column of `file`.
  static FailureOr<Machine> parse(StringRef text, StringRef file,
                                  MLIRContext *context);
  /// `name` is that of a preset, or of a file (*.json).
  static FailureOr<Machine> load(StringRef name, MLIRContext *context);
};

/// The machine of this name or file, with `link`
/// ("latency=20us,bandwidth=1GB/s") in place of its links if it is not empty.
/// `pass` is what asks, for errors.
FailureOr<Machine> loadMachine(Location loc, StringRef pass, StringRef name,
                               StringRef link);

/// A machine that is known by name: its file, as text.
struct MachinePreset {
  std::string name, text;
};
ArrayRef<MachinePreset> getMachinePresets();

} // namespace mlir::dist

#endif // DIST_PASSES_COST_MACHINE_H
