//===- TensorRules.cpp - Reshapes, slices, joins, pads, lookups
//------------===//

#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;

static FactorKind parallelIfStatic(int64_t size) {
  return ShapedType::isDynamic(size) ? FactorKind::Replicated
                                     : FactorKind::Parallel;
}

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
      unsigned factor = rule.addFactor(size, parallelIfStatic(size));
      splitRule.dims[dim].push_back(factor);
      mergedRule.dims[mergedDim].push_back(factor);
    }
  // With a dynamic size in it a group is left whole.
  for (auto &dim : mergedRule.dims)
    if (llvm::any_of(dim, [&](unsigned factor) {
          return ShapedType::isDynamic(rule.factors[factor].size);
        }))
      for (unsigned factor : dim)
        rule.factors[factor].kind = FactorKind::Replicated;
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
  LogicalResult makeLocal(Operation *op, OpBuilder &,
                          const LocalView &view) const {
    auto expand = cast<tensor::ExpandShapeOp>(op);
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
  bool isFull() const { return offset == 0 && size == whole && stride == 1; }
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
    unsigned factor =
        rule.addFactor(range.whole, parallelIfStatic(range.whole));
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

template <typename SliceOp>
static SmallVector<Cut> getRanges(SliceOp op, RankedTensorType whole) {
  SmallVector<Cut> ranges;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim)
    ranges.push_back({whole.getDimSize(dim), op.getStaticOffsets()[dim],
                      op.getStaticSizes()[dim], op.getStaticStrides()[dim]});
  return ranges;
}

