//===- TensorRules.cpp - Reshapes, values from nothing, single elements ---===//
//
// A tensor to which elements or rows are written must be whole along the
// dimensions that indices name. A single element is written by the device that
// has its position. An element that is read is needed everywhere, as a number,
// which cannot be pending.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Interfaces/RuleModels.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Reshapes: a merged dimension is the product of the split ones
//===----------------------------------------------------------------------===//

static ShardingRule getReshapeRule(RankedTensorType merged,
                                   RankedTensorType splitUp,
                                   ArrayRef<ReassociationIndices> groups,
                                   bool mergedIsOperand, unsigned numOperands) {
  ShardingRule rule;
  TensorRule mergedRule, splitRule;
  splitRule.dims.resize(splitUp.getRank());
  mergedRule.dims.resize(merged.getRank());
  for (auto [mergedDim, group] : llvm::enumerate(groups))
    for (int64_t dim : group) {
      int64_t size = splitUp.getDimSize(dim);
      if (size == 1 && group.size() > 1)
        continue;
      unsigned factor = rule.addFactor(size);
      splitRule.dims[dim].push_back(factor);
      mergedRule.dims[mergedDim].push_back(factor);
    }
  rule.operands.resize(numOperands);
  rule.operands[0] = mergedIsOperand ? mergedRule : splitRule;
  rule.results.push_back(mergedIsOperand ? splitRule : mergedRule);
  return rule;
}

namespace {
struct ExpandModel
    : ShardingRuleOpInterface::ExternalModel<ExpandModel,
                                             tensor::ExpandShapeOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto expand = cast<tensor::ExpandShapeOp>(op);
    return getReshapeRule(expand.getSrcType(), expand.getResultType(),
                          expand.getReassociationIndices(), true,
                          op->getNumOperands());
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    return movesData(partial.take_front(1));
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    auto expand = cast<tensor::ExpandShapeOp>(op);
    divideSizes(b, op->getLoc(), view.layout, expand.getResultType(),
                view.results[0], expand.getOutputShapeMutable());
    if (failed(setLocalResultTypes(op, view)))
      return failure();
    auto shape =
        cast<RankedTensorType>(expand.getResult().getType()).getShape();
    expand.setStaticOutputShape(shape);
    return success();
  }
};

struct CollapseModel
    : ShardingRuleOpInterface::ExternalModel<CollapseModel,
                                             tensor::CollapseShapeOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto collapse = cast<tensor::CollapseShapeOp>(op);
    return getReshapeRule(collapse.getResultType(), collapse.getSrcType(),
                          collapse.getReassociationIndices(), false,
                          op->getNumOperands());
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    return movesData(partial.take_front(1));
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Values made from nothing, sizes
//===----------------------------------------------------------------------===//

namespace {
/// Values made from nothing, or from one scalar: every dimension is free.
template <typename OpTy>
struct MadeModel
    : ShardingRuleOpInterface::ExternalModel<MadeModel<OpTy>, OpTy> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(1);
    for (int64_t size :
         cast<RankedTensorType>(op->getResult(0).getType()).getShape())
      rule.results[0].dims.push_back({rule.addFactor(size)});
    return rule;
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    divideSizes(b, op->getLoc(), view.layout,
                cast<RankedTensorType>(op->getResult(0).getType()),
                view.results[0], cast<OpTy>(op).getDynamicSizesMutable());
    return setLocalResultTypes(op, view);
  }
};

/// Every device has all the elements: it makes the whole, and takes a slice.
struct FromElementsModel
    : ShardingRuleOpInterface::ExternalModel<FromElementsModel,
                                             tensor::FromElementsOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(1);
    for (int64_t size : cast<tensor::FromElementsOp>(op).getType().getShape())
      rule.results[0].dims.push_back(
          {rule.addFactor(size, FactorKind::Replicated)});
    return rule;
  }
};

