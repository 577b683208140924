//===- Losses.cpp - What a step makes smaller -----------------------------===//
//
// A loss and its derivative are written together. The derivative of the cross
// entropy is (softmax - one hot) / count, and not the adjoints of its parts.
// Loops over classes are single reductions. So ranks that shard the classes
// exchange three numbers for each label, and no logits (vocabulary parallelism,
// Narayanan et al. 2021).
//
//===----------------------------------------------------------------------===//

#include "passes/train/Losses.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/Interfaces/Adjoints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/train/Formulas.h"

using namespace mlir;
using namespace mlir::dist;

static Value compare(OpBuilder &b, Location loc, arith::CmpIPredicate predicate,
                     Value value, int64_t number) {
  Value constant = arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(value.getType(), number));
  return arith::CmpIOp::create(b, loc, predicate, value, constant);
}

static Value isCounted(OpBuilder &b, Location loc, Value label) {
  return compare(b, loc, arith::CmpIPredicate::ne, label, kIgnoredLabel);
}

/// Whether the element's class is the label.
static Value isLabel(OpBuilder &b, Location loc, unsigned classes,
                     Value label) {
  Value place = arith::IndexCastOp::create(
      b, loc, label.getType(), linalg::IndexOp::create(b, loc, classes));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, place, label);
}

/// The labels, after it has been checked that those that count are classes.
static Value checkLabels(OpBuilder &builder, Location loc, Value labels,
                         int64_t classes) {
  auto type = cast<RankedTensorType>(labels.getType());
  return mapElements(
             builder, loc, labels, type.getShape(), type.getElementType(),
             [&](OpBuilder &b, Location loc, ValueRange args) {
               Value label = args.front();
               Value zero = arith::ConstantOp::create(
                   b, loc, b.getZeroAttr(label.getType()));
               Value counted = arith::SelectOp::create(
                   b, loc, isCounted(b, loc, label), label, zero);
               cf::AssertOp::create(
                   b, loc,
                   compare(b, loc, arith::CmpIPredicate::ult, counted, classes),
                   "a label is no class: it must be at least 0 and less than " +
                       std::to_string(classes) + ", or " +
                       std::to_string(kIgnoredLabel));
               return SmallVector<Value>{label};
             })
      .front();
}

Value Loss::addValue(OpBuilder &builder, Location loc) const {
  if (!divisor)
    return sum;
  auto type = cast<RankedTensorType>(sum.getType());
  Type element = type.getElementType(), wide = getElementTypeOrSelf(divisor);
  return mapElements(builder, loc, {sum, divisor}, type.getShape(), element,
                     [&](OpBuilder &b, Location loc, ValueRange args) {
                       Scalar mean = Scalar(b, loc, args[0]).as(wide) /
                                     Scalar(b, loc, args[1]);
                       return SmallVector<Value>{mean.as(element).get()};
                     })
      .front();
}

/// A tensor of no dimensions.
static Value addNumber(OpBuilder &builder, Location loc, Type element,
                       double number) {
  auto type = RankedTensorType::get({}, element);
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(
          type, {Attribute(builder.getFloatAttr(element, number))}));
}

Value mlir::dist::addLabelCount(OpBuilder &builder, Location loc, Value labels,
                                Type logits) {
  auto type = cast<RankedTensorType>(labels.getType());
  Type wide = getComputeType(logits);
  // In integers, which are exact for any number of labels.
  Value count = reduceElements(
      builder, loc, labels, type.getShape(), 0, builder.getI64IntegerAttr(0),
      [&](OpBuilder &b, Location loc, ValueRange args) {
        Value one = arith::ExtUIOp::create(b, loc, b.getI64Type(),
                                           isCounted(b, loc, args[0]));
        return SmallVector<Value>{
            arith::AddIOp::create(b, loc, args[1], one).getResult()};
      });
  return mapElements(builder, loc, count, {}, wide,
                     [&](OpBuilder &b, Location loc, ValueRange args) {
                       Value one = arith::ConstantOp::create(
                           b, loc, b.getI64IntegerAttr(1));
                       Value most =
                           arith::MaxSIOp::create(b, loc, args[0], one);
                       return SmallVector<Value>{
                           arith::SIToFPOp::create(b, loc, wide, most)};
                     })
      .front();
}

