//===- Activation.cpp - Converters of functions and activations -----------===//

#include "Elementwise.h"

using namespace mlir;
using namespace mlir::dist::frontend;

template <Function function> static LogicalResult unary(NodeContext &c) {
  return emitFloat(c, [](Scalar &s, Value x) { return s.apply(function, x); });
}

/// 1 / (1 + e^-x)
static Value sigmoidOf(Scalar &s, Value x) {
  Value one = s.constant(x.getType(), 1);
  return s.div(one, s.add(one, s.apply(Function::Exp, s.neg(x))));
}

static LogicalResult sigmoid(NodeContext &c) { return emitFloat(c, sigmoidOf); }

static LogicalResult reciprocal(NodeContext &c) {
  return emitFloat(c, [](Scalar &s, Value x) {
    return s.div(s.constant(x.getType(), 1), x);
  });
}

static LogicalResult relu(NodeContext &c) {
  if (failed(takesInputs(c, 1)))
    return failure();
  return emitElementwise(c, c.in(0).type, [](Scalar &s, ArrayRef<Value> in) {
    return s.max(in[0], s.constantInt(in[0].getType(), 0));
  });
}

/// x / 2 * (1 + erf(x / sqrt 2)), or its tanh approximation. In f32 these sums
/// lose digits below 0, as PyTorch's do. In 16 bits it is
/// x / 2 * erfc(-x / sqrt 2), or x * e^2y / (1 + e^2y), of which all digits are
/// right.
static LogicalResult gelu(NodeContext &c) {
  StringRef approximate = c.stringAttr("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return c.unsupported("Gelu with approximate = '" + approximate + "'");
  bool isNarrow = sizeOf(c.in(0).type) == 2;
  return emitFloat(c, [&](Scalar &s, Value x) {
    Type type = x.getType();
    Value inner;
    if (approximate == "tanh") {
      Value cube = s.mul(s.mul(x, x), x);
      Value sum = s.add(x, s.mul(s.constant(type, 0.044715), cube));
      inner = s.mul(s.constant(type, 0.7978845608028654), sum);
      if (isNarrow) {
        Value power =
            s.apply(Function::Exp, s.min(inner, s.constant(type, 20)));
        Value square = s.mul(power, power);
        return s.mul(x, s.div(square, s.add(s.constant(type, 1), square)));
      }
      inner = s.apply(Function::Tanh, inner);
    } else if (isNarrow) {
      inner = s.apply(Function::Erfc,
                      s.mul(x, s.constant(type, -0.7071067811865476)));
    } else {
      inner = s.apply(Function::Erf,
                      s.mul(x, s.constant(type, 0.7071067811865476)));
    }
    Value half = s.mul(x, s.constant(type, 0.5));
    return s.mul(half, isNarrow ? inner : s.add(inner, s.constant(type, 1)));
  });
}

static LogicalResult leakyRelu(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 0.01);
  return emitFloat(c, [&](Scalar &s, Value x) {
    Value scaled = s.mul(x, s.constant(x.getType(), alpha));
    return s.select(s.compare(Compare::LT, x, s.constant(x.getType(), 0)),
                    scaled, x);
  });
}

static LogicalResult prelu(NodeContext &c) {
  if (failed(takesInputs(c, 2)))
    return failure();
  std::optional<Shape> shape = broadcastShapes(c.in(0).shape, c.in(1).shape);
  if (shape != c.in(0).shape)
    return c.invalid("a slope of shape " + toString(c.in(1).shape) +
                     " does not broadcast to " + toString(c.in(0).shape));
  return emitElementwise(c, c.in(0).type, [](Scalar &s, ArrayRef<Value> in) {
    Value zero = s.constantInt(in[0].getType(), 0);
    return s.select(s.compare(Compare::LT, in[0], zero), s.mul(in[0], in[1]),
                    in[0]);
  });
}

/// scale * (x > 0 ? x : alpha * (e^(x / width) - 1))
static Value eluOf(Scalar &s, Value x, double alpha, double scale,
                   double width) {
  Type type = x.getType();
  Value inner = width == 1 ? x : s.div(x, s.constant(type, width));
  Value low = s.mul(s.apply(Function::Expm1, inner), s.constant(type, alpha));
  Value result =
      s.select(s.compare(Compare::LT, x, s.constant(type, 0)), low, x);
  return scale == 1 ? result : s.mul(result, s.constant(type, scale));
}

static LogicalResult elu(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 1);
  return emitFloat(
      c, [&](Scalar &s, Value x) { return eluOf(s, x, alpha, 1, 1); });
}

static LogicalResult celu(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 1);
  return emitFloat(
      c, [&](Scalar &s, Value x) { return eluOf(s, x, alpha, 1, alpha); });
}

static LogicalResult selu(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 1.67326319217681884765625);
  double gamma = c.floatAttr("gamma", 1.05070102214813232421875);
  return emitFloat(
      c, [&](Scalar &s, Value x) { return eluOf(s, x, alpha, gamma, 1); });
}

static Value hardSigmoidOf(Scalar &s, Value x, double alpha, double beta) {
  Type type = x.getType();
  Value line = s.add(s.mul(x, s.constant(type, alpha)), s.constant(type, beta));
  return s.min(s.max(line, s.constant(type, 0)), s.constant(type, 1));
}

