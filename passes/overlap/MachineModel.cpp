//===- MachineModel.cpp - How long ops take -------------------------------===//

#include "passes/overlap/MachineModel.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dist;

/// Elementwise arithmetic is this much slower than a contraction's.
static constexpr double kElementwiseSlowdown = 16;

/// Whether kernels compute it where it is used, or it is a view.
static bool isFree(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() ||
      isa<tensor::EmptyOp, linalg::FillOp, tensor::ExpandShapeOp,
          tensor::CollapseShapeOp, tensor::ExtractSliceOp, AllSliceOp>(op))
    return true;
  return op->getNumRegions() == 0 &&
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<TensorType>) &&
         llvm::none_of(op->getOperandTypes(), llvm::IsaPred<TensorType>);
}

static double bytesOf(TypeRange types) {
  double bytes = 0;
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && tensor.hasStaticShape())
      bytes += getTensorBytes(tensor);
  return bytes;
}

/// Ops of contractions count once, others as often as they are slower.
static double countWork(Operation *op) {
  auto rules = dyn_cast<ShardingRuleOpInterface>(op);
  if (!rules)
    return 0;
  ShardingRule rule = rules.getShardingRule();
  double points = 1;
  for (const Factor &factor : rule.factors)
    if (!ShapedType::isDynamic(factor.size))
      points *= factor.size;
  if (rule.isContraction)
    return 2 * points;
  double steps = 0;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      steps += block.getOperations().size();
  return points * steps * kElementwiseSlowdown;
}

double MachineModel::getComputeSeconds(Operation *op) const {
  double seconds = 0;
  op->walk([&](Operation *inner) {
    if (inner != op && isa<linalg::LinalgOp>(inner->getParentOp()))
      return;
    if (isFree(inner) || isa<CollectiveOpInterface>(inner))
      return;
    double bytes =
        bytesOf(inner->getOperandTypes()) + bytesOf(inner->getResultTypes());
    seconds += std::max(countWork(inner) / flops, bytes / bytesPerSecond);
  });
  return seconds;
}

double MachineModel::getLinkSeconds(CollectiveOpInterface op,
                                    int64_t members) const {
  double seconds = link.latencySeconds;
  if (link.bytesPerSecond > 0)
    seconds += op.getBytesSentPerRank(members) / link.bytesPerSecond;
  return seconds;
}
