//===- SoftmaxAdjoints.cpp - The adjoint of softmax -----------------------===//
//
// For y = exp(x) / sum of exp(x) along rows, the cotangent of x is
//
//   dx = y (dy - sum of dy y)
//
// which depends only on y. The largest x of each row, which is subtracted
// before, has no influence: its derivative is zero. Exports write softmax as
// its parts. Op by op, their adjoints would read x and the numerators again and
// create eight tensors of the size of y, most of them for the largest x.
//
// A row that a mask excludes completely is NaN. Exports of attention replace it
// by 0. Then its cotangent is zero, as in PyTorch; the formula with y would
// make NaN of it and of all parameters. If y is also used without that
// replacement, it stays NaN.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/attention/AttentionMatch.h"
#include "passes/differentiate/Models.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether `condition`, in the body of the op that uses `y`, says whether the
/// same element of it is NaN: there, or in an op before.
static bool asksForNan(Value condition, OpOperand &y) {
  auto op = cast<linalg::LinalgOp>(y.getOwner());
  auto argument = dyn_cast<BlockArgument>(condition);
  if (!argument)
    return isNanTest(condition, op.getMatchingBlockArgument(&y));
  if (argument.getOwner() != op.getBlock())
    return false;
  OpOperand *mask = op.getMatchingOpOperand(argument);
  auto maker = mask->get().getDefiningOp<linalg::LinalgOp>();
  if (!maker || maker->getNumResults() != 1 || !maker.isAllParallelLoops() ||
      op.getMatchingIndexingMap(mask) != op.getMatchingIndexingMap(&y))
    return false;
  Value isNan = maker.getBlock()->getTerminator()->getOperand(0);
  return llvm::any_of(maker->getOpOperands(), [&](OpOperand &tested) {
    return tested.get() == y.get() &&
           maker.getMatchingIndexingMap(&tested) ==
               maker.getIndexingMapsArray().back() &&
           isNanTest(isNan, maker.getMatchingBlockArgument(&tested));
  });
}

/// The only op of a body, if the body yields what it makes.
template <typename OpTy> static OpTy getOnlyOp(linalg::LinalgOp op) {
  auto only = op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  return only && llvm::hasSingleElement(op.getBlock()->without_terminator())
             ? dyn_cast<OpTy>(only)
             : OpTy();
}

/// A linalg op with one result, made for each iteration of its loops.
static linalg::LinalgOp getMap(Value value) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  return op && op->getNumResults() == 1 &&
                 op.getNumLoops() == op.getNumParallelLoops() &&
                 op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity()
             ? op
             : linalg::LinalgOp();
}

/// Whether the op rounds the elements of its only operand, or widens them.
static bool isCast(linalg::LinalgOp op) {
  return op.getNumDpsInputs() == 1 && getMap(op->getResult(0)) &&
         op.getIndexingMapsArray().front().isIdentity() &&
         (getOnlyOp<arith::TruncFOp>(op) || getOnlyOp<arith::ExtFOp>(op));
}

/// Whether all that uses `y` forward takes something else where it is NaN.
static bool isReplacedWhereNan(Value y) {
  bool isReplaced = false;
  for (OpOperand &use : y.getUses()) {
    if (use.getOwner()->hasAttr(kBackwardAttr))
      continue;
    auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
    if (!op || !op.hasPureTensorSemantics())
      return false;
    if (isCast(op)) {
      if (!isReplacedWhereNan(op->getResult(0)))
        return false;
      isReplaced = true;
      continue;
    }
    BlockArgument element = op.getMatchingBlockArgument(&use);
    for (Operation *user : element.getUsers()) {
      if (user->getNumResults() == 1 && isNanTest(user->getResult(0), element))
        continue;
      auto select = dyn_cast<arith::SelectOp>(user);
      if (!select || select.getTrueValue() == element ||
          select.getFalseValue() != element ||
          !asksForNan(select.getCondition(), use))
        return false;
      isReplaced = true;
    }
  }
  return isReplaced;
}

