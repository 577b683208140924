//===- JoinedColumns.cpp - Elementwise ops and reductions of two parts ----===//

#include "passes/attention/JoinedColumns.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/DeadOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/Matchers.h"
#include "passes/attention/Product.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Values whose dimension has `columns` elements and one more.
class Separation {
public:
  explicit Separation(tensor::ConcatOp concat)
      : concat(concat),
        columns(cast<RankedTensorType>(concat.getInputs()[0].getType())
                    .getDimSize(concat.getDim())) {}
  /// Whether all that is computed of them can be computed of the parts.
  bool find();
  /// Returns the ops that were erased.
  DenseSet<Operation *> rewrite();

private:
  bool visit(OpOperand &use, int64_t dim);
  bool visitLoops(linalg::LinalgOp op, OpOperand &use, int64_t dim);
  /// Whether a value can be had in parts along that dimension.
  bool hasParts(Value value, int64_t dim);
  bool isZeroBehind(Value value, int64_t dim);
  Value getPart(Value value, int64_t dim, bool isLast);
  Value makePart(Value value, int64_t dim, bool isLast);
  /// The op on parts of what it reads along the loop.
  Operation *cloneLoops(linalg::LinalgOp op, unsigned loop, bool isLast);
  Value reduce(linalg::LinalgOp op);

  tensor::ConcatOp concat;
  int64_t columns;
  /// The joined values, and their dimension.
  llvm::MapVector<Value, int64_t> joined;
  SmallVector<tensor::ExtractSliceOp> slices;
  SmallVector<linalg::LinalgOp> reductions;
  DenseMap<std::pair<Value, int64_t>, bool> known;
  DenseMap<std::pair<Value, unsigned>, Value> parts;
};
} // namespace

/// The loop that a dimension of the operand is read along.
static std::optional<unsigned> getLoop(linalg::LinalgOp op, OpOperand &operand,
                                       int64_t dim) {
  auto expr = dyn_cast<AffineDimExpr>(
      op.getMatchingIndexingMap(&operand).getResult(dim));
  return expr ? std::optional<unsigned>(expr.getPosition()) : std::nullopt;
}

/// The dimension of the operand that is read along the loop, if any.
static std::optional<int64_t> getDim(linalg::LinalgOp op, OpOperand &operand,
                                     unsigned loop) {
  if (!isa<RankedTensorType>(operand.get().getType()))
    return std::nullopt;
  std::optional<unsigned> place =
      op.getMatchingIndexingMap(&operand).getResultPosition(
          getAffineDimExpr(loop, op.getContext()));
  return place ? std::optional<int64_t>(*place) : std::nullopt;
}

/// Whether each element is one of each operand, at most.
static bool isPlain(linalg::LinalgOp op) {
  return op.hasPureTensorSemantics() && op->getNumResults() == 1 &&
         op.getDpsInits().size() == 1 && isa<linalg::GenericOp>(op) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation(/*allowZeroInResults=*/true);
         });
}

static bool computesElements(linalg::LinalgOp op) {
  return isPlain(op) && op.getNumParallelLoops() == op.getNumLoops() &&
         op.getIndexingMapsArray().back().isPermutation() &&
         !op.payloadUsesValueFromOperand(op.getDpsInitOperand(0));
}

/// The op that adds to, or compares with, what a reduction has so far.
static Operation *getCombine(linalg::LinalgOp op) {
  Block &body = *op.getBlock();
  Operation *combine = body.getTerminator()->getOperand(0).getDefiningOp();
  BlockArgument out = body.getArguments().back();
  return isa_and_nonnull<arith::AddFOp, arith::MaximumFOp, arith::MaxNumFOp>(
             combine) &&
                 combine->getBlock() == &body && out.hasOneUse() &&
                 llvm::is_contained(combine->getOperands(), out)
             ? combine
             : nullptr;
}

