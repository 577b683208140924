//===- TensorRules.cpp - Reshapes, slices, joins, pads --------------------===//

#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;

/// Ops that only move data commute with every reduction.
static PartialResult movesData(ArrayRef<bool> partial) {
  return llvm::all_of(partial, [](bool p) { return p; })
             ? PartialResult::Partial
             : PartialResult::Illegal;
}

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
// Slices: what is cut out are whole blocks of the dimension
//===----------------------------------------------------------------------===//

namespace {
/// The part [offset, offset + size) of a dimension of `whole` elements.
struct Cut {
  int64_t whole, offset, size, stride;
  /// Whether the size is that of the whole dimension.
  bool hasWholeSize;
  bool isFull() const { return offset == 0 && hasWholeSize && stride == 1; }
  /// Largest block that neither end of the range cuts.
  int64_t block() const {
    if (ShapedType::isDynamic(whole) || ShapedType::isDynamic(offset) ||
        ShapedType::isDynamic(size) || stride != 1 || whole == 0)
      return 1;
    return std::gcd(std::gcd(whole, offset), size);
  }
};
} // namespace

/// Adds the factors of a range to the dimension of the whole tensor and to that
/// of its part (null where the part has dropped it: then none, since every
/// device needs the one index that is left).
static void addRange(ShardingRule &rule, const Cut &range,
                     SmallVectorImpl<unsigned> &whole,
                     SmallVectorImpl<unsigned> *part) {
  // A dropped dimension is one element, which every device needs.
  if (!part)
    return;
  if (range.isFull()) {
    unsigned factor = rule.addFactor(range.whole);
    whole.push_back(factor);
    part->push_back(factor);
    return;
  }
  int64_t block = range.block();
  if (block <= 1)
    return;
  unsigned inner = rule.addFactor(block);
  whole.push_back(rule.addFactor(range.whole / block, FactorKind::Replicated));
  whole.push_back(inner);
  if (range.size != block)
    part->push_back(rule.addFactor(range.size / block, FactorKind::Replicated));
  part->push_back(inner);
}

static SmallVector<Cut> getRanges(OffsetSizeAndStrideOpInterface op,
                                  Value whole) {
  SmallVector<Cut> ranges;
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<OpFoldResult> sizes = op.getMixedSizes();
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    ranges.push_back({type.getDimSize(dim), op.getStaticOffsets()[dim],
                      op.getStaticSizes()[dim], op.getStaticStrides()[dim],
                      isSizeOf(sizes[dim], whole, dim)});
  return ranges;
}

/// Offsets and sizes of a slice in the device's part of the whole tensor.
template <typename SliceOp>
static void setLocalRanges(OpBuilder &b, SliceOp op, RankedTensorType whole,
                           ShardingAttr sharding, const MeshLayout &layout) {
  SmallVector<int64_t> offsets(op.getStaticOffsets()),
      sizes(op.getStaticSizes());
  unsigned unknown = 0;
  for (auto [dim, sharded] : llvm::enumerate(sharding.getDims())) {
    bool isUnknown = ShapedType::isDynamic(sizes[dim]);
    unsigned number = unknown;
    unknown += isUnknown;
    if (sharded == layout.none())
      continue;
    if (isUnknown) {
      // Where it is sharded the rule knew it to be that of the whole.
      OpOperand &size = op.getSizesMutable()[number];
      size.set(divideSize(b, op.getLoc(), layout, sharded, size.get()));
      continue;
    }
    int64_t size = whole.getDimSize(dim);
    Cut range{size, offsets[dim], sizes[dim], 1, sizes[dim] == size};
    int64_t local = layout.localSize(sharded, size);
    if (range.isFull()) {
      sizes[dim] = local;
      continue;
    }
    // Blocks divide evenly: every block shrinks alike.
    int64_t localBlock = local / (range.whole / range.block());
    offsets[dim] = range.offset / range.block() * localBlock;
    sizes[dim] = range.size / range.block() * localBlock;
  }
  op.setStaticOffsets(offsets);
  op.setStaticSizes(sizes);
}

namespace {
struct ExtractSliceModel
    : ShardingRuleOpInterface::ExternalModel<ExtractSliceModel,
                                             tensor::ExtractSliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(1);
    rule.operands[0].dims.resize(slice.getSourceType().getRank());
    rule.results[0].dims.resize(slice.getType().getRank());
    unsigned resultDim = 0;
    for (auto [dim, range] :
         llvm::enumerate(getRanges(slice, slice.getSource())))
      addRange(rule, range, rule.operands[0].dims[dim],
               dropped[dim] ? nullptr : &rule.results[0].dims[resultDim++]);
    return rule;
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    return movesData(partial.take_front(1));
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    setLocalRanges(b, cast<tensor::ExtractSliceOp>(op),
                   cast<RankedTensorType>(view.operandTypes[0]),
                   view.operands[0], view.layout);
    return setLocalResultTypes(op, view);
  }
};