void mlir::dist::addSoftmaxAdjoint(OpBuilder &b, Location loc, Value x, Value y,
                                   unsigned row, Adjoints &adjoints) {
  Value cotangent = adjoints.lookup(y);
  bool isGuarded = isReplacedWhereNan(y);
  auto type = cast<RankedTensorType>(y.getType());
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  AffineMap rows = all.dropResult(row);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, y);
  Value like = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
  sizes.erase(sizes.begin() + row);
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
  Value sums = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  SmallVector<utils::IteratorType> reduced(type.getRank(),
                                           utils::IteratorType::parallel);
  reduced[row] = utils::IteratorType::reduction;
  sums = linalg::GenericOp::create(
             b, loc, sums.getType(), ValueRange{cotangent, y}, sums,
             ArrayRef<AffineMap>{all, all, rows}, reduced,
             [](OpBuilder &b, Location loc, ValueRange args) {
               Value product = arith::MulFOp::create(b, loc, args[0], args[1]);
               Value sum = arith::AddFOp::create(b, loc, args[2], product);
               linalg::YieldOp::create(b, loc, sum);
             })
             .getResult(0);
  auto made = createParallelLoops(
      b, loc, {cotangent, y, sums}, {all, all, rows}, like,
      [&](OpBuilder &b, Location loc, ValueRange args) -> SmallVector<Value> {
        Value less = arith::SubFOp::create(b, loc, args[0], args[2]);
        Value product = arith::MulFOp::create(b, loc, args[1], less);
        if (isGuarded) {
          Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO,
                                              args[1], args[1]);
          product = arith::SelectOp::create(b, loc, isNan, zero, product);
        }
        return {product};
      });
  adjoints.add(b, loc, x, made.getResult(0));
}

/// The operand that a body's argument stands for, if it has one element for
/// each iteration, or with `row` one for each but those along it.
static Value getOperand(linalg::LinalgOp op, Value value,
                        std::optional<unsigned> row = std::nullopt) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBlock() ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return {};
  OpOperand *operand = op.getDpsInputOperand(argument.getArgNumber());
  AffineMap map = op.getMatchingIndexingMap(operand);
  AffineMap wanted =
      AffineMap::getMultiDimIdentityMap(op.getNumLoops(), op.getContext());
  if (row)
    wanted = wanted.dropResult(*row);
  return map == wanted ? operand->get() : Value();
}

/// Whether `sums` are those of `terms` along one dimension, and which.
static std::optional<unsigned> getSummedDim(Value sums, Value terms) {
  auto op = sums.getDefiningOp<linalg::LinalgOp>();
  if (!op || op->getNumResults() != 1 || op.getNumReductionLoops() != 1)
    return std::nullopt;
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  auto add = getOnlyOp<arith::AddFOp>(op);
  OpOperand *init = op.getDpsInitOperand(0);
  auto fill = init->get().getDefiningOp<linalg::FillOp>();
  if (!add || !fill || !matchPattern(fill.value(), m_AnyZeroFloat()) ||
      op.getMatchingIndexingMap(init) !=
          AffineMap::getMultiDimIdentityMap(op.getNumLoops(), op.getContext())
              .dropResult(reduced.front()))
    return std::nullopt;
  Value out = op.getMatchingBlockArgument(init), term = add.getLhs();
  if (term == out)
    term = add.getRhs();
  else if (add.getRhs() != out)
    return std::nullopt;
  if (getOperand(op, term) != terms)
    return std::nullopt;
  return reduced.front();
}

bool mlir::dist::addSoftmaxAdjoint(linalg::LinalgOp op, OpBuilder &b,
                                   Adjoints &adjoints) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      getMap(op->getResult(0)) != op)
    return false;
  auto divide = getOnlyOp<arith::DivFOp>(op);
  Value powers = divide ? getOperand(op, divide.getLhs()) : Value();
  if (!powers)
    return false;
  // The quotient by the numerators' sums.
  auto sums = dyn_cast<BlockArgument>(divide.getRhs());
  if (!sums || sums.getOwner() != op.getBlock() ||
      sums.getArgNumber() >= op.getNumDpsInputs())
    return false;
  std::optional<unsigned> row =
      getSummedDim(op.getDpsInputOperand(sums.getArgNumber())->get(), powers);
  if (!row || !getOperand(op, sums, row))
    return false;
  // The numerators, and the values that they are computed from.
  linalg::LinalgOp numerator = getMap(powers);
  if (!numerator)
    return false;
  Value yielded = numerator.getBlock()->getTerminator()->getOperand(0);
  auto exp = yielded.getDefiningOp<math::ExpOp>();
  if (!exp)
    return false;
  auto less = exp.getOperand().getDefiningOp<arith::SubFOp>();
  Value x = getOperand(numerator, less ? less.getLhs() : exp.getOperand());
  if (less && !getOperand(numerator, less.getRhs(), row))
    return false;
  if (!less && x) {
    if (linalg::LinalgOp before = getMap(x))
      if (auto only = getOnlyOp<arith::SubFOp>(before))
        if (getOperand(before, only.getRhs(), row))
          if (Value minuend = getOperand(before, only.getLhs()))
            x = minuend;
  }
  if (!x || !adjoints.isActive(x))
    return false;
  addSoftmaxAdjoint(b, op.getLoc(), x, op->getResult(0), *row, adjoints);
  return true;
}