/// Every element is made from its indices, which become those of the whole.
struct GenerateModel
    : ShardingRuleOpInterface::ExternalModel<GenerateModel,
                                             tensor::GenerateOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(1);
    for (int64_t size :
         cast<RankedTensorType>(op->getResult(0).getType()).getShape())
      rule.results[0].dims.push_back({rule.addFactor(size)});
    return rule;
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    auto whole = cast<RankedTensorType>(op->getResult(0).getType());
    MutableOperandRange extents =
        cast<tensor::GenerateOp>(op).getDynamicExtentsMutable();
    divideSizes(b, op->getLoc(), view.layout, whole, view.results[0], extents);
    Block &body = op->getRegion(0).front();
    b.setInsertionPointToStart(&body);
    Value inside;
    unsigned unknown = 0;
    for (auto [argument, sharding, size] :
         llvm::zip_equal(body.getArguments(), view.results[0].getDims(),
                         whole.getShape())) {
      Value localSize =
          ShapedType::isDynamic(size) ? extents[unknown++].get() : Value();
      if (sharding == view.layout.none())
        continue;
      Operation *first = &*b.getInsertionPoint();
      auto [index, inBounds] = getGlobalIndex(
          b, op->getLoc(), view.layout, sharding, size, argument, localSize);
      // The arithmetic that makes the global index keeps the local one.
      argument.replaceUsesWithIf(index, [&](OpOperand &use) {
        Operation *user = body.findAncestorOpInBlock(*use.getOwner());
        return user == first || first->isBeforeInBlock(user);
      });
      if (inBounds)
        inside = inside
                     ? arith::AndIOp::create(b, op->getLoc(), inside, inBounds)
                           .getResult()
                     : inBounds;
    }
    if (inside)
      guardUnsafeOperands(b, body, inside);
    return setLocalResultTypes(op, view);
  }
};

/// Says more or less of the sizes than before.
struct CastModel
    : ShardingRuleOpInterface::ExternalModel<CastModel, tensor::CastOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    rule.operands.resize(1);
    rule.results.resize(1);
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
    if (from)
      rule.operands[0].dims.resize(from.getRank());
    if (type)
      rule.results[0].dims.resize(type.getRank());
    if (!type || !from)
      return rule;
    for (auto [dim, size] : llvm::enumerate(type.getShape())) {
      unsigned factor = rule.addFactor(size);
      rule.operands[0].dims[dim].push_back(factor);
      rule.results[0].dims[dim].push_back(factor);
    }
    return rule;
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    return movesData(partial);
  }
};

/// A size is the same wherever the tensor is: that of the whole.
struct DimModel
    : ShardingRuleOpInterface::ExternalModel<DimModel, tensor::DimOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto dim = cast<tensor::DimOp>(op);
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(1);
    if (auto type = dyn_cast<RankedTensorType>(dim.getSource().getType()))
      for (int64_t size : type.getShape())
        rule.operands[0].dims.push_back({rule.addFactor(
            size, dim.getConstantIndex() ? FactorKind::Parallel
                                         : FactorKind::Replicated)});
    return rule;
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    auto dim = cast<tensor::DimOp>(op);
    auto whole = dyn_cast<RankedTensorType>(view.operandTypes[0]);
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!whole || !index || !view.operands[0])
      return success();
    if (!whole.isDynamicDim(*index)) {
      op->getResult(0).replaceAllUsesWith(arith::ConstantIndexOp::create(
          b, op->getLoc(), whole.getDimSize(*index)));
      return success();
    }
    int64_t devices =
        view.layout.size(view.operands[0].getDims()[*index].getAllAxes());
    if (devices == 1)
      return success();
    b.setInsertionPointAfter(op);
    Value count = arith::ConstantIndexOp::create(b, op->getLoc(), devices);
    auto all = arith::MulIOp::create(b, op->getLoc(), op->getResult(0), count);
    op->getResult(0).replaceAllUsesExcept(all, all);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Elements by their indices
//===----------------------------------------------------------------------===//

namespace {
/// Every update is needed everywhere, as is every index; the operands of
/// updates are sharded like the tensor that they are written to.
struct ScatterModel
    : ShardingRuleOpInterface::ExternalModel<ScatterModel, tensor::ScatterOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto scatter = cast<tensor::ScatterOp>(op);
    RankedTensorType source = scatter.getSourceType();
    RankedTensorType dest = scatter.getDestType();
    int64_t updates = scatter.getIndicesType().getRank() - 1;
    bool keepsDims = source.getRank() == updates + dest.getRank();
    ShardingRule rule;
    rule.operands.resize(3);
    rule.operands[0].dims.resize(source.getRank());
    rule.operands[1].dims.resize(dest.getRank());
    rule.operands[2].dims.resize(updates + 1);
    for (int64_t dim = 0; dim < updates; ++dim) {
      unsigned factor = rule.addFactor(scatter.getIndicesType().getDimSize(dim),
                                       FactorKind::Replicated);
      rule.operands[0].dims[dim].push_back(factor);
      rule.operands[2].dims[dim].push_back(factor);
    }
    int64_t sourceDim = updates;
    for (int64_t dim = 0; dim < dest.getRank(); ++dim) {
      int64_t size = dest.getDimSize(dim);
      bool isNamed = llvm::is_contained(scatter.getScatterDims(), dim);
      unsigned factor = rule.addFactor(size, isNamed ? FactorKind::Replicated
                                                     : FactorKind::Parallel);
      rule.operands[1].dims[dim].push_back(factor);
      if (!isNamed)
        rule.operands[0].dims[sourceDim].push_back(factor);
      sourceDim += !isNamed || keepsDims;
    }
    rule.results.push_back(rule.operands[1]);
    return rule;
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    return partial[0] && partial[1] && !partial[2] ? PartialResult::Partial
                                                   : PartialResult::Illegal;
  }
};

