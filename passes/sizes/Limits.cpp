//===- Limits.cpp - How large tensors may be ------------------------------===//

#include "passes/sizes/Limits.h"
#include "mlir/IR/BuiltinTypes.h"
#include "passes/bounds/Bounds.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

static bool isTooLarge(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || llvm::is_contained(tensor.getShape(), 0))
    return false;
  int64_t elements = 1;
  for (int64_t size : tensor.getShape())
    if (!ShapedType::isDynamic(size) &&
        llvm::MulOverflow(elements, size, elements))
      return true;
  return elements > dist::kMostElements;
}

static LogicalResult checkTypes(Operation *op, TypeRange types) {
  auto large = llvm::find_if(types, isTooLarge);
  if (large == types.end())
    return success();
  return op->emitOpError() << "has a tensor of more than 2^46 elements: "
                           << *large;
}

LogicalResult mlir::dist::checkTensorSizes(Operation *root) {
  WalkResult result = root->walk([](Operation *op) -> WalkResult {
    if (failed(checkTypes(op, op->getResultTypes())))
      return failure();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (failed(checkTypes(op, block.getArgumentTypes())))
          return failure();
    return success();
  });
  return failure(result.wasInterrupted());
}