bool Separation::hasParts(Value value, int64_t dim) {
  auto [entry, isNew] = known.try_emplace({value, dim}, false);
  if (!isNew)
    return entry->second;
  bool has = false;
  Operation *op = value.getDefiningOp();
  auto type = cast<RankedTensorType>(value.getType());
  if (!op || !type.hasStaticShape() || type.getDimSize(dim) != columns + 1) {
    // No such value.
  } else if (auto join = dyn_cast<tensor::ConcatOp>(op)) {
    has =
        static_cast<int64_t>(join.getDim()) == dim &&
        join.getNumOperands() == 2 &&
        cast<RankedTensorType>(join.getInputs()[0].getType()).getDimSize(dim) ==
            columns;
  } else if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    SmallVector<int64_t> high(type.getRank(), 0);
    high[dim] = 1;
    has =
        pad.getConstantPaddingValue() &&
        pad.getStaticHigh() == ArrayRef(high) &&
        llvm::all_of(pad.getStaticLow(), [](int64_t low) { return low == 0; });
  } else if (auto follow = dyn_cast<FollowOp>(op)) {
    has = hasParts(follow.getOperand(), dim);
  } else if (isa<linalg::FillOp>(op)) {
    has = true;
  } else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
             linalgOp && computesElements(linalgOp)) {
    std::optional<unsigned> loop =
        getLoop(linalgOp, *linalgOp.getDpsInitOperand(0), dim);
    has =
        loop && llvm::all_of(linalgOp.getDpsInputOperands(), [&](auto *input) {
          std::optional<int64_t> along = getDim(linalgOp, *input, *loop);
          return !along || hasParts(input->get(), *along);
        });
  }
  return known[{value, dim}] = has;
}

bool Separation::visitLoops(linalg::LinalgOp op, OpOperand &use, int64_t dim) {
  if (!isPlain(op) || !op.isDpsInput(&use))
    return false;
  std::optional<unsigned> loop = getLoop(op, use, dim);
  if (!loop)
    return false;
  for (OpOperand *input : op.getDpsInputOperands())
    if (std::optional<int64_t> along = getDim(op, *input, *loop);
        along && !hasParts(input->get(), *along))
      return false;
  if (computesElements(op)) {
    joined.insert(
        {op->getResult(0), *getDim(op, *op.getDpsInitOperand(0), *loop)});
    return true;
  }
  if (op.getNumReductionLoops() != 1 ||
      op.getIteratorTypesArray()[*loop] != utils::IteratorType::reduction ||
      !getCombine(op) || !getFilled(op.getDpsInits()[0]) ||
      op.hasIndexSemantics())
    return false;
  if (!llvm::is_contained(reductions, op))
    reductions.push_back(op);
  return true;
}

bool Separation::visit(OpOperand &use, int64_t dim) {
  Operation *user = use.getOwner();
  if (isOpTriviallyDead(user))
    return true;
  if (isa<FollowOp>(user)) {
    // A leader says where another value is, and is not read.
    if (use.getOperandNumber() == 0)
      joined.insert({user->getResult(0), dim});
    return true;
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user)) {
    ArrayRef<int64_t> offsets = slice.getStaticOffsets(),
                      sizes = slice.getStaticSizes();
    if (!slice.hasUnitStride() || ShapedType::isDynamicShape(offsets) ||
        ShapedType::isDynamicShape(sizes) ||
        (offsets[dim] < columns && offsets[dim] + sizes[dim] > columns))
      return false;
    slices.push_back(slice);
    return true;
  }
  auto op = dyn_cast<linalg::LinalgOp>(user);
  return op && visitLoops(op, use, dim);
}

bool Separation::find() {
  joined.insert({concat.getResult(), concat.getDim()});
  for (size_t next = 0; next < joined.size(); ++next) {
    auto [value, dim] = *(joined.begin() + next);
    for (OpOperand &use : value.getUses())
      if (!visit(use, dim))
        return false;
  }
  return !slices.empty() && !reductions.empty();
}

bool Separation::isZeroBehind(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  if (auto follow = dyn_cast<FollowOp>(op))
    return isZeroBehind(follow.getOperand(), dim);
  Value filler;
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    filler = pad.getConstantPaddingValue();
  else if (auto join = dyn_cast<tensor::ConcatOp>(op))
    filler = getFilled(join.getInputs()[1]);
  else
    filler = getFilled(value);
  return filler && matchPattern(filler, m_AnyZeroFloat());
}

