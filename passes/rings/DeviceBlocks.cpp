//===- DeviceBlocks.cpp - A device's own block of a tensor ----------------===//

#include "passes/rings/DeviceBlocks.h"
#include "dialects/dist/IR/Collectives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

static RankedTensorType resize(RankedTensorType type, int64_t dim,
                               int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return type.clone(shape);
}

static int64_t sizeOf(Value value, int64_t dim) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dim);
}

Value DeviceBlocks::get(Value whole, int64_t dim) {
  Block block = find(whole, dim);
  return block.isGathered ? block.value : Value();
}

std::pair<Value, SmallVector<Operation *>>
DeviceBlocks::findSmallest(Value block) const {
  SmallVector<Operation *> path;
  Value smallest = block;
  size_t length = 0;
  for (Value at = block;;) {
    Operation *op = at.getDefiningOp();
    Value source;
    bool isAlone = op && op->getNumResults() == 1;
    for (Value operand : op ? op->getOperands() : OperandRange({}, 0)) {
      auto found = differing.find(operand);
      if (found == differing.end() || operand == source)
        continue;
      isAlone &= found->second && !source;
      source = operand;
    }
    if (!isAlone || !source)
      break;
    path.push_back(op);
    if (getTensorBytes(source.getType()) < getTensorBytes(smallest.getType())) {
      smallest = source;
      length = path.size();
    }
    at = source;
  }
  path.truncate(length);
  std::reverse(path.begin(), path.end());
  return {smallest, path};
}

DeviceBlocks::Block DeviceBlocks::find(Value whole, int64_t dim) {
  std::pair<Value, int64_t> key(whole, dim);
  if (auto found = known.find(key); found != known.end())
    return found->second;
  Block block;
  if (cast<RankedTensorType>(whole.getType()).hasStaticShape()) {
    block = make(whole, dim);
    // A value that was not gathered is on every device anyway.
    if (!block.value)
      block = cut(whole, dim);
  }
  known[key] = block;
  if (block.isGathered ||
      (block.value && block.value.getDefiningOp<AllSliceOp>()))
    differing[block.value] = block.isGathered;
  return block;
}

DeviceBlocks::Block DeviceBlocks::make(Value whole, int64_t dim) {
  Operation *op = whole.getDefiningOp();
  if (!op)
    return {};
  if (auto gather = dyn_cast<AllGatherOp>(op)) {
    if (static_cast<int64_t>(gather.getDim()) != dim ||
        gather.getAxes() != axes)
      return {};
    return {gather.getOperand(), true};
  }
  if (isa<linalg::LinalgOp>(op))
    return makeLinalg(cast<OpResult>(whole), dim);
  if (isa<tensor::ExpandShapeOp>(op))
    return makeExpanded(whole, dim);
  if (isa<tensor::CollapseShapeOp>(op))
    return makeCollapsed(whole, dim);
  if (isa<tensor::ExtractSliceOp>(op))
    return makeSliced(whole, dim);
  if (isa<tensor::ConcatOp>(op))
    return makeJoined(whole, dim);
  if (isa<tensor::PadOp>(op))
    return makePadded(whole, dim);
  if (auto sum = dyn_cast<AllReduceOp>(op)) {
    // Over other axes: all of them have the same block.
    if (llvm::any_of(sum.getAxes(), [&](Attribute axis) {
          return llvm::is_contained(axes, axis);
        }))
      return {};
    Block block = find(sum.getOperand(), dim);
    if (!block.isGathered)
      return {};
    block.value = AllReduceOp::create(builder, loc, block.value.getType(),
                                      block.value, sum.getReductionAttr(),
                                      sum.getAxes(), mesh, sum.getCauseAttr());
    return block;
  }
  return {};
}

/// Whether all devices have the same.
bool DeviceBlocks::isSameForAll(Value value) const {
  Operation *maker = value.getDefiningOp();
  return uniform.contains(value) ||
         (maker && (maker->hasTrait<OpTrait::ConstantLike>() ||
                    isa<tensor::EmptyOp>(maker)));
}

