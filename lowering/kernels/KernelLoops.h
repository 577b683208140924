//===- KernelLoops.h - Which loops a kernel is written as -------*- C++ -*-===//
//
// Decides, for a group of loop nests (KernelGroup.h), in which loops they are
// computed, in which order, and how much of the buffers between them is needed
// at once. KernelEmitter.h writes what is decided here.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_KERNELLOOPS_H
#define DIST_LOWERING_KERNELS_KERNELLOOPS_H

#include "lowering/kernels/KernelGroup.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dist {

/// A loop to be written, for some members at once.
struct Loop {
  int64_t size;
  SmallVector<int> dims; // of each of these members
};

/// Members with the same inner loops, computed in one nest.
struct Run {
  SmallVector<unsigned> members;
  SmallVector<Loop> loops;
};

/// A fill of one element per iteration of the shared loops would come between
/// nests that could share their inner loops: it goes first where it may.
void hoistFills(KernelGroup &group);

/// A buffer that is used within one iteration of the shared loops only needs
/// room for what one iteration touches. Returns the number of elements of each
/// that shrinks, `maxBytes` in all, and removes the others from `scratch`.
DenseMap<Value, int64_t> shrinkScratch(KernelGroup &group,
                                       SmallVector<Value> &scratch,
                                       int64_t maxBytes);

/// Splits the members into runs with equal inner loops.
SmallVector<Run> formRuns(const KernelGroup &group);

/// Joins loops that walk over memory as one.
void coalesceLoops(const KernelGroup &group, SmallVector<Loop> &loops,
                   ArrayRef<unsigned> members);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_KERNELLOOPS_H
