//===- LinalgAccumulators.cpp - Adjoints of reductions --------------------===//
// The cotangent of a sum reaches all iterations alike. That of a maximum or
// minimum reaches those that attain it. In a window, and if its position is
// found as well (dist.first), it is the first one; else all get the same share
// (PyTorch's max_pool, max and amax). In a product, each factor gets the
// product of the others. If a value is overwritten, the last one counts.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/differentiate/LinalgAdjoint.h"

using namespace mlir;
using namespace mlir::dist;

/// The number of this iteration among those of one element of the result.
Value LinalgAdjoint::createLocation(OpBuilder &b) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  Value number;
  for (unsigned loop : reductionLoops) {
    Value index = linalg::IndexOp::create(b, loc, loop);
    if (number) {
      Value size = arith::ConstantIndexOp::create(b, loc, ranges[loop]);
      number = arith::MulIOp::create(b, loc, number, size);
      index = arith::AddIOp::create(b, loc, number, index);
    }
    number = index;
  }
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), number);
}

/// How a result goes on from one iteration to the next.
LinalgAdjoint::Step LinalgAdjoint::findStep(OpResult result, Value yielded) {
  Value out = getOut(result);
  Operation *combiner = yielded.getDefiningOp();
  if (!combiner || combiner->getBlock() != &block ||
      !llvm::is_contained(combiner->getOperands(), out))
    return {};
  auto getExtended = [&](Operation *op) -> Value {
    bool isExtreme = isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp,
                                     arith::MinimumFOp, arith::MinNumFOp>(op) &&
                     llvm::is_contained(op->getOperands(), out);
    return isExtreme ? op->getOperand(op->getOperand(0) == out) : Value();
  };
  if (Value value = getExtended(combiner))
    return {Step::Extreme, value, nullptr};
  if (isa<arith::MulFOp>(combiner))
    return {Step::Product, combiner->getOperand(combiner->getOperand(0) == out),
            nullptr};
  auto select = dyn_cast<arith::SelectOp>(combiner);
  if (!select || select.getCondition() == out)
    return {};
  // The value that another one replaces under a condition, or the reverse.
  bool isOther = select.getTrueValue() == out;
  Value other = isOther ? select.getFalseValue() : select.getTrueValue();
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (compare && !isOther) {
    bool isGreater = llvm::is_contained(
        {arith::CmpFPredicate::OGT, arith::CmpFPredicate::UGT},
        compare.getPredicate());
    bool isLess = llvm::is_contained(
        {arith::CmpFPredicate::OLT, arith::CmpFPredicate::ULT},
        compare.getPredicate());
    if ((isGreater || isLess) && compare.getLhs() == other &&
        compare.getRhs() == out)
      return {Step::First, other, nullptr};
  }
  if (!isOther && select.getFalseValue() == out)
    if (Value value = getExtended(other.getDefiningOp()))
      return {Step::Extreme, value, select.getCondition()};
  if (!isOther && select.getFalseValue() == out)
    if (auto sum = other.getDefiningOp<arith::AddFOp>();
        sum && llvm::is_contained(sum->getOperands(), out))
      return {Step::Sum, sum->getOperand(sum.getLhs() == out),
              select.getCondition()};
  return isOther ? Step() : Step{Step::Replace, other, select.getCondition()};
}

/// The position, among the iterations of one element of the result, where
/// `condition` is true: the last (else the first) one; -1 (else the largest
/// number) if it is true nowhere.
Value LinalgAdjoint::findPlace(Value condition, OpResult result, bool isLast) {
  OpBuilder scalar = atEnd();
  TypedAttr nowhere = scalar.getI64IntegerAttr(isLast ? -1 : INT64_MAX);
  Value none = arith::ConstantOp::create(scalar, loc, nowhere);
  here = createLocation(scalar);
  Value place = arith::SelectOp::create(scalar, loc, condition, here, none);
  AffineMap map = getMap(result);
  auto combine = [&](OpBuilder &b, Value left, Value right) -> Value {
    if (isLast)
      return arith::MaxSIOp::create(b, loc, left, right);
    return arith::MinSIOp::create(b, loc, left, right);
  };
  return addSource(
      {reduce(place, map, result, b.getI64Type(), combine, nowhere), map});
}

LogicalResult LinalgAdjoint::checkRanges() {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (unsigned loop : ArrayRef(reductionLoops).drop_front())
    if (ShapedType::isDynamic(ranges[loop]))
      return op->emitOpError("has a derivative that counts its iterations, of "
                             "which the number is not known: bind the size "
                             "(--dist-bind-sizes=sizes=batch=8)");
  return success();
}

