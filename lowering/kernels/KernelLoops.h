//===- KernelLoops.h - Loops of a kernel ------------------------*- C++ -*-===//
//
// Decides the loops of a group of loop nests (KernelGroup.h), their order, and
// how much of the buffers between them is needed at once. KernelEmitter.h emits
// the result.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_KERNELLOOPS_H
#define DIST_LOWERING_KERNELS_KERNELLOOPS_H

#include "lowering/kernels/KernelGroup.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dist {

/// A loop to emit, for several members at once.
struct Loop {
  int64_t size;
  SmallVector<int> dims; // of each of these members
};

/// Members with the same inner loops, computed in one nest.
struct Run {
  SmallVector<unsigned> members;
  SmallVector<Loop> loops;
  /// Whether the innermost loops are few turns of sums whose terms do not lie
  /// side by side.
  bool areTermsApart = false;
};

/// A fill of one element per iteration of the shared loops would separate nests
/// that could share their inner loops. It is moved to the front if that is
/// legal.
void hoistFills(KernelGroup &group);

/// A buffer that is used only within one iteration of the shared loops needs
/// only room for that iteration. Returns the number of elements of each such
/// buffer, `maxBytes` in all, and removes the others from `scratch`.
DenseMap<Value, int64_t> shrinkScratch(KernelGroup &group,
                                       SmallVector<Value> &scratch,
                                       int64_t maxBytes);

/// Splits the members into runs with equal inner loops.
SmallVector<Run> formRuns(const KernelGroup &group);

/// Joins loops that walk over memory like one loop.
void coalesceLoops(const KernelGroup &group, SmallVector<Loop> &loops,
                   ArrayRef<unsigned> members);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_KERNELLOOPS_H
