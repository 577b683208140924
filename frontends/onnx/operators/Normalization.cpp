//===- Normalization.cpp - Converters of softmax and norms ----------------===//
//
// Written out as reductions and elementwise loops, in f32 at least.
//
//===----------------------------------------------------------------------===//

#include "Normalization.h"
#include "Converter.h"

#include <cmath>

using namespace mlir;
using namespace mlir::dist::frontend;

double mlir::dist::frontend::epsilonOf(NodeContext &c) {
  double epsilon = c.floatAttr("epsilon", 1e-5);
  if (!std::isfinite(epsilon))
    (void)c.invalid("attribute 'epsilon' is no finite number");
  return epsilon;
}

DType mlir::dist::frontend::statisticsType(DType type) {
  return isFloat(type) && sizeOf(type) == 2 ? DType::F32 : type;
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

Value mlir::dist::frontend::emitSoftmax(Emitter &e, Value value, int64_t axis,
                                        bool logarithm) {
  // Flattened rows are rows all the same.
  if (std::optional<Emitter::Unflattened> whole = e.unflatten(value, axis)) {
    Shape shape = e.shapeOf(value);
    return e.reshape(
        emitSoftmax(e, whole->value, whole->groups[axis].front(), logarithm),
        shape);
  }
  Shape shape = e.shapeOf(value);
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  // A row of nothing but -inf gives NaN, as it does in PyTorch.
  Value largest = e.reduce(Reduction::Max, value, axis, /*keep=*/true);
  auto binary = [&](Value a, Value b, auto body) {
    return e.map({a, b}, shape, element, [&](Scalar &s, ArrayRef<Value> in) {
      return body(s, in[0], in[1]);
    });
  };
  if (logarithm) {
    Value shifted = binary(value, largest, [](Scalar &s, Value x, Value m) {
      return s.sub(x, m);
    });
    Value powers =
        e.map(shifted, shape, element, [](Scalar &s, ArrayRef<Value> in) {
          return s.apply(Function::Exp, in[0]);
        });
    Value sum = e.reduce(Reduction::Sum, powers, axis, /*keep=*/true);
    return binary(shifted, sum, [](Scalar &s, Value x, Value sum) {
      return s.sub(x, s.apply(Function::Log, sum));
    });
  }
  Value powers = binary(value, largest, [](Scalar &s, Value x, Value m) {
    return s.apply(Function::Exp, s.sub(x, m));
  });
  Value sum = e.reduce(Reduction::Sum, powers, axis, /*keep=*/true);
  return binary(powers, sum,
                [](Scalar &s, Value x, Value sum) { return s.div(x, sum); });
}

template <bool logarithm> static LogicalResult softmax(NodeContext &c) {
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", -1), c.in(0).rank());
  if (failed(axis))
    return failure();
  DType type = c.in(0).type, inner = statisticsType(type);
  Value value = c.emitter.cast(c.value(0), type, inner);
  value = emitSoftmax(c.emitter, value, *axis, logarithm);
  c.set(0, c.emitter.cast(value, inner, type), type);
  return success();
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

Statistics mlir::dist::frontend::computeStatistics(Emitter &e, Value value,
                                                   ArrayRef<int64_t> axes,
                                                   double epsilon,
                                                   bool centers) {
  Shape shape = e.shapeOf(value);
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  int64_t count = 1;
  for (int64_t axis : axes)
    count = e.sizes.mul(count, shape[axis]);
  auto average = [&](Value in) {
    Value sum = e.reduce(Reduction::Sum, in, axes, /*keep=*/true);
    return e.map(sum, e.shapeOf(sum), element,
                 [&](Scalar &s, ArrayRef<Value> in) {
                   return s.div(in[0], e.numberOf(s, element, count));
                 });
  };
  Statistics result;
  result.centered = value;
  if (centers) {
    result.mean = average(value);
    result.centered = e.map(
        {value, result.mean}, shape, element,
        [](Scalar &s, ArrayRef<Value> in) { return s.sub(in[0], in[1]); });
  }
  Value squares =
      e.map(result.centered, shape, element,
            [](Scalar &s, ArrayRef<Value> in) { return s.mul(in[0], in[0]); });
  result.squares = e.reduce(Reduction::Sum, squares, axes, /*keep=*/true);
  result.inverseDeviation =
      e.map(result.squares, e.shapeOf(result.squares), element,
            [&](Scalar &s, ArrayRef<Value> in) {
              Value variance = s.div(in[0], e.numberOf(s, element, count));
              return s.apply(Function::Rsqrt,
                             s.add(variance, s.constant(element, epsilon)));
            });
  return result;
}

/// Whether `scale` broadcasts to `shape` and has the type of input 0 or one
/// that can be cast to it.
static LogicalResult checkScale(NodeContext &c, size_t i,
                                ArrayRef<int64_t> shape) {
  bool fits = broadcastShapes(shape, c.in(i).shape) == Shape(shape);
  if (!fits && (hasOpen(shape) || hasOpen(c.in(i).shape)))
    return c.disagree("do not broadcast", shape, c.in(i).shape);
  if (!isFloat(c.in(i).type) || !fits)
    return c.invalid("input " + Twine(i) + ", " + nameOf(c.in(i).type) + " " +
                     toString(c.in(i).shape) + ", does not fit shape " +
                     toString(shape));
  return success();
}

/// (x - mean) / deviation * scale + bias over the dimensions from `axis` on;
/// `centers`: LayerNormalization, else RMSNormalization.
template <bool centers> static LogicalResult layerNorm(NodeContext &c) {
  const Tensor &input = c.in(0);
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", -1), input.rank());
  if (failed(axis) || failed(checkScale(c, 1, input.shape)) ||
      (c.has(2) && failed(checkScale(c, 2, input.shape))))
    return failure();
  double epsilon = epsilonOf(c);
  DType type = input.type, inner = statisticsType(type);
  Emitter &e = c.emitter;
  SmallVector<int64_t> axes;
  for (int64_t i = *axis; i < input.rank(); ++i)
    axes.push_back(i);

  Value value = c.value(0);
  Shape flat = e.shapeOf(value);
  if (std::optional<Emitter::Unflattened> whole = e.unflatten(value, axes)) {
    for (int64_t &i : axes)
      i = whole->groups[i].front();
    value = whole->value;
  }
  Shape shape = e.shapeOf(value);
  value = e.cast(value, type, inner);
  Statistics statistics = computeStatistics(e, value, axes, epsilon, centers);
  SmallVector<Value> operands{statistics.centered, statistics.inverseDeviation,
                              c.value(1)};
  if (c.has(2))
    operands.push_back(c.value(2));
  Value result = e.map(
      operands, shape, e.typeOf(type), [&](Scalar &s, ArrayRef<Value> in) {
        Value normal = s.cast(s.mul(in[0], in[1]), inner, type);
        Value scaled = s.mul(normal, s.cast(in[2], c.in(1).type, type));
        return c.has(2) ? s.add(scaled, s.cast(in[3], c.in(2).type, type))
                        : scaled;
      });
  c.set(0, e.reshape(result, flat), type);
  Shape statisticsShape = flat;
  for (int64_t i = *axis; i < input.rank(); ++i)
    statisticsShape[i] = 1;
  if (centers && c.wants(1))
    c.set(1, e.reshape(statistics.mean, statisticsShape), inner);
  if (centers && c.wants(2))
    c.set(2, e.reshape(statistics.inverseDeviation, statisticsShape), inner);
  return success();
}

Value mlir::dist::frontend::perChannel(NodeContext &c, size_t i, int64_t rank) {
  Shape shape(rank, 1);
  shape[1] = c.in(i).shape[0];
  return c.emitter.reshape(c.value(i), shape);
}

LogicalResult mlir::dist::frontend::checkChannels(NodeContext &c, size_t first,
                                                  size_t last,
                                                  int64_t channels) {
  if (isOpen(channels))
    return c.open(c.node.op + " of an open number of channels", channels);
  for (size_t i = first; i <= last; ++i)
    if (!isFloat(c.in(i).type) || c.in(i).shape != Shape{channels})
      return c.invalid("input " + Twine(i) + ", " + nameOf(c.in(i).type) + " " +
                       toString(c.in(i).shape) + ", for " + Twine(channels) +
                       " channels");
  return success();
}

Value mlir::dist::frontend::applyNorm(Emitter &e, const Statistics &statistics,
                                      Value scale, Value bias) {
  Value centered = statistics.centered;
  Type element = cast<RankedTensorType>(centered.getType()).getElementType();
  return e.map({centered, statistics.inverseDeviation, scale, bias},
               e.shapeOf(centered), element, [](Scalar &s, ArrayRef<Value> in) {
                 return s.add(s.mul(s.mul(in[0], in[1]), in[2]), in[3]);
               });
}

static LogicalResult instanceNorm(NodeContext &c) {
  Shape shape = c.in(0).shape;
  if (shape.size() < 3)
    return c.invalid("shape " + toString(shape) + " has no space");
  if (failed(checkChannels(c, 1, 2, shape[1])))
    return failure();
  double epsilon = epsilonOf(c);
  DType type = c.in(0).type, inner = statisticsType(type);
  Emitter &e = c.emitter;
  SmallVector<int64_t> axes;
  for (size_t i = 2; i < shape.size(); ++i)
    axes.push_back(i);
  Value scale = e.cast(perChannel(c, 1, shape.size()), c.in(1).type, inner);
  Value bias = e.cast(perChannel(c, 2, shape.size()), c.in(2).type, inner);
  Statistics statistics = computeStatistics(e, e.cast(c.value(0), type, inner),
                                            axes, epsilon, /*centers=*/true);
  Value result = applyNorm(e, statistics, scale, bias);
  c.set(0, e.cast(result, inner, type), type);
  return success();
}

/// Scale and bias are one a channel since opset 21, one a group before.
static LogicalResult groupNorm(NodeContext &c) {
  Shape shape = c.in(0).shape;
  int64_t groups = c.intAttr("num_groups", 0);
  if (shape.size() >= 3 && isOpen(shape[1]))
    return c.open("GroupNormalization of an open number of channels", shape[1]);
  if (shape.size() < 3 || groups <= 0 || shape[1] % groups != 0)
    return c.invalid(Twine(groups) + " groups in shape " + toString(shape));
  bool byChannel = c.opset >= 21;
  if (failed(checkChannels(c, 1, 2, byChannel ? shape[1] : groups)))
    return failure();
  double epsilon = epsilonOf(c);
  DType type = c.in(0).type, inner = statisticsType(type);
  Emitter &e = c.emitter;
  Shape apart = shape;
  apart[1] = groups;
  apart.insert(apart.begin() + 2, shape[1] / groups);
  SmallVector<int64_t> axes;
  Shape parameter(apart.size(), 1);
  parameter[1] = groups;
  if (byChannel)
    parameter[2] = apart[2];
  for (size_t i = 2; i < apart.size(); ++i)
    axes.push_back(i);
  Value value = e.reshape(e.cast(c.value(0), type, inner), apart);
  Value scale = e.cast(e.reshape(c.value(1), parameter), c.in(1).type, inner);
  Value bias = e.cast(e.reshape(c.value(2), parameter), c.in(2).type, inner);
  Statistics statistics =
      computeStatistics(e, value, axes, epsilon, /*centers=*/true);
  Value result = applyNorm(e, statistics, scale, bias);
  c.set(0, e.cast(e.reshape(result, shape), inner, type), type);
  return success();
}

/// x / norm(x), 0 where the norm is 0.
static LogicalResult lpNorm(NodeContext &c) {
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", -1), c.in(0).rank());
  if (failed(axis))
    return failure();
  int64_t p = c.intAttr("p", 2);
  if (p != 1 && p != 2)
    return c.invalid("p = " + Twine(p));
  DType type = c.in(0).type;
  Emitter &e = c.emitter;
  Type element = e.typeOf(type);
  Value value = c.value(0);
  Value powers =
      e.map(value, c.in(0).shape, element, [&](Scalar &s, ArrayRef<Value> in) {
        return p == 1 ? s.apply(Function::Abs, in[0]) : s.mul(in[0], in[0]);
      });
  Value sum = e.reduce(Reduction::Sum, powers, *axis, /*keep=*/true);
  Value result = e.map(
      {value, sum}, c.in(0).shape, element, [&](Scalar &s, ArrayRef<Value> in) {
        Value norm = p == 1 ? in[1] : s.apply(Function::Sqrt, in[1]);
        Value zero = s.constant(element, 0);
        return s.select(s.compare(Compare::EQ, norm, zero), zero,
                        s.div(in[0], norm));
      });
  c.set(0, result, type);
  return success();
}

/// (x - mean) / (deviation + 1e-9)
static LogicalResult meanVarianceNorm(NodeContext &c) {
  SmallVector<int64_t> list{0, 2, 3};
  if (std::optional<SmallVector<int64_t>> given = c.intsAttr("axes"))
    list = *given;
  FailureOr<SmallVector<int64_t>> axes = c.axes(list, c.in(0).rank());
  if (failed(axes))
    return failure();
  DType type = c.in(0).type;
  Emitter &e = c.emitter;
  Type element = e.typeOf(type);
  Shape shape = c.in(0).shape;
  int64_t count = 1;
  for (int64_t axis : *axes)
    count = c.sizes().mul(count, shape[axis]);
  Statistics statistics =
      computeStatistics(e, c.value(0), *axes, 0, /*centers=*/true);
  Value result =
      e.map({statistics.centered, statistics.squares}, shape, element,
            [&](Scalar &s, ArrayRef<Value> in) {
              Value variance = s.div(in[1], e.numberOf(s, element, count));
              Value deviation = s.apply(Function::Sqrt, variance);
              return s.div(in[0], s.add(deviation, s.constant(element, 1e-9)));
            });
  c.set(0, result, type);
  return success();
}

/// x / (bias + alpha / size * sum of squares over neighbouring channels)^beta
static LogicalResult localResponseNorm(NodeContext &c) {
  Shape shape = c.in(0).shape;
  int64_t size = c.intAttr("size", 0), rank = shape.size();
  if (rank < 2 || size < 1 || size > (1 << 20))
    return c.invalid("size " + Twine(size) + " in shape " + toString(shape));
  double alpha = c.floatAttr("alpha", 1e-4), beta = c.floatAttr("beta", 0.75);
  double bias = c.floatAttr("bias", 1);
  DType type = c.in(0).type, inner = statisticsType(type);
  Emitter &e = c.emitter;
  Type element = e.typeOf(inner);
  Value value = e.cast(c.value(0), type, inner);
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  low[1] = (size - 1) / 2;
  high[1] = size / 2;
  MLIRContext *context = e.getBuilder().getContext();
  SmallVector<AffineExpr> in, out;
  for (int64_t i = 0; i < rank; ++i) {
    AffineExpr dim = getAffineDimExpr(i, context);
    out.push_back(dim);
    in.push_back(i == 1 ? dim + getAffineDimExpr(rank, context) : dim);
  }
  Value zero = e.scalar(element, 0.0);
  // The second input only gives the loop over neighbours its extent.
  Value sum = e.loops(
      {e.pad(value, low, high, zero), e.empty({size}, element)},
      {AffineMap::get(rank + 1, 0, in, context),
       AffineMap::get(rank + 1, 0, getAffineDimExpr(rank, context), context)},
      e.filled(shape, zero), AffineMap::get(rank + 1, 0, out, context),
      [](LoopScalar &s, ArrayRef<Value> args, Value sum) {
        return s.add(sum, s.mul(args[0], args[0]));
      });
  Value result =
      e.map({value, sum}, shape, e.typeOf(type),
            [&](Scalar &s, ArrayRef<Value> args) {
              Value scaled =
                  s.mul(args[1], s.constant(element, alpha / double(size)));
              Value base = s.add(scaled, s.constant(element, bias));
              Value norm = s.pow(base, s.constant(element, beta));
              return s.cast(s.div(args[0], norm), inner, type);
            });
  c.set(0, result, type);
  return success();
}

void mlir::dist::frontend::addNormalizationConverters(ConverterTable &table) {
  table.add("LRN", 1, localResponseNorm);
  table.add("Softmax", 1, softmax<false>);
  table.add("LogSoftmax", 1, softmax<true>);
  table.add("LayerNormalization", 2, layerNorm<true>);
  table.add("RMSNormalization", 2, layerNorm<false>);
  table.add("BatchNormalization", 5, batchNorm);
  table.add("InstanceNormalization", 3, instanceNorm);
  table.add("GroupNormalization", 3, groupNorm);
  table.add("LpNormalization", 1, lpNorm);
  table.add("MeanVarianceNormalization", 1, meanVarianceNorm);
  table.takeOpenSizes({"LRN", "Softmax", "LogSoftmax", "LayerNormalization",
                       "RMSNormalization", "BatchNormalization",
                       "InstanceNormalization", "GroupNormalization",
                       "LpNormalization", "MeanVarianceNormalization"});
}
