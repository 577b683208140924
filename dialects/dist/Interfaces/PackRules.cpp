//===- PackRules.cpp - linalg.pack and linalg.unpack ----------------------===//
//
// A dimension that is cut into tiles is a product of the tiles' number and
// size. Whole tiles are sharded. A dimension whose last tile is not full, or
// whose tiles have an unknown size, stays whole.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::dist;

/// `flat` and `packed` are the op's tensors before and after packing.
template <typename OpTy>
static ShardingRule getPackRule(OpTy op, RankedTensorType flat, bool isPack) {
  ArrayRef<int64_t> tiledDims = op.getInnerDimsPos();
  ArrayRef<int64_t> tiles = op.getStaticInnerTiles();
  ArrayRef<int64_t> order = op.getOuterDimsPerm();
  ShardingRule rule;
  TensorRule flatRule, packedRule;
  flatRule.dims.resize(flat.getRank());
  packedRule.dims.resize(flat.getRank() + tiles.size());
  for (int64_t outer = 0; outer < flat.getRank(); ++outer) {
    int64_t dim = order.empty() ? outer : order[outer];
    int64_t size = flat.getDimSize(dim);
    const auto *tiled = llvm::find(tiledDims, dim);
    bool isTiled = tiled != tiledDims.end();
    int64_t tile = isTiled ? tiles[tiled - tiledDims.begin()] : 1;
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(tile) ||
        size % tile != 0)
      continue;
    unsigned count = rule.addFactor(size / tile);
    flatRule.dims[dim].push_back(count);
    packedRule.dims[outer].push_back(count);
    if (!isTiled)
      continue;
    unsigned inner = rule.addFactor(tile, FactorKind::Replicated);
    flatRule.dims[dim].push_back(inner);
    packedRule.dims[flat.getRank() + (tiled - tiledDims.begin())].push_back(
        inner);
  }
  rule.operands.resize(op->getNumOperands());
  rule.operands[0] = isPack ? flatRule : packedRule;
  rule.operands[1] = isPack ? packedRule : flatRule;
  rule.results.assign(op->getNumResults(), rule.operands[1]);
  return rule;
}

namespace {
struct PackModel
    : ShardingRuleOpInterface::ExternalModel<PackModel, linalg::PackOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto pack = cast<linalg::PackOp>(op);
    return getPackRule(pack, cast<RankedTensorType>(pack.getSource().getType()),
                       true);
  }
};

struct UnPackModel
    : ShardingRuleOpInterface::ExternalModel<UnPackModel, linalg::UnPackOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto unpack = cast<linalg::UnPackOp>(op);
    return getPackRule(
        unpack, cast<RankedTensorType>(unpack.getDest().getType()), false);
  }
};
} // namespace

void mlir::dist::attachPackModels(MLIRContext *context) {
  linalg::PackOp::attachInterface<PackModel>(*context);
  linalg::UnPackOp::attachInterface<UnPackModel>(*context);
}
