//===- ShardingRule.cpp - Rules of ops by interface, trait or fallback ----===//

#include "dialects/dist/Interfaces/ShardingRule.h"
#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/IR/OpDefinition.h"

#include "dialects/dist/Interfaces/ShardingRuleOpInterface.cpp.inc"

using namespace mlir;
using namespace mlir::dist;

/// Everything replicated: correct for any op.
static ShardingRule replicatedRule(Operation *op) {
  ShardingRule rule;
  auto add = [&](Type type, TensorRule &tensor) {
    if (auto ranked = dyn_cast<RankedTensorType>(type))
      tensor.dims.resize(ranked.getRank());
  };
  rule.operands.resize(op->getNumOperands());
  rule.results.resize(op->getNumResults());
  for (auto [type, tensor] :
       llvm::zip_equal(op->getOperandTypes(), rule.operands))
    add(type, tensor);
  for (auto [type, tensor] :
       llvm::zip_equal(op->getResultTypes(), rule.results))
    add(type, tensor);
  return rule;
}

/// Where one tensor knows the size of a factor and another does not, the one
/// must not be padded, since the other is taken to divide evenly.
static void keepHalfKnownEven(Operation *op, ShardingRule &rule) {
  auto visit = [&](Type type, const TensorRule &tensor) {
    auto ranked = dyn_cast<RankedTensorType>(type);
    if (!ranked)
      return;
    for (auto [size, list] : llvm::zip_equal(ranked.getShape(), tensor.dims)) {
      if (list.size() != 1)
        continue;
      Factor &factor = rule.factors[list[0]];
      if (ShapedType::isDynamic(size) == ShapedType::isDynamic(factor.size))
        continue;
      factor.evenOnly = true;
      if (ShapedType::isDynamic(factor.size))
        factor.size = size;
    }
  };
  for (auto [type, tensor] :
       llvm::zip_equal(op->getOperandTypes(), rule.operands))
    visit(type, tensor);
  for (auto [type, tensor] :
       llvm::zip_equal(op->getResultTypes(), rule.results))
    visit(type, tensor);
}

ShardingRule mlir::dist::getShardingRule(Operation *op, bool *isFallback) {
  if (isFallback)
    *isFallback = false;
  if (auto iface = dyn_cast<ShardingRuleOpInterface>(op)) {
    ShardingRule rule = iface.getShardingRule();
    keepHalfKnownEven(op, rule);
    return rule;
  }
  bool hasTensors =
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>) ||
      llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>);
  if (isFallback)
    *isFallback = hasTensors;
  return replicatedRule(op);
}

LogicalResult mlir::dist::setLocalResultTypes(Operation *op,
                                              const LocalView &view) {
  for (auto [result, sharding] :
       llvm::zip_equal(op->getResults(), view.results))
    if (sharding)
      result.setType(view.layout.localType(
          cast<RankedTensorType>(result.getType()), sharding));
  return success();
}

void mlir::dist::registerShardingRules(DialectRegistry &registry) {
  registerLinalgRules(registry);
  registerTensorRules(registry);
  registerElementwiseRules(registry);
}