/// Only a whole tensor has the element on every device.
struct ExtractModel
    : ShardingRuleOpInterface::ExternalModel<ExtractModel, tensor::ExtractOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(1);
    for (int64_t size :
         cast<tensor::ExtractOp>(op).getTensor().getType().getShape())
      rule.operands[0].dims.push_back(
          {rule.addFactor(size, FactorKind::Replicated)});
    return rule;
  }
};

/// All devices write; those without the position write the old value.
struct InsertModel
    : ShardingRuleOpInterface::ExternalModel<InsertModel, tensor::InsertOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    for (int64_t size :
         cast<tensor::InsertOp>(op).getDest().getType().getShape())
      rule.operands[1].dims.push_back({rule.addFactor(size)});
    rule.results.push_back(rule.operands[1]);
    return rule;
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    auto insert = cast<tensor::InsertOp>(op);
    auto whole = cast<RankedTensorType>(view.operandTypes[1]);
    ArrayRef<DimShardingAttr> dims = view.operands[1].getDims();
    if (llvm::all_equal(dims) &&
        (dims.empty() || dims.front() == view.layout.none()))
      return setLocalResultTypes(op, view);
    Location loc = op->getLoc();
    b.setInsertionPoint(op);
    Value isHere;
    SmallVector<Value> indices(insert.getIndices());
    for (auto [dim, index, sharding, size] :
         llvm::enumerate(indices, dims, whole.getShape())) {
      Value localSize;
      if (ShapedType::isDynamic(size))
        localSize = tensor::DimOp::create(b, loc, insert.getDest(), dim);
      // A place that nobody has is an error, as it is on one device.
      Value end = getWholeSize(b, loc, view.layout, sharding, size, localSize);
      Value isInRange =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, end);
      cf::AssertOp::create(
          b, loc, isInRange,
          describeOutOfRange("tensor.insert", whole.getShape()));
      if (sharding == view.layout.none())
        continue;
      auto [mine, here] =
          getLocalIndex(b, loc, view.layout, sharding, size, index, localSize);
      index = mine;
      isHere = isHere ? arith::AndIOp::create(b, loc, isHere, here).getResult()
                      : here;
    }
    Value there = tensor::ExtractOp::create(b, loc, insert.getDest(), indices);
    insert.getScalarMutable().assign(
        arith::SelectOp::create(b, loc, isHere, insert.getScalar(), there));
    insert.getIndicesMutable().assign(indices);
    return setLocalResultTypes(op, view);
  }
};
} // namespace

void mlir::dist::registerTensorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ExpandShapeOp::attachInterface<ExpandModel>(*context);
    tensor::CollapseShapeOp::attachInterface<CollapseModel>(*context);
    tensor::CastOp::attachInterface<CastModel>(*context);
    tensor::DimOp::attachInterface<DimModel>(*context);
    tensor::EmptyOp::attachInterface<MadeModel<tensor::EmptyOp>>(*context);
    tensor::SplatOp::attachInterface<MadeModel<tensor::SplatOp>>(*context);
    tensor::GenerateOp::attachInterface<GenerateModel>(*context);
    tensor::FromElementsOp::attachInterface<FromElementsModel>(*context);
    tensor::ScatterOp::attachInterface<ScatterModel>(*context);
    tensor::ExtractOp::attachInterface<ExtractModel>(*context);
    tensor::InsertOp::attachInterface<InsertModel>(*context);
    attachSliceModels(context);
    attachLookupModels(context);
  });
  registry.addExtension(+[](MLIRContext *context, DistDialect *) {
    attachGradientModels(context);
  });
}