/// For values that were not gathered: the block at the device's coordinate.
DeviceBlocks::Block DeviceBlocks::cut(Value whole, int64_t dim) {
  auto type = cast<RankedTensorType>(whole.getType());
  int64_t size = type.getDimSize(dim);
  if (size % devices != 0)
    return {};
  RankedTensorType block = resize(type, dim, size / devices);
  if (whole.getDefiningOp<tensor::EmptyOp>())
    return {tensor::EmptyOp::create(builder, loc, block.getShape(),
                                    block.getElementType())};
  DenseElementsAttr constant;
  if (matchPattern(whole, m_Constant(&constant)) && constant.isSplat())
    return {arith::ConstantOp::create(builder, loc, constant.resizeSplat(block))
                .getResult()};
  if (!isSameForAll(whole))
    return {};
  return {AllSliceOp::create(builder, loc, block, whole,
                             builder.getI64IntegerAttr(dim), axes, mesh,
                             StringAttr())
              .getResult()};
}

DeviceBlocks::Block DeviceBlocks::makeLinalg(OpResult whole, int64_t dim) {
  auto op = cast<linalg::LinalgOp>(whole.getOwner());
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      op.hasIndexSemantics())
    return {};
  OpOperand *init = op.getDpsInitOperand(0);
  auto loop =
      dyn_cast<AffineDimExpr>(op.getMatchingIndexingMap(init).getResult(dim));
  if (!loop || op.getIteratorTypesArray()[loop.getPosition()] !=
                   utils::IteratorType::parallel)
    return {};
  // Which dimension of each operand the loop runs along.
  SmallVector<std::pair<OpOperand *, int64_t>> cuts;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [number, expr] : llvm::enumerate(map.getResults())) {
      if (!expr.isFunctionOfDim(loop.getPosition()))
        continue;
      if (expr != loop)
        return {};
      cuts.push_back({&operand, number});
    }
    // Values that all elements depend on must be equal for all devices' blocks.
    if (!map.isFunctionOfDim(loop.getPosition()) &&
        !isSameForAll(operand.get()))
      return {};
  }
  // The gathered operands tell how large blocks are; the others are as large.
  Block made;
  SmallVector<Value> operands(op->getOperands());
  std::optional<int64_t> size;
  for (auto [operand, number] : cuts) {
    if (op.isDpsInit(operand) || sizeOf(operand->get(), number) == 0)
      continue;
    Block block = find(operand->get(), number);
    if (!block.value)
      return {};
    made.isGathered |= block.isGathered;
    operands[operand->getOperandNumber()] = block.value;
    int64_t extent = sizeOf(block.value, number);
    if (size && *size != extent)
      return {};
    size = extent;
  }
  if (!made.isGathered)
    return {};
  // The sum or map begins with something: empty, or the same everywhere.
  Value start = init->get();
  auto type = resize(cast<RankedTensorType>(start.getType()), dim, *size);
  Operation *maker = start.getDefiningOp();
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  DenseElementsAttr constant;
  if (!op.payloadUsesValueFromOperand(init) ||
      isa_and_nonnull<tensor::EmptyOp>(maker)) {
    start = empty;
  } else if (auto fill = dyn_cast_or_null<linalg::FillOp>(maker)) {
    start = linalg::FillOp::create(builder, loc, fill.getInputs(), empty)
                .getResult(0);
  } else if (matchPattern(start, m_Constant(&constant)) && constant.isSplat()) {
    start = arith::ConstantOp::create(builder, loc, constant.resizeSplat(type));
  } else {
    Block block = find(start, dim);
    if (!block.value || sizeOf(block.value, dim) != *size)
      return {};
    start = block.value;
  }
  operands[init->getOperandNumber()] = start;
  made.value =
      mlir::clone(builder, op.getOperation(), TypeRange(type), operands)
          ->getResult(0);
  return made;
}

