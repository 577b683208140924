//===- MachineModel.h - How long ops take -----------------------*- C++ -*-===//
//
// A core that is as fast as its arithmetic and its memory let it (roofline:
// Williams, Waterman, Patterson, 2009), and links that take latency + bytes /
// bandwidth for a transfer.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_OVERLAP_MACHINEMODEL_H
#define DIST_PASSES_OVERLAP_MACHINEMODEL_H

#include "dialects/dist/IR/Dist.h"
#include "dist/EmulatedLink.h"

namespace mlir::dist {

struct MachineModel {
  /// Of contractions, in a second.
  double flops;
  double bytesPerSecond;
  ::dist::EmulatedLink link;
  /// What starting and waiting for a collective costs the core.
  double startSeconds;
  /// By how much computation is slower beside a transfer.
  double slowdown;

  /// Of what an op computes itself; 0 for those that only name other ops'
  /// results, or lend a destination.
  double getComputeSeconds(Operation *op) const;
  /// Of a transfer over a group of `members`.
  double getLinkSeconds(CollectiveOpInterface op, int64_t members) const;
};

} // namespace mlir::dist

#endif // DIST_PASSES_OVERLAP_MACHINEMODEL_H
