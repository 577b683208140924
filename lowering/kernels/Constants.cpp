//===- Constants.cpp - Buffers that never change --------------------------===//

#include "lowering/kernels/Constants.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Dist.h"
#include "lowering/buffers/Aliases.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::isConstantBuffer(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset))
    return false;
  Value root = getViewRoot(buffer);
  if (root.getDefiningOp<memref::GetGlobalOp>())
    return true;
  auto argument = dyn_cast<BlockArgument>(root);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  if (!function || !argument.getOwner()->isEntryBlock())
    return false;
  unsigned number = argument.getArgNumber();
  return function.getArgAttr(number, kParameterAttr) &&
         !function.getArgAttr(number, kUpdatedAttr);
}

bool mlir::dist::isOnlyReader(Operation *op, Value buffer) {
  Value root = getViewRoot(buffer);
  if (!isa<BlockArgument>(root))
    return false;
  auto isRoot = [&](Value operand) { return getViewRoot(operand) == root; };
  if (llvm::count_if(op->getOperands(), isRoot) != 1)
    return false;
  SmallVector<Value> views = {root};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (user == op)
        continue;
      // Of what else a buffer may become, more than one thing may be read.
      if (user->getNumResults() != 1 ||
          !isa<MemRefType>(user->getResult(0).getType()) ||
          getViewRoot(user->getResult(0)) != root)
        return false;
      views.push_back(user->getResult(0));
    }
  return true;
}