static Value createFill(OpBuilder &b, Location loc, Value number,
                        RankedTensorType type) {
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  return linalg::FillOp::create(b, loc, number, empty).getResult(0);
}

Operation *Separation::cloneLoops(linalg::LinalgOp op, unsigned loop,
                                  bool isLast) {
  OpBuilder b(op);
  b.setInsertionPointAfter(op);
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    std::optional<int64_t> dim = getDim(op, operand, loop);
    if (!dim) {
      operands.push_back(operand.get());
    } else if (op.isDpsInput(&operand)) {
      operands.push_back(getPart(operand.get(), *dim, isLast));
    } else {
      auto type = cast<RankedTensorType>(operand.get().getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[*dim] = isLast ? 1 : columns;
      operands.push_back(tensor::EmptyOp::create(b, op.getLoc(), shape,
                                                 type.getElementType()));
    }
  }
  Operation *copy = clone(b, op, operands.back().getType(), operands);
  if (isLast)
    for (auto index : llvm::to_vector(
             copy->getRegion(0).front().getOps<linalg::IndexOp>())) {
      if (index.getDim() != loop)
        continue;
      b.setInsertionPointAfter(index);
      Value first = arith::ConstantIndexOp::create(b, op.getLoc(), columns);
      Value sum = arith::AddIOp::create(b, op.getLoc(), index, first);
      index.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
    }
  return copy;
}

Value Separation::makePart(Value value, int64_t dim, bool isLast) {
  Operation *op = value.getDefiningOp();
  OpBuilder b(op);
  b.setInsertionPointAfter(op);
  if (auto join = dyn_cast<tensor::ConcatOp>(op))
    return join.getInputs()[isLast];
  if (auto follow = dyn_cast<FollowOp>(op))
    return getPart(follow.getOperand(), dim, isLast);
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = isLast ? 1 : columns;
  RankedTensorType part = type.clone(shape);
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    if (!isLast)
      return pad.getSource();
    Value number = pad.getConstantPaddingValue();
    if (Operation *inside = number.getDefiningOp();
        inside && pad->isProperAncestor(inside))
      number = b.clone(*inside)->getResult(0);
    return createFill(b, op->getLoc(), number, part);
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return createFill(b, op->getLoc(), fill.getInputs()[0], part);
  auto loops = cast<linalg::LinalgOp>(op);
  unsigned loop = *getLoop(loops, *loops.getDpsInitOperand(0), dim);
  return cloneLoops(loops, loop, isLast)->getResult(0);
}

Value Separation::getPart(Value value, int64_t dim, bool isLast) {
  Value known = parts.lookup({value, unsigned(isLast)});
  if (known)
    return known;
  Value made = makePart(value, dim, isLast);
  return parts[{value, unsigned(isLast)}] = made;
}

/// The tensor without a dimension of one element.
static Value dropUnit(OpBuilder &b, Location loc, Value tensor, int64_t dim) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d < rank; ++d)
    if (groups.empty() || (d != dim && !(dim == 0 && d == 1)))
      groups.push_back({d});
    else
      groups.back().push_back(d);
  if (rank == 1)
    groups.clear();
  return tensor::CollapseShapeOp::create(b, loc, tensor, groups);
}

