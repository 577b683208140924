//===- HaloWideningWriter.cpp - Ops on more rows --------------------------===//

#include "passes/halos/HaloWideningWriter.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/Utils/Slices.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

int64_t mlir::dist::getRowCount(Rows rows) {
  return typeOf(rows.first).getDimSize(rows.second);
}

Widths RowOperand::getWidths(Operation *op, int64_t resultDim,
                             Widths wanted) const {
  if (parts > 1)
    return {static_cast<int64_t>(llvm::divideCeil(wanted.low, parts)),
            static_cast<int64_t>(llvm::divideCeil(wanted.high, parts))};
  // Somewhere within the existing rows.
  if (!first)
    return {wanted.low * stride, wanted.high * stride};
  int64_t begin = *first - wanted.low * stride;
  int64_t count = getRowCount({op->getResult(0), resultDim});
  int64_t end = *first + (count + wanted.high - 1) * stride + extent;
  return {
      std::max<int64_t>(0, -begin),
      std::max<int64_t>(0, end - getRowCount({op->getOperand(number), dim}))};
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

namespace {
/// The bodies of loop nests: the result for a row must depend only on the row.
class BodyCheck {
public:
  BodyCheck(Block &body, unsigned loop, int64_t step, const DeviceLine &line)
      : body(body), loop(loop), step(step), line(line) {}

  bool isSameForAllRows();

private:
  /// An index: `rows` times that of the row, plus a part that moves by `moves`
  /// from device to device.
  struct Linear {
    int64_t rows = 0, moves = 0;
  };
  std::optional<Linear> get(Value value);

  Block &body;
  unsigned loop;
  int64_t step;
  const DeviceLine &line;
  llvm::SmallDenseMap<Value, Linear> known;
};
} // namespace

std::optional<BodyCheck::Linear> BodyCheck::get(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  Block *block = value.getParentBlock();
  if (block == &body || body.getParentOp()->isAncestor(block->getParentOp()))
    return Linear();
  if (line.isUniform(value) || matchPattern(value, m_Constant()))
    return Linear();
  if (!value.getType().isIndex())
    return std::nullopt;
  std::optional<int64_t> moves = line.getStep(value);
  return moves ? std::optional<Linear>({0, *moves}) : std::nullopt;
}

bool BodyCheck::isSameForAllRows() {
  for (Operation &op : body) {
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      if (index.getDim() == loop)
        known[index.getResult()] = {1, 0};
      continue;
    }
    // Rows that nobody has may hold anything: they are no places to read at.
    if (op.getNumRegions() != 0 ||
        (!op.hasTrait<OpTrait::IsTerminator>() && !isPure(&op)) ||
        llvm::any_of(op.getOperandTypes(), llvm::IsaPred<ShapedType>))
      return false;
    SmallVector<Linear, 3> operands;
    for (Value operand : op.getOperands()) {
      std::optional<Linear> linear = get(operand);
      if (!linear)
        return false;
      operands.push_back(*linear);
    }
    bool isIndex =
        op.getNumResults() == 1 && op.getResult(0).getType().isIndex();
    APInt number;
    if (isIndex && isa<arith::AddIOp, arith::SubIOp>(op)) {
      int64_t sign = isa<arith::AddIOp>(op) ? 1 : -1;
      known[op.getResult(0)] = {operands[0].rows + sign * operands[1].rows,
                                operands[0].moves + sign * operands[1].moves};
      continue;
    }
    if (isIndex && isa<arith::MulIOp>(op) &&
        matchPattern(op.getOperand(1), m_ConstantInt(&number))) {
      int64_t factor = number.getSExtValue();
      known[op.getResult(0)] = {operands[0].rows * factor,
                                operands[0].moves * factor};
      continue;
    }
    // An index of the whole dimension may be used in any way.
    for (const Linear &linear : operands)
      if (linear.moves != linear.rows * step)
        return false;
  }
  return true;
}

