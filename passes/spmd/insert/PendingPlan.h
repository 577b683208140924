//===- PendingPlan.h - Reductions that pass through an op -------*- C++ -*-===//
//
// Which reductions pending in an op's operands pass through it, and which must
// be completed before it. Needs the choice of factors and the operands' present
// placements; changes nothing. A reduction passes where the op commutes with
// it, or the rows of which it is the sum allow it (ExclusiveSums.h), and that
// makes it no larger, or something smaller is left to complete in the end.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_INSERT_PENDINGPLAN_H
#define DIST_PASSES_SPMD_INSERT_PENDINGPLAN_H

#include "dialects/dist/Interfaces/ExclusiveSums.h"
#include "passes/spmd/graph/PendingReductions.h"
#include "passes/spmd/insert/FactorChoice.h"

namespace mlir::dist {

struct PendingPlan {
  /// What is pending in each result: what sharded factors leave, and what
  /// passes.
  SmallVector<Reduced, 2> results;
  /// What passes, and through which operands.
  ReductionKind kind = ReductionKind::Sum;
  SmallVector<AxisRefAttr, 4> passed;
  SmallVector<bool, 8> isPassed;
  unsigned passedCause = PlacementGraph::kNone;
  /// Whether it passes only because of the rows that the sums are of.
  bool isExclusive = false;
  /// Whether the op completes it, which adds the rows up where they are.
  bool isSettled = false;
};

/// The values that come to a constraint which leaves a reduction pending, and
/// those that they are made of by ops that such a reduction can pass through.
llvm::DenseSet<Value> findKeptPending(Operation *module);

/// Where the op's result is `isKept`, operands that are added to what is
/// pending are made pending as well, so that it passes. With `mayGrow` it
/// passes though it becomes larger.
PendingPlan planPending(Operation *op, const ShardingRule &rule,
                        const MeshLayout &layout, const FactorChoice &choice,
                        const PlacedValues &values,
                        const ExclusiveSums &exclusive,
                        ExclusiveSums::GetRule getRule, bool isKept,
                        bool mayGrow);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_INSERT_PENDINGPLAN_H
