//===- Optimizer.cpp - How parameters follow their gradients --------------===//
//
// The formulas are those of torch.optim.SGD, Adam (Kingma and Ba 2015) and
// AdamW (Loshchilov and Hutter 2019), in the order in which PyTorch computes
// them. Rates are those of transformers' get_*_schedule_with_warmup. The update
// of a parameter is one loop over its elements, which any placement can shard.
//
//===----------------------------------------------------------------------===//

#include "passes/train/Optimizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/train/Formulas.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;

/// The learning rate after `step` steps, which is a number of type f64.
static Scalar getRate(const Optimizer &optimizer, Scalar step) {
  Scalar rate = step.constant(optimizer.rate);
  if (optimizer.schedule != Optimizer::Schedule::Constant) {
    double length = optimizer.steps - optimizer.warmup;
    Scalar done =
        min((step + -double(optimizer.warmup)) / step.constant(length),
            step.constant(1));
    Scalar left = 1 - done;
    if (optimizer.schedule == Optimizer::Schedule::Cosine)
      left = 0.5 * (cos(M_PI * done) + 1);
    rate = (optimizer.rate - optimizer.minRate) * left + optimizer.minRate;
  }
  if (optimizer.warmup == 0)
    return rate;
  return selectLess(step, step.constant(optimizer.warmup),
                    (optimizer.rate / optimizer.warmup) * step, rate);
}

StepNumbers mlir::dist::addStepNumbers(OpBuilder &builder, Location loc,
                                       const Optimizer &optimizer, Value step) {
  Type f64 = builder.getF64Type();
  bool isSgd = optimizer.kind == Optimizer::Kind::Sgd;
  SmallVector<Type> types(isSgd ? 1 : 3, f64);
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Scalar before(b, loc, arith::SIToFPOp::create(b, loc, f64, args[0]));
    Scalar rate = getRate(optimizer, before);
    if (isSgd)
      return SmallVector<Value>{rate.get()};
    Scalar number = before + 1;
    Scalar size = rate / (1 - pow(optimizer.beta1, number));
    Scalar root = sqrt(1 - pow(optimizer.beta2, number));
    return SmallVector<Value>{rate.get(), size.get(), root.get()};
  };
  return {mapElements(builder, loc, step, {}, types, body), step};
}

Value mlir::dist::addClipping(OpBuilder &builder, Location loc,
                              const Optimizer &optimizer,
                              ValueRange gradients) {
  SmallVector<Value> squares;
  Type wide = builder.getF32Type();
  for (Value gradient : gradients)
    if (cast<RankedTensorType>(gradient.getType()).getElementType().isF64())
      wide = builder.getF64Type();
  for (Value gradient : gradients)
    squares.push_back(reduceElements(
        builder, loc, gradient,
        cast<RankedTensorType>(gradient.getType()).getShape(), 0,
        builder.getFloatAttr(wide, 0),
        [&](OpBuilder &b, Location loc, ValueRange args) {
          Scalar element = Scalar(b, loc, args[0]).as(wide);
          return SmallVector<Value>{
              (Scalar(b, loc, args[1]) + element * element).get()};
        }));
  // A sum of its own, so that what ranks have of all of them is added first.
  Value total = mapElements(builder, loc, squares, {}, wide,
                            [](OpBuilder &b, Location loc, ValueRange args) {
                              Scalar sum(b, loc, args[0]);
                              for (Value square : args.drop_front())
                                sum = sum + Scalar(b, loc, square);
                              return SmallVector<Value>{sum.get()};
                            })
                    .front();
  return mapElements(builder, loc, total, {}, wide,
                     [&](OpBuilder &b, Location loc, ValueRange args) {
                       Scalar sum(b, loc, args[0]);
                       // As torch.nn.utils.clip_grad_norm_ has it.
                       Scalar factor =
                           sum.constant(optimizer.clip) / (sqrt(sum) + 1e-6);
                       return SmallVector<Value>{
                           min(factor, sum.constant(1)).get()};
                     })
      .front();
}

/// What changes: the parameter before the first step, then its master.
static Scalar chooseMaster(OpBuilder &b, Location loc, Value step,
                           Scalar parameter, Scalar master) {
  Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, step, zero);
  Value chosen =
      arith::SelectOp::create(b, loc, isFirst, parameter.get(), master.get());
  return {b, loc, chosen};
}

SmallVector<Value> mlir::dist::addUpdate(OpBuilder &builder, Location loc,
                                         const Optimizer &optimizer,
                                         const StepNumbers &numbers,
                                         Value parameter, Value gradient,
                                         ValueRange states, Value scale) {
  auto type = cast<RankedTensorType>(parameter.getType());
  Type element = type.getElementType(), wide = getComputeType(element);
  SmallVector<Value> inputs{parameter, gradient};
  llvm::append_range(inputs, states);
  unsigned firstNumber = inputs.size(), master = firstNumber - 1;
  llvm::append_range(inputs, numbers.values);
  bool hasMaster = optimizer.hasMaster(element);
  if (hasMaster)
    inputs.push_back(numbers.step);
  if (scale)
    inputs.push_back(scale);
  SmallVector<Type> types(1 + states.size(), wide);
  types.front() = element;
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    auto get = [&](unsigned i) { return Scalar(b, loc, args[i]).as(wide); };
    Scalar old = get(0), slope = get(1), rate = get(firstNumber);
    if (hasMaster)
      old = chooseMaster(b, loc, args[firstNumber + numbers.values.size()], old,
                         get(master));
    if (scale)
      slope = slope * get(args.size() - 1);
    if (optimizer.weightDecay != 0) {
      if (optimizer.kind == Optimizer::Kind::AdamW)
        old = old * (1 - optimizer.weightDecay * rate);
      else
        slope = slope + optimizer.weightDecay * old;
    }
    auto makeNew = [&](Scalar step, ArrayRef<Scalar> kept) {
      Scalar next = old - step;
      SmallVector<Value> made{next.as(element).get()};
      for (const Scalar &one : kept)
        made.push_back(one.get());
      if (hasMaster)
        made.push_back(next.get());
      return made;
    };
    if (optimizer.kind == Optimizer::Kind::Sgd) {
      if (optimizer.momentum == 0)
        return makeNew(rate * slope, {});
      Scalar buffer = optimizer.momentum * get(2) + slope;
      Scalar step =
          optimizer.nesterov ? slope + optimizer.momentum * buffer : buffer;
      return makeNew(rate * step, buffer);
    }
    Scalar mean = get(2) + (1 - optimizer.beta1) * (slope - get(2));
    Scalar square =
        optimizer.beta2 * get(3) + (1 - optimizer.beta2) * (slope * slope);
    Scalar size = get(firstNumber + 1), root = get(firstNumber + 2);
    Scalar below = sqrt(square) / root + optimizer.epsilon;
    return makeNew(size * mean / below, {mean, square});
  };
  return mapElements(builder, loc, inputs, type.getShape(), types, body);
}