bool LinalgAdjoint::readsOuts(Value value) {
  SmallVector<Operation *> ops;
  llvm::SmallBitVector used;
  findSlice(value, ops, used);
  for (OpResult result : op->getResults())
    if (used.test(getOut(result).getArgNumber()))
      return true;
  return false;
}

LogicalResult LinalgAdjoint::seedExtreme(OpResult result, Step step) {
  OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
  Value whole = adjoints.lookup(result);
  if (adjoints.isActive(init->get())) {
    // The initial value stays if nothing exceeds it.
    auto split = [&](bool stays) {
      return mapElements(
          b, loc, {whole, init->get(), result},
          getElementTypeOrSelf(result.getType()),
          [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
            Value same = arith::CmpFOp::create(
                b, loc, arith::CmpFPredicate::OEQ, args[1], args[2]);
            Value zero = createConstantLike(b, loc, args[0], 0);
            return arith::SelectOp::create(b, loc, same, stays ? args[0] : zero,
                                           stays ? zero : args[0]);
          });
    };
    adjoints.add(b, loc, init->get(), split(true));
    whole = split(false);
  }
  AffineMap map = getMap(result);
  OpBuilder scalar = atEnd();
  Value extreme = addSource({result, map});
  Value cotangent = addSource({whole, map});
  Value attains = arith::CmpFOp::create(scalar, loc, arith::CmpFPredicate::OEQ,
                                        step.value, extreme);
  if (step.condition)
    attains = arith::AndIOp::create(scalar, loc, attains, step.condition);
  Value zero = createConstantLike(scalar, loc, cotangent, 0);
  // A window: some tensor has several loops in one dimension.
  bool isWindow = llvm::any_of(op.getIndexingMapsArray(), [](AffineMap map) {
    return llvm::any_of(map.getResults(), [](AffineExpr expr) {
      return !isa<AffineDimExpr, AffineConstantExpr>(expr);
    });
  });
  Value share = cotangent;
  if (isWindow || step.kind == Step::First || op->hasAttr(kFirstAttr)) {
    if (failed(checkRanges()))
      return failure();
    Value first = findPlace(attains, result, false);
    attains = arith::CmpIOp::create(scalar, loc, arith::CmpIPredicate::eq, here,
                                    first);
  } else {
    Type element = getElementTypeOrSelf(result.getType());
    Value one = createConstantLike(scalar, loc, cotangent, 1);
    Value counted = arith::SelectOp::create(scalar, loc, attains, one, zero);
    Value count = sumUp(counted, map, result, element);
    share =
        arith::DivFOp::create(scalar, loc, cotangent, addSource({count, map}));
  }
  share = arith::SelectOp::create(scalar, loc, attains, share, zero);
  scalars.add(scalar, loc, step.value, share);
  return success();
}

LogicalResult LinalgAdjoint::seedReplaced(OpResult result, Step step) {
  if (failed(checkRanges()))
    return failure();
  OpBuilder scalar = atEnd();
  Value last = findPlace(step.condition, result, true);
  Value cotangent = addSource({adjoints.lookup(result), getMap(result)});
  Value zero = createConstantLike(scalar, loc, cotangent, 0);
  Value counts =
      arith::CmpIOp::create(scalar, loc, arith::CmpIPredicate::eq, here, last);
  scalars.add(scalar, loc, step.value,
              arith::SelectOp::create(scalar, loc, counts, cotangent, zero));
  OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
  if (!adjoints.isActive(init->get()))
    return success();
  // An element that is never overwritten stays.
  auto places = sources[cast<BlockArgument>(last).getArgNumber()].value;
  Value passed = adjoints.lookup(result);
  Value kept = mapElements(
      b, loc, {passed, places}, getElementTypeOrSelf(passed.getType()),
      [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
        Value none = arith::ConstantIntOp::create(b, loc, -1, 64);
        Value stays = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            args[1], none);
        return arith::SelectOp::create(b, loc, stays, args[0],
                                       createConstantLike(b, loc, args[0], 0));
      });
  adjoints.add(b, loc, init->get(), kept);
  return success();
}

