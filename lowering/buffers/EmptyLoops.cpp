//===- EmptyLoops.cpp - Ops whose loops may not run at all ----------------===//

#include "lowering/buffers/EmptyLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether a loop that the map does not depend on runs `size` times.
static bool hasOtherLoop(AffineMap map, ArrayRef<int64_t> sizes, int64_t size) {
  for (auto [loop, runs] : llvm::enumerate(sizes))
    if (runs == size && !map.isFunctionOfDim(loop))
      return true;
  return false;
}

static void keepInits(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto isOverNothing = [&](OpOperand &init) {
    return hasOtherLoop(op.getMatchingIndexingMap(&init), sizes, 0);
  };
  if (llvm::any_of(op.getDpsInitsMutable(), isOverNothing)) {
    op->replaceAllUsesWith(op.getDpsInits());
    op->erase();
    return;
  }
  Operation *terminator = op.getBlock()->getTerminator();
  OpBuilder builder(terminator);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    if (op.payloadUsesValueFromOperand(&init) ||
        !hasOtherLoop(op.getMatchingIndexingMap(&init), sizes,
                      ShapedType::kDynamic))
      continue;
    // A use that folds away once there are buffers.
    OpOperand &made = *op.getMatchingYieldValue(&init);
    Value yes = arith::ConstantIntOp::create(builder, op.getLoc(), 1, 1);
    made.set(arith::SelectOp::create(builder, op.getLoc(), yes, made.get(),
                                     op.getMatchingBlockArgument(&init)));
  }
}

void mlir::dist::keepInitsOfEmptyLoops(ModuleOp module) {
  SmallVector<linalg::LinalgOp> ops;
  module.walk([&](linalg::LinalgOp op) {
    if (op.hasPureTensorSemantics())
      ops.push_back(op);
  });
  for (linalg::LinalgOp op : ops)
    keepInits(op);
}
