//===- PendingPlan.cpp - Reductions that pass through an op ---------------===//

#include "passes/spmd/PendingPlan.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "passes/spmd/PendingOperands.h"

using namespace mlir;
using namespace mlir::dist;

static int64_t getBytes(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types)
    bytes += getTensorBytes(type);
  return bytes;
}

llvm::DenseSet<Value> mlir::dist::findKeptPending(Operation *module) {
  llvm::DenseSet<Value> kept;
  module->walk([&](ShardingConstraintOp constraint) {
    if (!constraint.getSharding().isPartial())
      return;
    SmallVector<Value> left{constraint.getOperand()};
    while (!left.empty()) {
      Value value = left.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!op || op->getNumResults() != 1 ||
          isa<ShardingConstraintOp, SyncOp, ManualReshardOp, ReshardOp>(op) ||
          !isa<ShardingRuleOpInterface>(op) || !kept.insert(value).second)
        continue;
      llvm::append_range(left, op->getOperands());
    }
  });
  return kept;
}

/// `isPassed`, and what the op combines with it.
static SmallVector<bool, 8> addOthers(Operation *op, ArrayRef<bool> isPassed) {
  SmallVector<bool, 8> all(isPassed);
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()) &&
        !(destination && destination.isDpsInit(&operand)))
      all[operand.getOperandNumber()] = true;
  return all;
}

PendingPlan mlir::dist::planPending(Operation *op, const ShardingRule &rule,
                                    const MeshLayout &layout,
                                    const FactorChoice &choice,
                                    const PlacedValues &values,
                                    const ExclusiveSums &exclusive,
                                    ExclusiveSums::GetRule getRule,
                                    bool isKept, bool mayGrow) {
  PendingPlan plan;
  // What each result is left to be reduced by: each in its own way.
  std::optional<ReductionKind> reducedKind;
  bool isOfOneKind = true;
  for (unsigned result = 0; result < op->getNumResults(); ++result) {
    Reduced reduced = getReduced(layout, rule, choice.factors, result);
    if (!reduced.axes.empty()) {
      isOfOneKind &= !reducedKind || reducedKind == reduced.kind;
      reducedKind = reduced.kind;
    }
    plan.results.push_back(std::move(reduced));
  }

  PendingOperands pending =
      findPendingOperands(op, values, reducedKind, [&](Value value) {
        return exclusive.isBestLeftPending(
            value, getRule,
            [&](Operation *user) { return !values.isOfOtherPass(user, op); });
      });
  plan.kind = reducedKind.value_or(pending.kind);
  plan.passed = pending.axes;
  plan.passedCause = pending.cause;
  plan.isPassed = pending.isPassed;
  if (pending.any) {
    auto iface = dyn_cast<ShardingRuleOpInterface>(op);
    bool mayPass = iface && op->getNumResults() && isOfOneKind &&
                   !anyOverlap(plan.passed, choice.getAxes()) &&
                   llvm::is_contained(plan.isPassed, true) &&
                   (mayGrow ||
                    getBytes(op->getResultTypes()) <= pending.bytes);
    bool passes = mayPass && iface.getPartialResult(plan.isPassed, plan.kind) ==
                                 PartialResult::Partial;
    if (mayPass && !passes && isKept) {
      SmallVector<bool, 8> all = addOthers(op, plan.isPassed);
      passes = iface.getPartialResult(all, plan.kind) == PartialResult::Partial;
      if (passes)
        plan.isPassed = std::move(all);
    }
    plan.isExclusive = mayPass && !passes && plan.kind == ReductionKind::Sum &&
                       exclusive.passes(op, rule, plan.isPassed);
    passes |= plan.isExclusive;
    if (!passes) {
      plan.passed.clear();
      plan.isPassed.assign(plan.isPassed.size(), false);
      plan.passedCause = PlacementGraph::kNone;
    }
  }
  for (Reduced &result : plan.results) {
    if (result.axes.empty())
      result.kind = plan.kind;
    addPending(layout, result.axes, plan.passed);
  }
  return plan;
}
