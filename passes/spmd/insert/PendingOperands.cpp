//===- PendingOperands.cpp - Sums that come to an op ----------------------===//

#include "passes/spmd/insert/PendingOperands.h"

using namespace mlir;
using namespace mlir::dist;

static bool areWithin(ArrayRef<AxisRefAttr> axes, ArrayRef<AxisRefAttr> all) {
  return llvm::all_of(
      axes, [&](AxisRefAttr axis) { return llvm::is_contained(all, axis); });
}

PendingOperands
mlir::dist::findPendingOperands(Operation *op, const PlacedValues &values,
                                std::optional<ReductionKind> kind,
                                function_ref<bool(Value)> mayShare) {
  PendingOperands found;
  found.isPassed.assign(op->getNumOperands(), false);
  bool isBackward = values.isBackward(op);
  auto getPending = [&](Value value) {
    ShardingAttr now = isa<RankedTensorType>(value.getType())
                           ? values.getPlacement(value)
                           : ShardingAttr();
    return now && now.isPartial() ? now : ShardingAttr();
  };
  for (Value operand : op->getOperands()) {
    ShardingAttr now = getPending(operand);
    if (!now || (found.any && (!isBackward || now.getPartialAxes().size() <=
                                                  found.axes.size())))
      continue;
    found.any = true;
    found.axes.assign(now.getPartialAxes().begin(), now.getPartialAxes().end());
    found.kind = kind.value_or(now.getPartialKind());
    found.cause = values.getPendingCause(operand);
  }
  if (!found.any)
    return found;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    ShardingAttr now = getPending(value);
    if (!now || now.getPartialKind() != found.kind ||
        !(isBackward ? areWithin(now.getPartialAxes(), found.axes)
                     : now.getPartialAxes() == ArrayRef(found.axes)))
      continue;
    // Backward takes nothing from forward: what it reads as well is completed
    // for it alone.
    bool isOnlyUser = llvm::all_of(value.getUsers(), [&](Operation *user) {
      return user == op || values.isOfOtherPass(user, op);
    });
    if (!isOnlyUser && !mayShare(value))
      continue;
    found.isPassed[operand.getOperandNumber()] = true;
    found.bytes += getTensorBytes(value.getType());
  }
  return found;
}
