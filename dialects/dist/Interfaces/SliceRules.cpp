//===- SliceRules.cpp - Slices, joins and pads ----------------------------===//
//
// If slices and concatenated operands are whole blocks of the dimension, the
// blocks can be sharded. If most of a dimension is kept, its rows only move a
// little: they are read in windows. A single row of a dimension is sliced by
// the device that owns it, like a lookup of a row: it is a sum, zero elsewhere.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Interfaces/Reductions.h"
#include "dialects/dist/Interfaces/RuleModels.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallBitVector.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;

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
  /// Whether most of the dimension is kept, but not in blocks of it. Examples:
  /// padding is cut off again, or the last row is left out. Then the rows that
  /// a device keeps are its own, except for a few.
  bool isCrop() const {
    if (ShapedType::isDynamic(whole) || ShapedType::isDynamic(offset) ||
        ShapedType::isDynamic(size) || stride < 1 || size < 2 || isFull())
      return false;
    int64_t span = (size - 1) * stride + 1, rest = whole - span;
    return block() <= 1 ? rest <= span : offset > 0 && 2 * rest <= span;
  }
};
} // namespace

/// Adds the factors of a range to the dimension of the whole tensor and to that
/// of its part. The latter is null if the part has dropped it: then there are
/// no factors, since every device needs the one index that is left.
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

/// Whether one row of several is cut out of numbers, which have a sum.
static bool isOneRow(const Cut &range, Type element) {
  return range.size == 1 && range.whole != 1 && range.stride == 1 &&
         element.isIntOrIndexOrFloat();
}

static SmallVector<Cut> getRanges(OffsetSizeAndStrideOpInterface op,
                                  Value whole, SizeOrigins &origins) {
  SmallVector<Cut> ranges;
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<OpFoldResult> sizes = op.getMixedSizes();
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    ranges.push_back({type.getDimSize(dim), op.getStaticOffsets()[dim],
                      op.getStaticSizes()[dim], op.getStaticStrides()[dim],
                      origins.isSizeOf(sizes[dim], whole, dim)});
  return ranges;
}