Loss mlir::dist::addCrossEntropy(OpBuilder &builder, Location loc, Value logits,
                                 Value labels, Value divisor) {
  auto type = cast<RankedTensorType>(logits.getType());
  Type element = type.getElementType(), wide = getComputeType(element);
  ArrayRef<int64_t> shape = type.getShape(), rows = shape.drop_back();
  unsigned classes = rows.size();
  labels = checkLabels(builder, loc, labels, shape.back());
  TypedAttr zero = builder.getFloatAttr(wide, 0);
  APFloat least =
      APFloat::getInf(cast<FloatType>(wide).getFloatSemantics(), true);

  Value largest = reduceElements(
      builder, loc, logits, shape, classes, builder.getFloatAttr(wide, least),
      [&](OpBuilder &b, Location loc, ValueRange args) {
        Scalar logit = Scalar(b, loc, args[0]).as(wide);
        return SmallVector<Value>{max(Scalar(b, loc, args[1]), logit).get()};
      });
  Value sum =
      reduceElements(builder, loc, {logits, largest}, shape, classes, zero,
                     [&](OpBuilder &b, Location loc, ValueRange args) {
                       Scalar shifted = Scalar(b, loc, args[0]).as(wide) -
                                        Scalar(b, loc, args[1]);
                       return SmallVector<Value>{
                           (Scalar(b, loc, args[2]) + exp(shifted)).get()};
                     });
  Value picked = reduceElements(
      builder, loc, {logits, largest, labels}, shape, classes, zero,
      [&](OpBuilder &b, Location loc, ValueRange args) {
        Scalar shifted =
            Scalar(b, loc, args[0]).as(wide) - Scalar(b, loc, args[1]);
        Value term =
            arith::SelectOp::create(b, loc, isLabel(b, loc, classes, args[2]),
                                    shifted.get(), shifted.constant(0).get());
        return SmallVector<Value>{
            (Scalar(b, loc, args[3]) + Scalar(b, loc, term)).get()};
      });

  Value total = reduceElements(
      builder, loc, {labels, sum, picked}, rows, 0, zero,
      [&](OpBuilder &b, Location loc, ValueRange args) {
        Scalar term = log(Scalar(b, loc, args[1])) - Scalar(b, loc, args[2]);
        Value counted =
            arith::SelectOp::create(b, loc, isCounted(b, loc, args[0]),
                                    term.get(), term.constant(0).get());
        return SmallVector<Value>{
            (Scalar(b, loc, args[3]) + Scalar(b, loc, counted)).get()};
      });
  Value cotangent =
      mapElements(
          builder, loc, {logits, largest, sum, labels, divisor}, shape, element,
          [&](OpBuilder &b, Location loc, ValueRange args) {
            Scalar share = exp(Scalar(b, loc, args[0]).as(wide) -
                               Scalar(b, loc, args[1])) /
                           Scalar(b, loc, args[2]);
            Value hot = arith::UIToFPOp::create(
                b, loc, wide, isLabel(b, loc, classes, args[3]));
            Scalar slope =
                (share - Scalar(b, loc, hot)) / Scalar(b, loc, args[4]);
            Value counted =
                arith::SelectOp::create(b, loc, isCounted(b, loc, args[3]),
                                        slope.get(), slope.constant(0).get());
            return SmallVector<Value>{
                Scalar(b, loc, counted).as(element).get()};
          })
          .front();
  return {total, divisor, cotangent};
}

Loss mlir::dist::addMeanSquaredError(OpBuilder &builder, Location loc,
                                     Value result, Value target,
                                     int64_t microbatches) {
  auto type = cast<RankedTensorType>(result.getType());
  Type element = type.getElementType(), wide = getComputeType(element);
  double count =
      double(std::max<int64_t>(type.getNumElements(), 1)) * microbatches;
  auto difference = [&](OpBuilder &b, Location loc, ValueRange args) {
    return Scalar(b, loc, args[0]).as(wide) - Scalar(b, loc, args[1]).as(wide);
  };
  Value total = reduceElements(
      builder, loc, {result, target}, type.getShape(), 0,
      builder.getFloatAttr(wide, 0),
      [&](OpBuilder &b, Location loc, ValueRange args) {
        Scalar by = difference(b, loc, args);
        return SmallVector<Value>{(Scalar(b, loc, args[2]) + by * by).get()};
      });
  Value cotangent =
      mapElements(builder, loc, {result, target}, type.getShape(), element,
                  [&](OpBuilder &b, Location loc, ValueRange args) {
                    Scalar by = difference(b, loc, args);
                    return SmallVector<Value>{
                        ((2 / count) * by).as(element).get()};
                  })
          .front();
  return {total, addNumber(builder, loc, wide, count), cotangent};
}

Loss mlir::dist::addOwnLoss(OpBuilder &builder, Location loc, Value result,
                            int64_t microbatches) {
  Value share = createConstantLike(builder, loc, result, 1.0 / microbatches);
  if (microbatches == 1)
    return {result, {}, share};
  Type wide = getComputeType(getElementTypeOrSelf(result));
  return {result, addNumber(builder, loc, wide, microbatches), share};
}
