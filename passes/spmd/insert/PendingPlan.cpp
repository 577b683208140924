//===- PendingPlan.cpp - Reductions that pass through an op ---------------===//

#include "passes/spmd/insert/PendingPlan.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "passes/spmd/insert/PendingOperands.h"

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

/// Where an op of one result leaves it, if nothing is pending.
static ShardingAttr getChosenPlacement(const ShardingRule &rule,
                                       const MeshLayout &layout,
                                       const FactorChoice &choice,
                                       const PlacedValues &values) {
  SmallVector<DimShardingAttr, 4> dims;
  return rule.results.size() == 1 &&
                 rule.joinDims(layout, rule.results[0], choice.factors, dims)
             ? values.place(dims)
             : ShardingAttr();
}

PendingPlan mlir::dist::planPending(Operation *op, const ShardingRule &rule,
                                    const MeshLayout &layout,
                                    const FactorChoice &choice,
                                    const PlacedValues &values,
                                    const ExclusiveSums &exclusive,
                                    ExclusiveSums::GetRule getRule, bool isKept,
                                    bool mayGrow) {
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

  auto isBestLeft = [&](Value value) {
    return exclusive.isBestLeftPending(
        value, getRule,
        [&](Operation *user) { return !values.isOfOtherPass(user, op); },
        [&](Value result) { return values.getTarget(result); });
  };
  PendingOperands pending =
      findPendingOperands(op, values, reducedKind, isBestLeft);
  plan.kind = reducedKind.value_or(pending.kind);
  plan.passed = pending.axes;
  plan.passedCause = pending.cause;
  plan.isPassed = pending.isPassed;
  if (pending.any) {
    auto iface = dyn_cast<ShardingRuleOpInterface>(op);
    bool isAny = iface && op->getNumResults() && isOfOneKind &&
                 llvm::is_contained(plan.isPassed, true);
    plan.isSettled =
        isAny &&
        exclusive.settles(op, plan.isPassed,
                          getChosenPlacement(rule, layout, choice, values));
    auto isBestPassed = [&] {
      return llvm::any_of(llvm::zip_equal(op->getOperands(), plan.isPassed),
                          [&](auto operand) {
                            auto [value, isPassed] = operand;
                            return isPassed && isBestLeft(value);
                          });
    };
    bool mayPass =
        isAny && !plan.isSettled &&
        !anyOverlap(plan.passed, choice.getAxes()) &&
        (mayGrow || getBytes(op->getResultTypes()) <= pending.bytes ||
         isBestPassed());
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
    if (!passes && !plan.isExclusive && !plan.isSettled) {
      plan.passed.clear();
      plan.isPassed.assign(plan.isPassed.size(), false);
      plan.passedCause = PlacementGraph::kNone;
    }
  }
  for (Reduced &result : plan.results) {
    if (result.axes.empty())
      result.kind = plan.kind;
    if (!plan.isSettled)
      addPending(layout, result.axes, plan.passed);
  }
  return plan;
}
