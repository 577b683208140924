//===- PendingPlan.cpp - Reductions that pass through an op ---------------===//

#include "passes/spmd/PendingPlan.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

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
                                    bool isKept) {
  PendingPlan plan;
  plan.isPassed.assign(op->getNumOperands(), false);
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

  plan.kind = reducedKind.value_or(ReductionKind::Sum);
  bool anyPartial = false;
  int64_t partialBytes = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    ShardingAttr now = values.getPlacement(operand.get());
    if (!now || !now.isPartial())
      continue;
    if (!anyPartial) {
      llvm::append_range(plan.passed, now.getPartialAxes());
      if (!reducedKind)
        plan.kind = now.getPartialKind();
      plan.passedCause = values.getPendingCause(operand.get());
    }
    anyPartial = true;
    // What several ops use is completed once for all of them.
    bool isOnlyUser = llvm::all_of(operand.get().getUsers(),
                                   [&](Operation *user) { return user == op; });
    if ((isOnlyUser || exclusive.isBestLeftPending(operand.get(), getRule)) &&
        now.getPartialKind() == plan.kind &&
        now.getPartialAxes() == ArrayRef(plan.passed)) {
      plan.isPassed[operand.getOperandNumber()] = true;
      partialBytes += getTensorBytes(operand.get().getType());
    }
  }
  if (anyPartial) {
    auto iface = dyn_cast<ShardingRuleOpInterface>(op);
    bool mayPass = iface && op->getNumResults() && isOfOneKind &&
                   !anyOverlap(plan.passed, choice.getAxes()) &&
                   llvm::is_contained(plan.isPassed, true) &&
                   getBytes(op->getResultTypes()) <= partialBytes;
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