/// Offsets and sizes of a slice in the device's part of the whole tensor.
template <typename SliceOp>
static void setLocalRanges(OpBuilder &b, SliceOp op, RankedTensorType whole,
                           ShardingAttr sharding, const MeshLayout &layout,
                           const llvm::SmallBitVector &rows) {
  SmallVector<int64_t> offsets(op.getStaticOffsets()),
      sizes(op.getStaticSizes());
  unsigned unknown = 0;
  for (auto [dim, sharded] : llvm::enumerate(sharding.getDims())) {
    bool isUnknown = ShapedType::isDynamic(sizes[dim]);
    unsigned number = unknown;
    unknown += isUnknown;
    // Single rows and windows have been handled.
    if (sharded == layout.none() || rows[dim])
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
    // Blocks divide evenly: every block shrinks in the same way.
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
    SizeOrigins sizes;
    return getShardingRuleFromSizes(op, sizes);
  }
  ShardingRule getShardingRuleFromSizes(Operation *op,
                                        SizeOrigins &sizes) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    Type element = slice.getType().getElementType();
    ShardingRule rule;
    rule.masksPadding = true; // no row that is padding is cut out
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(1);
    rule.operands[0].dims.resize(slice.getSourceType().getRank());
    rule.results[0].dims.resize(slice.getType().getRank());
    unsigned resultDim = 0;
    for (auto [dim, range] :
         llvm::enumerate(getRanges(slice, slice.getSource(), sizes))) {
      unsigned place = resultDim;
      resultDim += !dropped[dim];
      if (range.isCrop() && element.isIntOrIndexOrFloat()) {
        unsigned factor = rule.addFactor(range.size);
        rule.factors[factor].inBlocks = true;
        rule.operands[0].dims[dim].push_back(factor);
        rule.operands[0].windows.push_back(
            {static_cast<unsigned>(dim), range.stride, 1, range.offset});
        rule.results[0].dims[place].push_back(factor);
      } else if (isOneRow(range, element))
        rule.operands[0].dims[dim].push_back(rule.addFactor(
            range.whole, FactorKind::Reduction,
            element.isInteger(1) ? ReductionKind::Or : ReductionKind::Sum));
      else
        addRange(rule, range, rule.operands[0].dims[dim],
                 dropped[dim] ? nullptr : &rule.results[0].dims[place]);
    }
    return rule;
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    return movesData(partial.take_front(1));
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    auto whole = cast<RankedTensorType>(view.operandTypes[0]);
    // While sizes are those of the whole: a part may have one row, too.
    llvm::SmallBitVector rows(whole.getRank()), crops(whole.getRank());
    SmallVector<int64_t> offsets(slice.getStaticOffsets()),
        sizes(slice.getStaticSizes());
    Type element = whole.getElementType();
    for (auto [dim, sharding] : llvm::enumerate(view.operands[0].getDims())) {
      if (sharding == view.layout.none())
        continue;
      int64_t size = whole.getDimSize(dim);
      Cut range{size, offsets[dim], sizes[dim], slice.getStaticStrides()[dim],
                sizes[dim] == size};
      crops[dim] = range.isCrop() && element.isIntOrIndexOrFloat();
      rows[dim] = !crops[dim] && isOneRow(range, element);
      if (!crops[dim])
        continue;
      // The operand begins with the device's first row by now.
      offsets[dim] = 0;
      sizes[dim] = view.layout.localSize(sharding, sizes[dim]);
    }
    slice.setStaticOffsets(offsets);
    slice.setStaticSizes(sizes);
    setLocalRanges(b, slice, whole, view.operands[0], view.layout,
                   rows | crops);
    Value isHere = takeLocalRows(b, slice, whole, view, rows);
    if (failed(setLocalResultTypes(op, view)))
      return failure();
    if (isHere)
      zeroUnless(b, slice, isHere);
    return success();
  }

private:
  /// Offsets of single rows in the device's part; whether all of them are
  /// there, null where no such dimension is sharded.
  static Value takeLocalRows(OpBuilder &b, tensor::ExtractSliceOp slice,
                             RankedTensorType whole, const LocalView &view,
                             const llvm::SmallBitVector &rows) {
    Location loc = slice.getLoc();
    const MeshLayout &layout = view.layout;
    b.setInsertionPoint(slice);
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
    Value isHere;
    for (unsigned dim : rows.set_bits()) {
      int64_t size = whole.getDimSize(dim);
      DimShardingAttr sharding = view.operands[0].getDims()[dim];
      Value localSize;
      if (ShapedType::isDynamic(size))
        localSize = tensor::DimOp::create(b, loc, slice.getSource(), dim);
      Value row = getValueOrCreateConstantIndexOp(b, loc, offsets[dim]);
      // A row that nobody has is an error, as it is on one device.
      if (!isa<Attribute>(offsets[dim]) || localSize)
        cf::AssertOp::create(
            b, loc,
            arith::CmpIOp::create(
                b, loc, arith::CmpIPredicate::ult, row,
                getWholeSize(b, loc, layout, sharding, size, localSize)),
            describeOutOfRange("tensor.extract_slice", whole.getShape()));
      auto [mine, here] =
          getLocalIndex(b, loc, layout, sharding, size, row, localSize);
      Value zero = arith::ConstantIndexOp::create(b, loc, 0);
      offsets[dim] =
          arith::SelectOp::create(b, loc, here, mine, zero).getResult();
      isHere = isHere ? arith::AndIOp::create(b, loc, isHere, here).getResult()
                      : here;
    }
    if (!isHere)
      return isHere;
    SmallVector<int64_t> fixed;
    SmallVector<Value> computed;
    dispatchIndexOpFoldResults(offsets, computed, fixed);
    slice.setStaticOffsets(fixed);
    slice.getOffsetsMutable().assign(computed);
    return isHere;
  }

  static void zeroUnless(OpBuilder &b, tensor::ExtractSliceOp slice,
                         Value isHere) {
    Location loc = slice.getLoc();
    b.setInsertionPointAfter(slice);
    Type element = slice.getType().getElementType();
    Value masked = mapElements(
        b, loc, slice.getResult(), element,
        [&](OpBuilder &inner, Location at, ValueRange args) -> Value {
          Value nothing = arith::ConstantOp::create(
              inner, at, getNeutral(inner, element, ReductionKind::Sum));
          return arith::SelectOp::create(inner, at, isHere, args[0], nothing);
        });
    slice.getResult().replaceUsesWithIf(masked, [&](OpOperand &use) {
      return use.getOwner() != masked.getDefiningOp() &&
             !isa<tensor::DimOp>(use.getOwner());
    });
  }
};