/// The reduction of the columns, and then of it and the last one.
Value Separation::reduce(linalg::LinalgOp op) {
  unsigned loop = 0;
  for (auto [number, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      loop = number;
  Operation *combine = getCombine(op);
  BlockArgument out = op.getBlock()->getArguments().back();
  Value term = combine->getOperand(combine->getOperand(0) == out);
  auto product = term.getDefiningOp<arith::MulFOp>();
  bool addsZero =
      isa<arith::AddFOp>(combine) && product &&
      llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
        std::optional<int64_t> dim = getDim(op, *input, loop);
        return dim &&
               llvm::is_contained(product->getOperands(),
                                  op.getMatchingBlockArgument(input)) &&
               isZeroBehind(input->get(), *dim);
      });
  Value columnsAlone = cloneLoops(op, loop, /*isLast=*/false)->getResult(0);
  // What is finite, times zero, adds nothing.
  if (addsZero)
    return columnsAlone;
  OpBuilder b(op);
  b.setInsertionPointAfterValue(columnsAlone);
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  // The body once more, with the last column, where the reduction's loop is
  // gone.
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<AffineExpr> loops;
  for (unsigned number = 0; number < op.getNumLoops(); ++number)
    loops.push_back(number == loop
                        ? getAffineConstantExpr(0, context)
                        : getAffineDimExpr(number - (number > loop), context));
  auto withoutLoop = [&](AffineMap map) {
    return map.replaceDimsAndSymbols(loops, {}, op.getNumLoops() - 1, 0);
  };
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    Value value = input->get();
    if (std::optional<int64_t> dim = getDim(op, *input, loop)) {
      value = dropUnit(b, loc, getPart(value, *dim, /*isLast=*/true), *dim);
      map = map.dropResult(*dim);
    }
    inputs.push_back(value);
    maps.push_back(withoutLoop(map));
  }
  AffineMap outMap = withoutLoop(op.getIndexingMapsArray().back());
  inputs.push_back(columnsAlone);
  maps.append({outMap, outMap});
  auto type = cast<RankedTensorType>(columnsAlone.getType());
  Value init =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  SmallVector<utils::IteratorType> kinds(op.getNumLoops() - 1,
                                         utils::IteratorType::parallel);
  auto both = linalg::GenericOp::create(
      b, loc, type, inputs, init, maps, kinds,
      [&](OpBuilder &inner, Location, ValueRange args) {
        IRMapping mapping;
        for (auto [old, made] : llvm::zip(op.getBlock()->getArguments(), args))
          mapping.map(old, made);
        for (Operation &scalar : op.getBlock()->without_terminator())
          inner.clone(scalar, mapping);
        linalg::YieldOp::create(
            inner, loc,
            mapping.lookup(op.getBlock()->getTerminator()->getOperand(0)));
      });
  both->setDiscardableAttrs(llvm::to_vector(op->getDiscardableAttrs()));
  return both.getResult(0);
}

DenseSet<Operation *> Separation::rewrite() {
  for (linalg::LinalgOp op : reductions)
    op->getResult(0).replaceAllUsesWith(reduce(op));
  for (tensor::ExtractSliceOp slice : slices) {
    int64_t dim = joined.lookup(slice.getSource());
    bool isLast = slice.getStaticOffsets()[dim] >= columns;
    Value part = getPart(slice.getSource(), dim, isLast);
    if (part.getType() != slice.getType()) {
      OpBuilder b(slice);
      SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
      if (isLast)
        offsets[dim] = b.getIndexAttr(slice.getStaticOffsets()[dim] - columns);
      auto made = tensor::ExtractSliceOp::create(
          b, slice.getLoc(), slice.getType(), part, offsets,
          slice.getMixedSizes(), slice.getMixedStrides());
      made->setDiscardableAttrs(llvm::to_vector(slice->getDiscardableAttrs()));
      part = made;
    }
    slice.getResult().replaceAllUsesWith(part);
  }
  SmallVector<Operation *> left(reductions.begin(), reductions.end());
  left.append(slices.begin(), slices.end());
  for (auto [value, dim] : joined)
    if (Operation *maker = value.getDefiningOp())
      left.push_back(maker);
  return eraseDead(left);
}

void mlir::dist::separateJoinedColumns(ModuleOp module) {
  SmallVector<tensor::ConcatOp> found;
  module.walk([&](tensor::ConcatOp concat) {
    auto type = concat.getResultType();
    if (concat.getNumOperands() != 2 || !type.hasStaticShape())
      return;
    auto last = cast<RankedTensorType>(concat.getInputs()[1].getType());
    if (last.getDimSize(concat.getDim()) == 1 &&
        type.getDimSize(concat.getDim()) > 2)
      found.push_back(concat);
  });
  DenseSet<Operation *> erased;
  for (tensor::ConcatOp concat : found) {
    if (erased.contains(concat))
      continue;
    Separation separation(concat);
    if (separation.find())
      erased.insert_range(separation.rewrite());
  }
}