struct InsertSliceModel
    : ShardingRuleOpInterface::ExternalModel<InsertSliceModel,
                                             tensor::InsertSliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto insert = cast<tensor::InsertSliceOp>(op);
    llvm::SmallBitVector dropped = insert.getDroppedDims();
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.operands[0].dims.resize(insert.getSourceType().getRank());
    rule.operands[1].dims.resize(insert.getDestType().getRank());
    unsigned sourceDim = 0;
    for (auto [dim, range] :
         llvm::enumerate(getRanges(insert, insert.getDest())))
      addRange(rule, range, rule.operands[1].dims[dim],
               dropped[dim] ? nullptr : &rule.operands[0].dims[sourceDim++]);
    rule.results.push_back(rule.operands[1]);
    return rule;
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    return movesData(partial.take_front(2));
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    setLocalRanges(b, cast<tensor::InsertSliceOp>(op),
                   cast<RankedTensorType>(view.operandTypes[1]),
                   view.operands[1], view.layout);
    return setLocalResultTypes(op, view);
  }
};

struct ConcatModel
    : ShardingRuleOpInterface::ExternalModel<ConcatModel, tensor::ConcatOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto concat = cast<tensor::ConcatOp>(op);
    RankedTensorType type = concat.getResultType();
    int64_t axis = concat.getDim();
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    for (TensorRule &operand : rule.operands)
      operand.dims.resize(type.getRank());
    rule.results.resize(1);
    rule.results[0].dims.resize(type.getRank());
    int64_t block = 0;
    for (Value input : concat.getInputs()) {
      int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(axis);
      block = ShapedType::isDynamic(size) ? 1 : std::gcd(block, size);
    }
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      int64_t size = type.getDimSize(dim);
      if (dim != axis) {
        unsigned factor = rule.addFactor(size);
        for (TensorRule &operand : rule.operands)
          operand.dims[dim].push_back(factor);
        rule.results[0].dims[dim].push_back(factor);
        continue;
      }
      if (block <= 1)
        continue;
      unsigned inner = rule.addFactor(block);
      auto add = [&](int64_t whole, TensorRule &tensor) {
        if (whole != block)
          tensor.dims[dim].push_back(
              rule.addFactor(whole / block, FactorKind::Replicated));
        tensor.dims[dim].push_back(inner);
      };
      for (auto [input, operand] :
           llvm::zip_equal(concat.getInputs(), rule.operands))
        add(cast<RankedTensorType>(input.getType()).getDimSize(dim), operand);
      add(size, rule.results[0]);
    }
    return rule;
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    return movesData(partial);
  }
};

struct PadModel
    : ShardingRuleOpInterface::ExternalModel<PadModel, tensor::PadOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto pad = cast<tensor::PadOp>(op);
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(1);
    rule.operands[0].dims.resize(pad.getSourceType().getRank());
    rule.results[0].dims.resize(pad.getSourceType().getRank());
    // A padding value that depends on the place would need global indices.
    if (!pad.getConstantPaddingValue())
      return rule;
    for (int64_t dim = 0, e = pad.getSourceType().getRank(); dim < e; ++dim) {
      if (pad.getStaticLow()[dim] != 0 || pad.getStaticHigh()[dim] != 0)
        continue;
      int64_t size = pad.getSourceType().getDimSize(dim);
      unsigned factor = rule.addFactor(size);
      rule.operands[0].dims[dim].push_back(factor);
      rule.results[0].dims[dim].push_back(factor);
    }
    return rule;
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

/// A size is the same wherever the tensor lies: that of the whole.
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

void mlir::dist::registerTensorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ExpandShapeOp::attachInterface<ExpandModel>(*context);
    tensor::CollapseShapeOp::attachInterface<CollapseModel>(*context);
    tensor::ExtractSliceOp::attachInterface<ExtractSliceModel>(*context);
    tensor::InsertSliceOp::attachInterface<InsertSliceModel>(*context);
    tensor::ConcatOp::attachInterface<ConcatModel>(*context);
    tensor::PadOp::attachInterface<PadModel>(*context);
    tensor::CastOp::attachInterface<CastModel>(*context);
    tensor::DimOp::attachInterface<DimModel>(*context);
    tensor::EmptyOp::attachInterface<MadeModel<tensor::EmptyOp>>(*context);
    tensor::SplatOp::attachInterface<MadeModel<tensor::SplatOp>>(*context);
    tensor::GenerateOp::attachInterface<GenerateModel>(*context);
    tensor::FromElementsOp::attachInterface<FromElementsModel>(*context);
    attachLookupModels(context);
  });
}
