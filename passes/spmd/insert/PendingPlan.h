//===- PendingPlan.h - Reductions that pass through an op -------*- C++ -*-===//
//
// Which reductions that are pending in an op's operands pass through it, and
// which must be completed before it. Needs the choice of factors and the
// operands' current placements; changes nothing. A reduction passes if the op
// commutes with it, or if the rows that it sums allow it (ExclusiveSums.h). In
// addition, it must not become larger, or the reduction that is completed in
// the end must be smaller.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_INSERT_PENDINGPLAN_H
#define DIST_PASSES_SPMD_INSERT_PENDINGPLAN_H

#include "dialects/dist/Interfaces/ExclusiveSums.h"
#include "passes/spmd/graph/PendingReductions.h"
#include "passes/spmd/insert/FactorChoice.h"

namespace mlir::dist {

struct PendingPlan {
  /// The reductions pending in each result: those of sharded factors, and those
  /// that pass.
  SmallVector<Reduced, 2> results;
  /// The reductions that pass, and through which operands.
  ReductionKind kind = ReductionKind::Sum;
  SmallVector<AxisRefAttr, 4> passed;
  SmallVector<bool, 8> isPassed;
  unsigned passedCause = PlacementGraph::kNone;
  /// Whether it passes only because of the rows that it sums.
  bool isExclusive = false;
  /// Whether the op completes it, by adding rows to those of their owner.
  bool isSettled = false;
};

/// The operands of constraints that leave a reduction pending, and the values
/// that they are computed from by ops that such a reduction can pass through.
llvm::DenseSet<Value> findKeptPending(Operation *module);

/// If the op's result is `isKept`, operands that are added to a pending sum are
/// made pending as well, so that it passes. With `mayGrow` it passes although
/// it becomes larger.
PendingPlan planPending(Operation *op, const ShardingRule &rule,
                        const MeshLayout &layout, const FactorChoice &choice,
                        const PlacedValues &values,
                        const ExclusiveSums &exclusive,
                        ExclusiveSums::GetRule getRule, bool isKept,
                        bool mayGrow);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_INSERT_PENDINGPLAN_H
