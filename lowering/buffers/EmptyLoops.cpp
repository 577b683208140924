//===- EmptyLoops.cpp - Ops whose loops may not run at all ----------------===//

#include "lowering/buffers/EmptyLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether the map does not depend on a loop of unknown size.
static bool hasOtherLoop(AffineMap map, ArrayRef<int64_t> sizes) {
  for (auto [loop, size] : llvm::enumerate(sizes))
    if (ShapedType::isDynamic(size) && !map.isFunctionOfDim(loop))
      return true;
  return false;
}

static void keepInits(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  Operation *terminator = op.getBlock()->getTerminator();
  OpBuilder builder(terminator);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    if (op.payloadUsesValueFromOperand(&init) ||
        !hasOtherLoop(op.getMatchingIndexingMap(&init), sizes))
      continue;
    // A use that folds away once there are buffers.
    OpOperand &made = *op.getMatchingYieldValue(&init);
    Value yes = arith::ConstantIntOp::create(builder, op.getLoc(), 1, 1);
    made.set(arith::SelectOp::create(builder, op.getLoc(), yes, made.get(),
                                     op.getMatchingBlockArgument(&init)));
  }
}

void mlir::dist::keepInitsOfEmptyLoops(ModuleOp module) {
  module.walk([](linalg::LinalgOp op) {
    if (op.hasPureTensorSemantics())
      keepInits(op);
  });
}
