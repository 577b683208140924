//===- PendingOperands.h - Pending sums of an op's operands -----*- C++ -*-===//
//
// Which operands of an op have a pending reduction that may pass through it.
// Needs their current placements; changes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_INSERT_PENDINGOPERANDS_H
#define DIST_PASSES_SPMD_INSERT_PENDINGOPERANDS_H

#include "passes/spmd/graph/PlacedValues.h"

namespace mlir::dist {

struct PendingOperands {
  bool any = false;
  /// The reduction that may pass through the op: that of the first such
  /// operand. If gradients are added, it is that of the operand with the most
  /// axes; the others can be made pending over these at no cost.
  ReductionKind kind = ReductionKind::Sum;
  SmallVector<AxisRefAttr, 4> axes;
  unsigned cause = PlacementGraph::kNone;
  /// The operands that have it, and their bytes.
  SmallVector<bool, 8> isPassed;
  int64_t bytes = 0;
};

/// If `kind` is set, only such a reduction passes. A value that several ops of
/// the same pass read is completed once for all of them, unless `mayShare`.
PendingOperands findPendingOperands(Operation *op, const PlacedValues &values,
                                    std::optional<ReductionKind> kind,
                                    function_ref<bool(Value)> mayShare);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_INSERT_PENDINGOPERANDS_H
