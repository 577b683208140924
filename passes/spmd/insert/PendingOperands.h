//===- PendingOperands.h - Sums that come to an op --------------*- C++ -*-===//
//
// Which operands of an op have a reduction pending that may go on through it.
// Needs their present placements; changes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_INSERT_PENDINGOPERANDS_H
#define DIST_PASSES_SPMD_INSERT_PENDINGOPERANDS_H

#include "passes/spmd/graph/PlacedValues.h"

namespace mlir::dist {

struct PendingOperands {
  bool any = false;
  /// What would pass through the op: of the first such operand, or, where
  /// gradients are added up, of the one with most axes, which the others are
  /// made pending over as well at no cost.
  ReductionKind kind = ReductionKind::Sum;
  SmallVector<AxisRefAttr, 4> axes;
  unsigned cause = PlacementGraph::kNone;
  /// By operand, and the bytes of those.
  SmallVector<bool, 8> isPassed;
  int64_t bytes = 0;
};

/// Only a reduction of `kind` passes, if that is set. What several ops of the
/// same pass read is completed once for all of them, unless `mayShare`.
PendingOperands findPendingOperands(Operation *op, const PlacedValues &values,
                                    std::optional<ReductionKind> kind,
                                    function_ref<bool(Value)> mayShare);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_INSERT_PENDINGOPERANDS_H