static std::optional<RowOperands> getLinalgRows(linalg::LinalgOp op,
                                                int64_t dim, int64_t step,
                                                const DeviceLine &line,
                                                std::string &why) {
  auto refuse = [&](const Twine &what) {
    why = what.str();
    return std::nullopt;
  };
  if (op->getNumResults() != 1 || !op.hasPureTensorSemantics() ||
      op->getNumRegions() != 1)
    return refuse("has several results");
  AffineMap out = op.getIndexingMapsArray().back();
  auto loop = dyn_cast<AffineDimExpr>(out.getResult(dim));
  if (!loop || !out.isProjectedPermutation() ||
      op.getIteratorTypesArray()[loop.getPosition()] !=
          utils::IteratorType::parallel)
    return refuse("adds rows up");
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  RowOperands operands;
  for (OpOperand &use : op->getOpOperands()) {
    bool isInit = op.isDpsInit(&use);
    if (isInit && !op.payloadUsesValueFromOperand(&use))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&use);
    bool hasRows = false;
    for (auto [place, expr] : llvm::enumerate(map.getResults())) {
      if (!expr.isFunctionOfDim(loop.getPosition()))
        continue;
      SmallVector<int64_t> flat;
      if (hasRows ||
          failed(getFlattenedAffineExpr(expr, map.getNumDims(), 0, &flat)) ||
          flat.size() != map.getNumDims() + 1 || flat.back() < 0)
        return refuse("reads rows that are not in windows");
      RowOperand operand{use.getOperandNumber(), static_cast<int64_t>(place)};
      operand.stride = flat[loop.getPosition()];
      operand.extent += flat.back();
      for (unsigned other = 0; other < map.getNumDims(); ++other) {
        if (flat[other] < 0 ||
            (flat[other] > 0 && ShapedType::isDynamic(ranges[other])))
          return refuse("reads rows that are not in windows");
        if (other != loop.getPosition())
          operand.extent +=
              flat[other] * std::max<int64_t>(ranges[other] - 1, 0);
      }
      operands.push_back(operand);
      hasRows = true;
    }
    if (!hasRows && !line.isUniform(use.get()))
      return refuse("reads what differs from device to device");
  }
  if (!BodyCheck(*op.getBlock(), loop.getPosition(), step, line)
           .isSameForAllRows())
    return refuse("does not do the same to all rows");
  return operands;
}

/// The position of dimension `dim` of the wide side of a reshape in its group.
/// It is the first, not counting dimensions of size 1. Also returns the number
/// of elements behind it.
static std::optional<int64_t> getParts(ArrayRef<int64_t> group,
                                       RankedTensorType wide, int64_t dim) {
  int64_t parts = 1;
  bool isBehind = false;
  for (int64_t d : group) {
    if (d == dim)
      isBehind = true;
    else if (isBehind)
      parts *= wide.getDimSize(d);
    else if (wide.getDimSize(d) != 1)
      return std::nullopt;
  }
  return parts;
}

static std::optional<RowOperands> getReshapeRows(Operation *op, int64_t dim,
                                                 std::string &why) {
  why = "merges rows with other dimensions";
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (auto [narrow, group] :
         llvm::enumerate(expand.getReassociationIndices()))
      if (llvm::is_contained(group, dim))
        if (std::optional<int64_t> parts =
                getParts(group, expand.getResultType(), dim);
            parts && *parts > 0) {
          RowOperand operand{0, static_cast<int64_t>(narrow)};
          operand.stride = operand.extent = *parts;
          return RowOperands{operand};
        }
    return std::nullopt;
  }
  auto collapse = cast<tensor::CollapseShapeOp>(op);
  SmallVector<int64_t, 2> group = collapse.getReassociationIndices()[dim];
  // The first that is no unit is the one of rows.
  for (int64_t wide : group)
    if (collapse.getSrcType().getDimSize(wide) != 1 || wide == group.back()) {
      std::optional<int64_t> parts =
          getParts(group, collapse.getSrcType(), wide);
      if (!parts || *parts == 0)
        return std::nullopt;
      RowOperand operand{0, wide};
      operand.parts = *parts;
      return RowOperands{operand};
    }
  return std::nullopt;
}

static std::optional<RowOperands> getSliceRows(tensor::ExtractSliceOp slice,
                                               int64_t dim,
                                               const DeviceLine &line,
                                               std::string &why) {
  why = "takes a part that differs from device to device";
  if (slice.getSourceType().getRank() != slice.getType().getRank())
    return std::nullopt;
  RowOperand operand{0, dim};
  for (auto [d, offset] : llvm::enumerate(slice.getMixedOffsets())) {
    auto value = dyn_cast<Value>(offset);
    if (static_cast<int64_t>(d) != dim) {
      if (value && !line.isUniform(value))
        return std::nullopt;
      continue;
    }
    if (!value) {
      operand.first = slice.getStaticOffset(d);
      continue;
    }
    std::optional<int64_t> moves = line.getStep(value);
    if (!moves)
      return std::nullopt;
    operand.first.reset();
    operand.moves = *moves;
  }
  if (!llvm::all_of(slice.getSizes(),
                    [&](Value v) { return line.isUniform(v); }) ||
      ShapedType::isDynamicShape(slice.getStaticStrides()))
    return std::nullopt;
  operand.stride = slice.getStaticStride(dim);
  return RowOperands{operand};
}

