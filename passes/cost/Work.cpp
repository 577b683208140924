//===- Work.cpp - What an op computes and moves ---------------------------===//
//
// Loop nests that follow each other are taken to be fused as the lowerings do
// it: a value that one nest makes and only another reads is never in memory.
//
//===----------------------------------------------------------------------===//

#include "passes/cost/Work.h"
#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

/// The two products: a score of each query and key, and as many terms of means.
/// In the adjoint scores again, weights' cotangents, and those of the operands.
static int64_t countFlops(AttentionLikeOpInterface op) {
  bool isAdjoint = isa<AttentionAdjointOp>(op);
  SmallVector<int64_t> sizes = op.getDimSizes();
  int64_t scores = 1;
  for (unsigned dim = 0; dim <= op.getKeyDim(); ++dim)
    scores *= ShapedType::isDynamic(sizes[dim]) ? 1 : sizes[dim];
  return 2 * scores *
         ((isAdjoint ? 3 : 1) * sizes[op.getFeatureDim()] +
          (isAdjoint ? 2 : 1) * sizes[op.getValueDim()]);
}

bool mlir::dist::isSumOfProducts(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp->getNumRegions() == 1 &&
         linalgOp.getNumReductionLoops() > 0 && linalgOp.getNumDpsInputs() > 1;
}

int64_t mlir::dist::countFlops(Operation *op) {
  if (auto attention = dyn_cast<AttentionLikeOpInterface>(op))
    return ::countFlops(attention);
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

bool mlir::dist::isContraction(Operation *op) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  return iface && op->getNumOperands() > 1 &&
         iface.getShardingRule().isContraction;
}

/// Whether the op only passes values on, so that a body has no work for it.
static bool isFree(Operation &op) {
  return op.hasTrait<OpTrait::IsTerminator>() ||
         op.hasTrait<OpTrait::ConstantLike>() || isa<linalg::IndexOp>(op);
}

/// For a loop nest's body, once for each of its points.
static double countScalarOps(linalg::LinalgOp nest) {
  double points = 1;
  for (int64_t size : nest.getStaticLoopRanges())
    if (!ShapedType::isDynamic(size))
      points *= size;
  return points * llvm::count_if(nest.getBlock()->getOperations(),
                                 [](Operation &op) { return !isFree(op); });
}

Value mlir::dist::getViewSource(Operation *op) {
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp, tensor::CastOp, OptimizationBarrierOp>(op))
    return op->getOperand(0);
  return {};
}

/// Whether the operands of a concatenation are computed in place: each by an op
/// that can write to a given destination, and for no other concatenation.
static bool isJoinedInPlace(Operation *op) {
  if (!isa<tensor::ConcatOp>(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value part) {
    while (part.getDefiningOp<tensor::ExpandShapeOp>() ||
           part.getDefiningOp<tensor::CollapseShapeOp>())
      part = part.getDefiningOp()->getOperand(0);
    Operation *maker = part.getDefiningOp();
    bool isComputed =
        isa_and_nonnull<linalg::LinalgOp, CollectiveOpInterface>(maker) &&
        !isa<linalg::FillOp, AllSliceOp>(maker);
    return isComputed && maker->getBlock() == op->getBlock() &&
           llvm::count_if(part.getUsers(), llvm::IsaPred<tensor::ConcatOp>) <=
               1;
  });
}

/// Whether `op` only says where something is, or holds no data yet.
static bool isView(Operation *op) {
  return getViewSource(op) || isJoinedInPlace(op) ||
         isa<tensor::EmptyOp, LocalConstantOp, AllSliceOp, linalg::FillOp>(
             op) ||
         op->hasTrait<OpTrait::ConstantLike>();
}

/// Whether the result of `op`, a loop nest, is computed in its only reader.
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

/// The cost of `value` for its reader.
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
  if (auto attention = dyn_cast<AttentionLikeOpInterface>(op)) {
    work.flops = ::countFlops(attention);
    work.type = getElementTypeOrSelf(attention.getQuery().getType());
    for (Value operand : op->getOperands())
      work.bytes += getReadBytes(operand);
    work.isKernel = true;
    return work;
  }
  if (auto nest = dyn_cast<linalg::LinalgOp>(op)) {
    if (isContraction(op)) {
      work.flops = countFlops(op);
      work.type = getElementTypeOrSelf(op->getOperand(0).getType());
    } else {
      work.scalarOps = countScalarOps(nest);
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