static LogicalResult hardSigmoid(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 0.2), beta = c.floatAttr("beta", 0.5);
  return emitFloat(
      c, [&](Scalar &s, Value x) { return hardSigmoidOf(s, x, alpha, beta); });
}

static LogicalResult hardSwish(NodeContext &c) {
  return emitFloat(c, [](Scalar &s, Value x) {
    return s.mul(x, hardSigmoidOf(s, x, 1.0 / 6, 0.5));
  });
}

/// log(1 + e^x), as max(x, 0) + log(1 + e^-|x|), which cannot overflow.
static Value softplusOf(Scalar &s, Value x) {
  Value low = s.apply(Function::Log1p,
                      s.apply(Function::Exp, s.neg(s.apply(Function::Abs, x))));
  return s.add(s.max(x, s.constant(x.getType(), 0)), low);
}

static LogicalResult softplus(NodeContext &c) {
  return emitFloat(c, softplusOf);
}

static LogicalResult mish(NodeContext &c) {
  return emitFloat(c, [](Scalar &s, Value x) {
    return s.mul(x, s.apply(Function::Tanh, softplusOf(s, x)));
  });
}

static LogicalResult softsign(NodeContext &c) {
  return emitFloat(c, [](Scalar &s, Value x) {
    return s.div(x,
                 s.add(s.constant(x.getType(), 1), s.apply(Function::Abs, x)));
  });
}

static LogicalResult thresholdedRelu(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 1);
  return emitFloat(c, [&](Scalar &s, Value x) {
    Value keep = s.compare(Compare::GT, x, s.constant(x.getType(), alpha));
    return s.select(keep, x, s.constant(x.getType(), 0));
  });
}

static LogicalResult shrink(NodeContext &c) {
  double bias = c.floatAttr("bias", 0), lambda = c.floatAttr("lambd", 0.5);
  return emitFloat(c, [&](Scalar &s, Value x) {
    Type type = x.getType();
    Value shift = s.constant(type, bias);
    Value low = s.compare(Compare::LT, x, s.constant(type, -lambda));
    Value high = s.compare(Compare::GT, x, s.constant(type, lambda));
    return s.select(low, s.add(x, shift),
                    s.select(high, s.sub(x, shift), s.constant(type, 0)));
  });
}

void mlir::dist::frontend::addActivationConverters(ConverterTable &table) {
  table.add("Acos", 1, unary<Function::Acos>);
  table.add("Acosh", 1, unary<Function::Acosh>);
  table.add("Asin", 1, unary<Function::Asin>);
  table.add("Asinh", 1, unary<Function::Asinh>);
  table.add("Atan", 1, unary<Function::Atan>);
  table.add("Atanh", 1, unary<Function::Atanh>);
  table.add("Ceil", 1, unary<Function::Ceil>);
  table.add("Cos", 1, unary<Function::Cos>);
  table.add("Cosh", 1, unary<Function::Cosh>);
  table.add("Erf", 1, unary<Function::Erf>);
  table.add("Exp", 1, unary<Function::Exp>);
  table.add("Floor", 1, unary<Function::Floor>);
  table.add("Log", 1, unary<Function::Log>);
  table.add("Round", 1, unary<Function::Round>);
  table.add("Sin", 1, unary<Function::Sin>);
  table.add("Sinh", 1, unary<Function::Sinh>);
  table.add("Sqrt", 1, unary<Function::Sqrt>);
  table.add("Tan", 1, unary<Function::Tan>);
  table.add("Tanh", 1, unary<Function::Tanh>);
  table.add("Reciprocal", 1, reciprocal);
  table.add("Sigmoid", 1, sigmoid);
  table.add("Relu", 1, relu);
  table.add("Gelu", 1, gelu);
  table.add("LeakyRelu", 1, leakyRelu);
  table.add("PRelu", 2, prelu);
  table.add("Elu", 1, elu);
  table.add("Celu", 1, celu);
  table.add("Selu", 1, selu);
  table.add("HardSigmoid", 1, hardSigmoid);
  table.add("HardSwish", 1, hardSwish);
  table.add("Softplus", 1, softplus);
  table.add("Softsign", 1, softsign);
  table.add("Mish", 1, mish);
  table.add("ThresholdedRelu", 1, thresholdedRelu);
  table.add("Shrink", 1, shrink);
  table.takeOpenSizes({"Acos",        "Acosh",
                       "Asin",        "Asinh",
                       "Atan",        "Atanh",
                       "Ceil",        "Cos",
                       "Cosh",        "Erf",
                       "Exp",         "Floor",
                       "Log",         "Round",
                       "Sin",         "Sinh",
                       "Sqrt",        "Tan",
                       "Tanh",        "Reciprocal",
                       "Sigmoid",     "Relu",
                       "Gelu",        "LeakyRelu",
                       "PRelu",       "Elu",
                       "Celu",        "Selu",
                       "HardSigmoid", "HardSwish",
                       "Softplus",    "Softsign",
                       "Mish",        "ThresholdedRelu",
                       "Shrink"});
}