/// The product of the others is that of all that are not zero, divided by the
/// factor. With one zero, it is the product of the others for that zero; with
/// more it is zero.
void LinalgAdjoint::seedProduct(OpResult result, Value factor) {
  AffineMap map = getMap(result);
  Type element = getElementTypeOrSelf(result.getType());
  OpBuilder scalar = atEnd();
  Value zero = createConstantLike(scalar, loc, factor, 0);
  Value one = createConstantLike(scalar, loc, factor, 1);
  Value isZero = arith::CmpFOp::create(scalar, loc, arith::CmpFPredicate::OEQ,
                                       factor, zero);
  Value counted = arith::SelectOp::create(scalar, loc, isZero, one, zero);
  Value taken = arith::SelectOp::create(scalar, loc, isZero, one, factor);
  Value zeros = sumUp(counted, map, result, element);
  Value product = reduce(
      taken, map, result, element,
      [&](OpBuilder &b, Value left, Value right) -> Value {
        return arith::MulFOp::create(b, loc, left, right);
      },
      b.getFloatAttr(element, 1));
  // `product` where `zeros` is as many, else nothing; times `by`.
  auto where = [&](OpBuilder &b, Value zeros, double count, Value product,
                   Value by) -> Value {
    Value such =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, zeros,
                              createConstantLike(b, loc, zeros, count));
    Value out = arith::MulFOp::create(b, loc, product, by);
    return arith::SelectOp::create(b, loc, such, out,
                                   createConstantLike(b, loc, out, 0));
  };
  Value init = op.getDpsInitOperand(result.getResultNumber())->get();
  Value cotangent = adjoints.lookup(result);
  if (adjoints.isActive(init))
    adjoints.add(b, loc, init,
                 mapElements(b, loc, {zeros, product, cotangent}, element,
                             [&](OpBuilder &b, Location, ValueRange args) {
                               return where(b, args[0], 0, args[1], args[2]);
                             }));
  Value begun =
      mapElements(b, loc, {cotangent, init}, element,
                  [](OpBuilder &b, Location loc, ValueRange args) -> Value {
                    return arith::MulFOp::create(b, loc, args[0], args[1]);
                  });
  Value all = addSource({product, map}), number = addSource({zeros, map}),
        by = addSource({begun, map});
  scalar = atEnd();
  Value others = arith::DivFOp::create(scalar, loc, all, taken);
  Value share = arith::SelectOp::create(scalar, loc, isZero,
                                        where(scalar, number, 1, all, by),
                                        where(scalar, number, 0, others, by));
  scalars.add(scalar, loc, factor, share);
}

LogicalResult LinalgAdjoint::seedResult(OpResult result, Value yielded) {
  Value cotangent = adjoints.lookup(result);
  if (!cotangent)
    return success();
  Step step = reductionLoops.empty() ? Step() : findStep(result, yielded);
  if (step.kind != Step::Other &&
      (readsOuts(step.value) || (step.condition && readsOuts(step.condition))))
    step = Step();
  OpBuilder scalar = atEnd();
  switch (step.kind) {
  case Step::Extreme:
  case Step::First:
    return seedExtreme(result, step);
  case Step::Replace:
    return seedReplaced(result, step);
  case Step::Product:
    seedProduct(result, step.value);
    return success();
  case Step::Sum: {
    // Where nothing is added the sum passes as it is.
    Value added = addSource({cotangent, getMap(result)});
    Value zero = createConstantLike(scalar, loc, added, 0);
    scalars.add(scalar, loc, getOut(result), added);
    scalars.add(
        scalar, loc, step.value,
        arith::SelectOp::create(scalar, loc, step.condition, added, zero));
    return success();
  }
  case Step::Other:
    break;
  }
  scalars.add(scalar, loc, yielded, addSource({cotangent, getMap(result)}));
  return success();
}

LogicalResult LinalgAdjoint::checkAccumulators() {
  llvm::SmallBitVector outs(op->getNumOperands());
  for (OpResult result : op->getResults()) {
    unsigned number = op.getNumDpsInputs() + result.getResultNumber();
    outs.set(number);
    Value through = scalars.lookup(block.getArgument(number));
    auto argument = dyn_cast_or_null<BlockArgument>(through);
    if (through && !(argument && sources[argument.getArgNumber()].value ==
                                     adjoints.lookup(result)))
      return op->emitOpError(
          "accumulates in a way of which the derivative is "
          "not known: it is of sums, maxima and minima, and of products that "
          "are under no condition");
  }
  SmallVector<Value> read;
  for (OpOperand *input : op.getDpsInputOperands())
    read.push_back(block.getArgument(input->getOperandNumber()));
  for (tensor::ExtractOp element : reads)
    read.push_back(element.getResult());
  for (Value value : read) {
    Value derivative = scalars.lookup(value);
    if (!derivative)
      continue;
    SmallVector<Operation *> ops;
    llvm::SmallBitVector used;
    findSlice(derivative, ops, used);
    used.resize(op->getNumOperands());
    if (used.anyCommon(outs))
      return op->emitOpError("has a derivative that depends on what it has "
                             "accumulated before: it is known of sums, "
                             "products, maxima and minima");
  }
  return success();
}
