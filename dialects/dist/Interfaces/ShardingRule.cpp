//===- ShardingRule.cpp - Rules of ops by interface, trait or fallback ----===//

#include "dialects/dist/Interfaces/ShardingRule.h"
#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

#include "dialects/dist/Interfaces/ShardingRuleOpInterface.cpp.inc"

using namespace mlir;
using namespace mlir::dist;

std::optional<ReductionKind> ShardingRule::getReduction(unsigned factor,
                                                        unsigned result) const {
  const Factor &known = factors[factor];
  if (known.kind != FactorKind::Reduction)
    return std::nullopt;
  if (!known.reductions.empty())
    return known.reductions[result];
  for (const auto &list : results[result].dims)
    if (llvm::is_contained(list, factor))
      return std::nullopt;
  return known.reduction;
}

SmallVector<DimShardingAttr, 2>
ShardingRule::splitDim(const MeshLayout &layout, ArrayRef<unsigned> list,
                       DimShardingAttr dim) const {
  SmallVector<DimShardingAttr, 2> parts{dim};
  if (list.size() == 1)
    return parts;
  SmallVector<int64_t, 2> sizes;
  for (unsigned factor : list)
    sizes.push_back(factors[factor].size);
  layout.split(dim, sizes, parts);
  return parts;
}

DimShardingAttr
ShardingRule::joinDim(const MeshLayout &layout, ArrayRef<unsigned> list,
                      ArrayRef<DimShardingAttr> shardings) const {
  if (list.empty())
    return layout.none();
  if (list.size() == 1)
    return shardings[list[0]];
  SmallVector<DimShardingAttr, 2> parts;
  SmallVector<int64_t, 2> sizes;
  for (unsigned factor : list) {
    parts.push_back(shardings[factor]);
    sizes.push_back(factors[factor].size);
  }
  return layout.join(parts, sizes);
}

bool ShardingRule::joinDims(const MeshLayout &layout, const TensorRule &tensor,
                            ArrayRef<DimShardingAttr> shardings,
                            SmallVectorImpl<DimShardingAttr> &out) const {
  out.clear();
  for (const auto &list : tensor.dims) {
    DimShardingAttr joined = joinDim(layout, list, shardings);
    if (!joined)
      return false;
    out.push_back(joined);
  }
  return true;
}

unsigned ShardingRule::getResultOfInit(Operation *op, unsigned operand) const {
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    if (destination.isDpsInit(&op->getOpOperand(operand)))
      return destination.getTiedOpResult(&op->getOpOperand(operand))
          .getResultNumber();
  size_t position = llvm::find(inits, operand) - inits.begin();
  return std::min(position, results.size() - 1);
}

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

/// If one tensor knows the size of a factor and another does not, the former
/// must not be padded, since the latter is taken to divide evenly.
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
  SizeOrigins sizes;
  return getShardingRule(op, sizes, isFallback);
}

ShardingRule mlir::dist::getShardingRule(Operation *op, SizeOrigins &sizes,
                                         bool *isFallback) {
  if (isFallback)
    *isFallback = false;
  if (auto iface = dyn_cast<ShardingRuleOpInterface>(op)) {
    ShardingRule rule = iface.getShardingRuleFromSizes(sizes);
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
  registerAttentionRules(registry);
}