std::optional<RowOperands> mlir::dist::getRowOperands(Operation *op,
                                                      int64_t dim, int64_t step,
                                                      const DeviceLine &line,
                                                      std::string &why) {
  why = "mixes rows";
  if (op->getNumResults() != 1 ||
      !llvm::all_of(op->getOperands(),
                    [](Value operand) {
                      auto type = dyn_cast<RankedTensorType>(operand.getType());
                      return !type || type.hasStaticShape();
                    }) ||
      !typeOf(op->getResult(0)).hasStaticShape())
    return std::nullopt;
  auto onlyRows = [&](unsigned operands) {
    RowOperands out;
    for (unsigned number = 0; number < operands; ++number)
      out.push_back({number, dim});
    return out;
  };
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return getLinalgRows(linalgOp, dim, step, line, why);
  if (isa<tensor::EmptyOp>(op))
    return RowOperands();
  if (matchPattern(op, m_Constant())) {
    SplatElementsAttr splat;
    if (matchPattern(op, m_Constant(&splat)))
      return RowOperands();
    why = "has other numbers in each row";
    return std::nullopt;
  }
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return getReshapeRows(op, dim, why);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return getSliceRows(slice, dim, line, why);
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    why = "pads each device's rows";
    Value filler = pad.getConstantPaddingValue();
    if (pad.getStaticLow()[dim] != 0 || pad.getStaticHigh()[dim] != 0 ||
        !filler ||
        !(pad->isAncestor(filler.getParentBlock()->getParentOp()) ||
          line.isUniform(filler)))
      return std::nullopt;
    return onlyRows(1);
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    why = "puts rows of several tensors together";
    if (static_cast<int64_t>(concat.getDim()) == dim)
      return std::nullopt;
    return onlyRows(op->getNumOperands());
  }
  if (auto exchange = dyn_cast<HaloExchangeOp>(op)) {
    why = "exchanges rows along the same devices";
    if (static_cast<int64_t>(exchange.getDim()) == dim ||
        line.isCrossedBy(getAxisRefs(exchange.getAxes())))
      return std::nullopt;
    return onlyRows(1);
  }
  if (op->hasTrait<OpTrait::Elementwise>() && isPure(op) &&
      llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>))
    return onlyRows(op->getNumOperands());
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Rows of the body count from the first of the wider result.
static void moveIndices(OpBuilder &b, linalg::LinalgOp op, int64_t dim,
                        int64_t low) {
  if (low == 0)
    return;
  auto loop =
      cast<AffineDimExpr>(op.getIndexingMapsArray().back().getResult(dim));
  OpBuilder::InsertionGuard guard(b);
  op->walk([&](linalg::IndexOp index) {
    if (index.getDim() != loop.getPosition())
      return;
    b.setInsertionPointAfter(index);
    Value less = arith::ConstantIndexOp::create(b, index.getLoc(), low);
    Value moved = arith::SubIOp::create(b, index.getLoc(), index, less);
    index.getResult().replaceAllUsesExcept(moved, moved.getDefiningOp());
  });
}

Value mlir::dist::writeWider(
    OpBuilder &b, Operation *op, int64_t dim, const RowOperands &operands,
    Widths widths, function_ref<Value(const RowOperand &, Widths)> take) {
  Location loc = op->getLoc();
  RankedTensorType type = typeOf(op->getResult(0));
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] += widths.getSum();
  type = type.clone(shape);
  SmallVector<Value> values(op->getOperands());
  for (const RowOperand &operand : operands)
    values[operand.number] = take(operand, operand.getWidths(op, dim, widths));
  auto finish = [&](Operation *made) {
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return made->getResult(0);
  };
  if (isa<tensor::EmptyOp>(op))
    return finish(
        tensor::EmptyOp::create(b, loc, shape, type.getElementType()));
  if (SplatElementsAttr splat; matchPattern(op, m_Constant(&splat)))
    return finish(arith::ConstantOp::create(b, loc, splat.resizeSplat(type)));
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return finish(tensor::ExpandShapeOp::create(
        b, loc, type, values[0], expand.getReassociationIndices()));
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    Value all = finish(tensor::CollapseShapeOp::create(
        b, loc, values[0], collapse.getReassociationIndices()));
    int64_t before = operands[0].getWidths(op, dim, widths).low;
    return sliceAlong(b, loc, all, dim, before * operands[0].parts - widths.low,
                   shape[dim]);
  }
  Operation *wider = b.clone(*op);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(wider)) {
    SmallVector<int64_t> sizes(slice.getStaticSizes()),
        offsets(slice.getStaticOffsets());
    sizes[dim] += widths.getSum();
    if (operands[0].first)
      offsets[dim] += operands[0].getWidths(op, dim, widths).low -
                      widths.low * operands[0].stride;
    slice.setStaticSizes(sizes);
    slice.setStaticOffsets(offsets);
  }
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(wider)) {
    OpOperand *init = linalgOp.getDpsInitOperand(0);
    if (!linalgOp.payloadUsesValueFromOperand(init)) {
      OpBuilder before(wider);
      values[init->getOperandNumber()] =
          tensor::EmptyOp::create(before, loc, shape, type.getElementType());
    }
    moveIndices(b, linalgOp, dim, widths.low);
  }
  wider->setOperands(values);
  wider->getResult(0).setType(type);
  return wider->getResult(0);
}