/// Offsets and sizes of a slice in the device's part of the whole tensor.
template <typename SliceOp>
static void setLocalRanges(SliceOp op, RankedTensorType whole,
                           ShardingAttr sharding, const MeshLayout &layout) {
  SmallVector<int64_t> offsets(op.getStaticOffsets()),
      sizes(op.getStaticSizes());
  for (auto [dim, range] : llvm::enumerate(getRanges(op, whole))) {
    if (sharding.getDims()[dim] == layout.none())
      continue;
    int64_t local = layout.localSize(sharding.getDims()[dim], range.whole);
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
         llvm::enumerate(getRanges(slice, slice.getSourceType())))
      addRange(rule, range, rule.operands[0].dims[dim],
               dropped[dim] ? nullptr : &rule.results[0].dims[resultDim++]);
    return rule;
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    return movesData(partial.take_front(1));
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &,
                          const LocalView &view) const {
    setLocalRanges(cast<tensor::ExtractSliceOp>(op),
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
         llvm::enumerate(getRanges(insert, insert.getDestType())))
      addRange(rule, range, rule.operands[1].dims[dim],
               dropped[dim] ? nullptr : &rule.operands[0].dims[sourceDim++]);
    rule.results.push_back(rule.operands[1]);
    return rule;
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    return movesData(partial.take_front(2));
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &,
                          const LocalView &view) const {
    setLocalRanges(cast<tensor::InsertSliceOp>(op),
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
        unsigned factor = rule.addFactor(size, parallelIfStatic(size));
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
      unsigned factor = rule.addFactor(size, parallelIfStatic(size));
      rule.operands[0].dims[dim].push_back(factor);
      rule.results[0].dims[dim].push_back(factor);
    }
    return rule;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Lookups: a sharded table makes partial sums, zero where the row is elsewhere
//===----------------------------------------------------------------------===//

/// The first `count` of `loops` loops.
static AffineMap getMajorDims(Builder &b, int64_t loops, int64_t count) {
  SmallVector<AffineExpr> dims;
  for (int64_t dim = 0; dim < count; ++dim)
    dims.push_back(b.getAffineDimExpr(dim));
  return AffineMap::get(loops, 0, dims, b.getContext());
}

namespace {
struct GatherModel
    : ShardingRuleOpInterface::ExternalModel<GatherModel, tensor::GatherOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto gather = cast<tensor::GatherOp>(op);
    RankedTensorType source = gather.getSourceType();
    RankedTensorType indices = gather.getIndicesType();
    RankedTensorType result = gather.getResultType();
    ArrayRef<int64_t> gatherDims = gather.getGatherDims();
    ShardingRule rule;
    rule.masksPadding = true; // rows that are padding are looked up by nobody
    rule.operands.resize(2);
    rule.results.resize(1);
    rule.operands[0].dims.resize(source.getRank());
    rule.operands[1].dims.resize(indices.getRank());
    rule.results[0].dims.resize(result.getRank());
    int64_t batch = indices.getRank() - 1;
    for (int64_t dim = 0; dim < batch; ++dim) {
      int64_t size = indices.getDimSize(dim);
      unsigned factor = rule.addFactor(size, parallelIfStatic(size));
      rule.operands[1].dims[dim].push_back(factor);
      rule.results[0].dims[dim].push_back(factor);
    }
    bool keepsDims = result.getRank() == batch + source.getRank();
    bool isBool = source.getElementType().isInteger(1);
    int64_t resultDim = batch;
    for (int64_t dim = 0; dim < source.getRank(); ++dim) {
      int64_t size = source.getDimSize(dim);
      if (llvm::is_contained(gatherDims, dim)) {
        bool fixed = ShapedType::isDynamic(size);
        rule.operands[0].dims[dim].push_back(rule.addFactor(
            size, fixed ? FactorKind::Replicated : FactorKind::Reduction,
            isBool ? ReductionKind::Or : ReductionKind::Sum));
        resultDim += keepsDims;
        continue;
      }
      unsigned factor = rule.addFactor(size, parallelIfStatic(size));
      rule.operands[0].dims[dim].push_back(factor);
      rule.results[0].dims[resultDim++].push_back(factor);
    }
    return rule;
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    // Rows of a pending table are pending rows.
    return partial[0] && !partial[1] ? PartialResult::Partial
                                     : PartialResult::Illegal;
  }

  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    auto gather = cast<tensor::GatherOp>(op);
    const MeshLayout &layout = view.layout;
    ArrayRef<int64_t> gatherDims = gather.getGatherDims();
    auto table = cast<RankedTensorType>(view.operandTypes[0]);
    ArrayRef<DimShardingAttr> tableDims = view.operands[0].getDims();
    ArrayRef<DimShardingAttr> indexDims = view.operands[1].getDims();
    auto wholeIndices = cast<RankedTensorType>(view.operandTypes[1]);
    bool unevenIndices = false;
    for (auto [dim, size] : llvm::zip_equal(indexDims, wholeIndices.getShape()))
      unevenIndices |= !layout.isEven(dim, size);
    bool sharded = llvm::any_of(gatherDims, [&](int64_t dim) {
      return tableDims[dim] != layout.none();
    });
    if (failed(setLocalResultTypes(op, view)))
      return failure();
    if (!sharded && !unevenIndices)
      return success();

    // Local row numbers: those of other devices, and of padding, become 0.
    Location loc = op->getLoc();
    b.setInsertionPoint(op);
    auto indices = cast<RankedTensorType>(gather.getIndices().getType());
    int64_t rank = indices.getRank();
    Type element = indices.getElementType();
    // Yields the local row number and whether it is this device's.
    auto locate = [&](Value number) -> std::pair<Value, Value> {
      if (!number.getType().isIndex())
        number = arith::IndexCastOp::create(b, loc, b.getIndexType(), number);
      Value which = linalg::IndexOp::create(b, loc, rank - 1);
      Value isHere, localNumber;
      for (auto [position, dim] : llvm::enumerate(gatherDims)) {
        auto [mine, here] = getLocalIndex(b, loc, layout, tableDims[dim],
                                          table.getDimSize(dim), number);
        if (!isHere) {
          isHere = here;
          localNumber = mine;
          continue;
        }
        Value isThis = arith::CmpIOp::create(
            b, loc, arith::CmpIPredicate::eq, which,
            arith::ConstantIndexOp::create(b, loc, position));
        isHere = arith::SelectOp::create(b, loc, isThis, here, isHere);
        localNumber =
            arith::SelectOp::create(b, loc, isThis, mine, localNumber);
      }
      return {localNumber, isHere};
    };
    SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
    AffineMap identity = b.getMultiDimIdentityMap(rank);
    Value empty = tensor::EmptyOp::create(b, loc, indices.getShape(), element);
    auto local = linalg::GenericOp::create(
        b, loc, indices, gather.getIndices(), empty,
        ArrayRef<AffineMap>{identity, identity}, loops);
    {
      OpBuilder::InsertionGuard guard(b);
      Block *body =
          b.createBlock(&local.getRegion(), {}, {element, element}, {loc, loc});
      auto [number, isHere] = locate(body->getArgument(0));
      Value zero = arith::ConstantIndexOp::create(b, loc, 0);
      Value safe = arith::SelectOp::create(b, loc, isHere, number, zero);
      if (!element.isIndex())
        safe = arith::IndexCastOp::create(b, loc, element, safe);
      linalg::YieldOp::create(b, loc, safe);
    }
    Value wholeNumbers = gather.getIndices();
    gather.getIndicesMutable().assign(local.getResult(0));
    if (!sharded)
      return success();

    // A lookup over several dimensions is here only if all its numbers are.
    auto maskType =
        RankedTensorType::get(indices.getShape().drop_back(), b.getI1Type());
    Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    empty = tensor::EmptyOp::create(b, loc, maskType.getShape(), b.getI1Type());
    Value maskInit = linalg::FillOp::create(b, loc, yes, empty).getResult(0);
    loops.back() = utils::IteratorType::reduction;
    AffineMap rowMap = getMajorDims(b, rank, rank - 1);
    auto mask =
        linalg::GenericOp::create(b, loc, maskType, wholeNumbers, maskInit,
                                  ArrayRef<AffineMap>{identity, rowMap}, loops);
    {
      OpBuilder::InsertionGuard guard(b);
      Block *body = b.createBlock(&mask.getRegion(), {},
                                  {element, b.getI1Type()}, {loc, loc});
      auto [number, isHere] = locate(body->getArgument(0));
      Value all = arith::AndIOp::create(b, loc, isHere, body->getArgument(1));
      linalg::YieldOp::create(b, loc, all);
    }

    // Zero what other devices hold.
    b.setInsertionPointAfter(op);
    auto type = gather.getResultType();
    AffineMap all = b.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> parallel(type.getRank(),
                                              utils::IteratorType::parallel);
    empty =
        tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
    auto masked = linalg::GenericOp::create(
        b, loc, type, ValueRange{gather.getResult(), mask.getResult(0)}, empty,
        ArrayRef<AffineMap>{all, getMajorDims(b, type.getRank(), rank - 1),
                            all},
        parallel);
    OpBuilder::InsertionGuard guard(b);
    Type value = type.getElementType();
    Block *body = b.createBlock(&masked.getRegion(), {},
                                {value, b.getI1Type(), value}, {loc, loc, loc});
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(value));
    Value kept = arith::SelectOp::create(b, loc, body->getArgument(1),
                                         body->getArgument(0), zero);
    linalg::YieldOp::create(b, loc, kept);
    gather.getResult().replaceAllUsesExcept(masked.getResult(0), masked);
    return success();
  }
};

/// Values made from nothing: every dimension is free.
struct EmptyModel
    : ShardingRuleOpInterface::ExternalModel<EmptyModel, tensor::EmptyOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(1);
    for (int64_t size : cast<tensor::EmptyOp>(op).getType().getShape())
      rule.results[0].dims.push_back(
          {rule.addFactor(size, parallelIfStatic(size))});
    return rule;
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
    tensor::GatherOp::attachInterface<GatherModel>(*context);
    tensor::EmptyOp::attachInterface<EmptyModel>(*context);
  });
}