/// One dimension becomes several; `dim` is the outermost that has more than one
/// element.
DeviceBlocks::Block DeviceBlocks::makeExpanded(Value whole, int64_t dim) {
  auto expand = whole.getDefiningOp<tensor::ExpandShapeOp>();
  auto type = expand.getResultType();
  SmallVector<ReassociationIndices> groups = expand.getReassociationIndices();
  for (auto [source, group] : llvm::enumerate(groups)) {
    if (!llvm::is_contained(group, dim))
      continue;
    int64_t inner = 1;
    for (int64_t other : group) {
      if (other < dim && type.getDimSize(other) != 1)
        return {};
      if (other > dim)
        inner *= type.getDimSize(other);
    }
    Block block = find(expand.getSrc(), source);
    if (!block.isGathered || inner == 0 ||
        sizeOf(block.value, source) % inner != 0)
      return {};
    block.value = tensor::ExpandShapeOp::create(
        builder, loc, resize(type, dim, sizeOf(block.value, source) / inner),
        block.value, expand.getReassociationIndices());
    return block;
  }
  return {};
}

/// Several dimensions become one; only one of them has more than one element.
DeviceBlocks::Block DeviceBlocks::makeCollapsed(Value whole, int64_t dim) {
  auto collapse = whole.getDefiningOp<tensor::CollapseShapeOp>();
  auto source = collapse.getSrcType();
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
  std::optional<int64_t> only;
  for (int64_t other : groups[dim])
    if (source.getDimSize(other) != 1) {
      if (only)
        return {};
      only = other;
    }
  if (!only)
    return {};
  Block block = find(collapse.getSrc(), *only);
  if (!block.isGathered)
    return {};
  block.value = tensor::CollapseShapeOp::create(
      builder, loc,
      resize(collapse.getResultType(), dim, sizeOf(block.value, *only)),
      block.value, groups);
  return block;
}

/// Other dimensions are sliced; of `dim` at most the padding of a gather is cut
/// off.
DeviceBlocks::Block DeviceBlocks::makeSliced(Value whole, int64_t dim) {
  auto slice = whole.getDefiningOp<tensor::ExtractSliceOp>();
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  int64_t source = -1;
  for (int64_t left = dim; left >= 0;)
    if (!dropped.test(++source))
      --left;
  if (slice.isDynamicOffset(source) || slice.isDynamicStride(source) ||
      slice.getStaticOffset(source) != 0 || slice.getStaticStride(source) != 1)
    return {};
  bool isWhole =
      slice.getStaticSize(source) == sizeOf(slice.getSource(), source);
  if (!isWhole && !slice.getSource().getDefiningOp<AllGatherOp>())
    return {};
  Block block = find(slice.getSource(), source);
  if (!block.isGathered)
    return {};
  RankedTensorType type =
      resize(slice.getResultType(), dim, sizeOf(block.value, source));
  if (type == block.value.getType() && slice.hasZeroOffset() &&
      slice.hasUnitStride())
    return block;
  SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
  sizes[source] = builder.getIndexAttr(sizeOf(block.value, source));
  block.value = tensor::ExtractSliceOp::create(builder, loc, type, block.value,
                                               slice.getMixedOffsets(), sizes,
                                               slice.getMixedStrides());
  return block;
}

DeviceBlocks::Block DeviceBlocks::makeJoined(Value whole, int64_t dim) {
  auto concat = whole.getDefiningOp<tensor::ConcatOp>();
  if (static_cast<int64_t>(concat.getDim()) == dim)
    return {};
  Block made;
  SmallVector<Value> parts;
  for (Value input : concat.getInputs()) {
    Block block = find(input, dim);
    if (!block.value ||
        (!parts.empty() && sizeOf(block.value, dim) != sizeOf(parts[0], dim)))
      return {};
    made.isGathered |= block.isGathered;
    parts.push_back(block.value);
  }
  if (!made.isGathered)
    return {};
  made.value = tensor::ConcatOp::create(builder, loc, concat.getDim(), parts);
  return made;
}

/// The elements after the last one along `dim` that blocks have room for.
DeviceBlocks::Block DeviceBlocks::makePadded(Value whole, int64_t dim) {
  auto pad = whole.getDefiningOp<tensor::PadOp>();
  if (!endsInPadding || !pad.hasZeroLowPad())
    return {};
  for (auto [number, size] : llvm::enumerate(pad.getStaticHigh()))
    if (size != 0 && static_cast<int64_t>(number) != dim)
      return {};
  Block block = find(pad.getSource(), dim);
  if (!block.isGathered ||
      sizeOf(block.value, dim) * devices != sizeOf(whole, dim))
    return {};
  return block;
}
