//===- MovedValues.cpp - Values that ops only move ------------------------===//

#include "passes/spmd/graph/MovedValues.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/bounds/Bounds.h"
#include "passes/spmd/graph/PlacementGraph.h"

using namespace mlir;
using namespace mlir::dist;

/// Arithmetic that costs little compared with sending its result.
static bool isCheap(Operation *op) {
  return isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncFOp,
             arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp, arith::AddFOp,
             arith::SubFOp, arith::MulFOp, arith::NegFOp, arith::AddIOp,
             arith::SubIOp, arith::MulIOp, arith::ConstantOp>(op);
}

OpOperand *mlir::dist::getMoved(Operation *op) {
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return pad.getConstantPaddingValue() ? &pad.getSourceMutable() : nullptr;
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) ||
      (isCheap(op) && op->getNumOperands() == 1))
    return &op->getOpOperand(0);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumDpsInputs() != 1 ||
      op->getNumResults() != 1 ||
      linalgOp.getNumLoops() != linalgOp.getNumParallelLoops() ||
      !isFreeValue(linalgOp.getDpsInits()[0]))
    return nullptr;
  OpOperand *input = linalgOp.getDpsInputOperand(0);
  Block &body = *linalgOp.getBlock();
  if (!linalgOp.getMatchingBlockArgument(linalgOp.getDpsInitOperand(0))
           .use_empty() ||
      llvm::range_size(body) > kMostMovingOps + 1 ||
      !llvm::all_of(body.without_terminator(),
                    [](Operation &nested) { return isCheap(&nested); }))
    return nullptr;
  return input;
}

int64_t mlir::dist::getLeastBytes(Value value) {
  int64_t least = getTensorBytes(value.getType());
  for (int step = 0; step < kMostMoves && value.hasOneUse(); ++step) {
    Operation *op = value.getDefiningOp();
    OpOperand *moved = op ? getMoved(op) : nullptr;
    if (!moved || isFreeValue(moved->get()))
      break;
    value = moved->get();
    least = std::min(least, getTensorBytes(value.getType()));
  }
  return least;
}
