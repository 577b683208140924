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
