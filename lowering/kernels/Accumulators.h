//===- Accumulators.h - What a run's loops accumulate -----------*- C++ -*-===//
//
// Sums, maxima and the like, of which an order is to be chosen.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_ACCUMULATORS_H
#define DIST_LOWERING_KERNELS_ACCUMULATORS_H

#include "lowering/kernels/KernelLoops.h"

namespace mlir::dist {

/// An output that does not move in a loop.
struct Accumulator {
  unsigned member = 0;
  const Access *access = nullptr;
  /// The outermost of the innermost loops in which it does not move.
  size_t from = 0;
  /// What combines it with a term, in any order; null if something else does.
  Operation *combiner = nullptr;
  TypedAttr neutral;
  /// Whether floats are added up.
  bool isSum = false;
  /// Memory of its lanes, while it has any.
  Value lanes;
};

/// The outputs that do not move in this loop and in those inside of it.
SmallVector<Accumulator> findAccumulators(const KernelGroup &group,
                                          const Run &run);

/// The outputs that do not move in this loop, whatever they do in others.
SmallVector<Accumulator> findAccumulators(const KernelGroup &group,
                                          const Run &run, size_t loop);

/// Whether the loop accumulates, for any member.
bool accumulates(const KernelGroup &group, ArrayRef<unsigned> members,
                 const Loop &loop);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_ACCUMULATORS_H
