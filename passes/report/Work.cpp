//===- Work.cpp - What an op computes and moves ---------------------------===//
//
// Loop nests that follow each other are taken to be fused as the lowerings do
// it: a value that one nest makes and only another reads is never in memory.
//
//===----------------------------------------------------------------------===//

#include "passes/report/Work.h"
#include "dialects/dist/IR/Program.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

int64_t mlir::dist::countFlops(Operation *op) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface || op->getNumOperands() < 2)
    return 0;
  ShardingRule rule = iface.getShardingRule();
  if (!rule.isContraction)
    return 0;
  int64_t flops = 2;
  for (const Factor &factor : rule.factors)
    if (!ShapedType::isDynamic(factor.size))
      flops *= factor.size;
  return flops;
}

static bool isContraction(Operation *op) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  return iface && op->getNumOperands() > 1 &&
         iface.getShardingRule().isContraction;
}

/// Whether `op` only says where something is, or holds no data yet.
static bool isView(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp, tensor::CastOp, tensor::EmptyOp,
             LocalConstantOp, AllSliceOp, linalg::FillOp>(op) ||
         op->hasTrait<OpTrait::ConstantLike>();
}

/// Whether what `op`, a loop nest, makes goes straight into its only reader.
static bool isFused(linalg::LinalgOp op) {
  if (op->getNumResults() != 1 || !op->getResult(0).hasOneUse() ||
      op.getNumParallelLoops() != op.getNumLoops())
    return false;
  auto reader = dyn_cast<linalg::LinalgOp>(*op->getResult(0).user_begin());
  if (!reader || reader->getBlock() != op->getBlock())
    return false;
  // Libraries read operands in any order of dimensions, but compute nothing
  // before.
  return !isContraction(reader) || isa<linalg::TransposeOp>(op);
}

/// What `value` costs its reader.
static double getReadBytes(Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return 0;
  Operation *source = value.getDefiningOp();
  if (source && isa<linalg::FillOp, tensor::EmptyOp>(source))
    return 0;
  if (auto nest = dyn_cast_or_null<linalg::LinalgOp>(source);
      nest && !isContraction(nest) && isFused(nest))
    return 0;
  return getTensorBytes(value.getType());
}

Work mlir::dist::getWork(Operation *op) {
  Work work;
  if (isView(op) || isa<CollectiveOpInterface>(op))
    return work;
  double written = 0;
  for (Type type : op->getResultTypes())
    if (isa<RankedTensorType>(type))
      written += getTensorBytes(type);
  if (auto nest = dyn_cast<linalg::LinalgOp>(op)) {
    if (isContraction(op)) {
      work.flops = countFlops(op);
      work.type = getElementTypeOrSelf(op->getOperand(0).getType());
    }
    bool fused = !work.type && isFused(nest);
    for (OpOperand *input : nest.getDpsInputOperands())
      work.bytes += getReadBytes(input->get());
    if (!fused)
      work.bytes += written;
    work.isKernel = !fused;
    return work;
  }
  // Loops and branches are the work of their bodies.
  if (written == 0 || op->getNumRegions() > 0)
    return work;
  // As much is read as is written: a part of a table, say.
  work.bytes = 2 * written;
  work.isKernel = true;
  return work;
}