struct InsertSliceModel
    : ShardingRuleOpInterface::ExternalModel<InsertSliceModel,
                                             tensor::InsertSliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    SizeOrigins sizes;
    return getShardingRuleFromSizes(op, sizes);
  }
  ShardingRule getShardingRuleFromSizes(Operation *op,
                                        SizeOrigins &sizes) const {
    auto insert = cast<tensor::InsertSliceOp>(op);
    llvm::SmallBitVector dropped = insert.getDroppedDims();
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.operands[0].dims.resize(insert.getSourceType().getRank());
    rule.operands[1].dims.resize(insert.getDestType().getRank());
    unsigned sourceDim = 0;
    for (auto [dim, range] :
         llvm::enumerate(getRanges(insert, insert.getDest(), sizes)))
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
                   view.operands[1], view.layout,
                   llvm::SmallBitVector(view.operands[1].getDims().size()));
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
    bool isEmpty = llvm::is_contained(pad.getSourceType().getShape(), 0);
    auto isNumber = [](int64_t added) { return added >= 0; };
    bool isKnown = llvm::all_of(pad.getStaticLow(), isNumber) &&
                   llvm::all_of(pad.getStaticHigh(), isNumber);
    for (int64_t dim = 0, e = pad.getSourceType().getRank(); dim < e; ++dim) {
      int64_t size = pad.getSourceType().getDimSize(dim);
      int64_t low = pad.getStaticLow()[dim], high = pad.getStaticHigh()[dim];
      bool isPadded = low != 0 || high != 0;
      // A row that is added is no device's; the others move on by `low`.
      if (isPadded &&
          (ShapedType::isDynamic(size) || isEmpty || !isKnown ||
           !pad.getSourceType().getElementType().isIntOrIndexOrFloat()))
        continue;
      unsigned factor = rule.addFactor(isPadded ? size + low + high : size);
      if (isPadded) {
        rule.factors[factor].inBlocks = true;
        rule.operands[0].windows.push_back(
            {static_cast<unsigned>(dim), 1, 1, -low});
      }
      rule.operands[0].dims[dim].push_back(factor);
      rule.results[0].dims[dim].push_back(factor);
    }
    return rule;
  }
  /// Zeros are pending of any number of devices.
  PartialResult getPartialResult(Operation *op, ArrayRef<bool> partial,
                                 ReductionKind kind) const {
    Value number = cast<tensor::PadOp>(op).getConstantPaddingValue();
    bool isZero = number && (matchPattern(number, m_AnyZeroFloat()) ||
                             matchPattern(number, m_Zero()));
    return kind == ReductionKind::Sum && partial[0] && isZero
               ? PartialResult::Partial
               : PartialResult::Illegal;
  }
};
} // namespace

void mlir::dist::attachSliceModels(MLIRContext *context) {
  tensor::ExtractSliceOp::attachInterface<ExtractSliceModel>(*context);
  tensor::InsertSliceOp::attachInterface<InsertSliceModel>(*context);
  tensor::ConcatOp::attachInterface<ConcatModel>(*context);
  tensor::PadOp::attachInterface<PadModel>(*context);
}
