//===- Elementwise.cpp - Converters of elementwise operators --------------===//

#include "Elementwise.h"

#include <cmath>

using namespace mlir;
using namespace mlir::dist::frontend;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

LogicalResult mlir::dist::frontend::emitElementwise(NodeContext &c,
                                                    DType result,
                                                    Emitter::Body body) {
  Shape shape = c.in(0).shape;
  SmallVector<Value> operands;
  for (size_t i = 0; i < c.numInputs(); ++i) {
    FailureOr<Shape> both = c.broadcastOf(shape, c.in(i).shape);
    if (failed(both))
      return failure();
    shape = *both;
    operands.push_back(c.operand(i));
  }
  c.set(0, c.emitter.map(operands, shape, c.emitter.typeOf(result), body),
        result);
  return success();
}

LogicalResult mlir::dist::frontend::takesInputs(NodeContext &c, size_t inputs) {
  for (size_t i = 0; i < inputs; ++i)
    if (!c.has(i) || c.in(i).isSequence)
      return c.invalid("input " + Twine(i) + " is missing or not a tensor");
  if (c.numInputs() > inputs)
    return c.invalid(Twine(c.numInputs()) + " inputs instead of " +
                     Twine(inputs));
  return success();
}

LogicalResult mlir::dist::frontend::emitFloat(
    NodeContext &c, llvm::function_ref<Value(Scalar &, Value)> body) {
  if (failed(takesInputs(c, 1)))
    return failure();
  // Functions of 16 bits are those of f32, rounded once, as in PyTorch.
  DType type = c.in(0).type, inner = sizeOf(type) == 2 ? DType::F32 : type;
  return emitElementwise(c, type, [&](Scalar &s, ArrayRef<Value> in) {
    return s.cast(body(s, s.cast(in[0], type, inner)), inner, type);
  });
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

enum class Binary { Add, Sub, Mul, Div };

/// The divisor of a branch that is not taken must not be used.
static Value divisor(NodeContext &c, Scalar &s, Value value) {
  return isFloat(c.in(0).type) ? value : c.emitter.whereTaken(s, value, 1);
}

template <Binary kind> static LogicalResult binary(NodeContext &c) {
  if (failed(takesInputs(c, 2)))
    return failure();
  bool plain = isUnsigned(c.in(0).type);
  return emitElementwise(c, c.in(0).type, [&](Scalar &s, ArrayRef<Value> in) {
    switch (kind) {
    case Binary::Add:
      return s.add(in[0], in[1]);
    case Binary::Sub:
      return s.sub(in[0], in[1]);
    case Binary::Mul:
      return s.mul(in[0], in[1]);
    case Binary::Div:
      return s.div(in[0], divisor(c, s, in[1]), plain);
    }
    return Value();
  });
}

static LogicalResult mod(NodeContext &c) {
  if (failed(takesInputs(c, 2)))
    return failure();
  bool likeC = c.boolAttr("fmod", false);
  bool plain = isUnsigned(c.in(0).type);
  if (!likeC && isFloat(c.in(0).type))
    return c.invalid("Mod of floating point needs fmod = 1");
  return emitElementwise(c, c.in(0).type, [&](Scalar &s, ArrayRef<Value> in) {
    Value by = divisor(c, s, in[1]);
    return likeC ? s.rem(in[0], by, plain) : s.floorMod(in[0], by, plain);
  });
}

static LogicalResult power(NodeContext &c) {
  if (failed(takesInputs(c, 2)))
    return failure();
  DType base = c.in(0).type, exponent = c.in(1).type;
  std::optional<double> known;
  if (c.in(1).known && c.in(1).known->isSplat() &&
      !isOpen(c.in(1).known->getInt(0)))
    known = c.in(1).known->getFloat(0);
  bool isUsual = known == 1.0 || known == 2.0 || known == 3.0;
  if (sizeOf(base) == 0 || sizeOf(exponent) == 0)
    return c.unsupported("Pow of type " + nameOf(base));
  DType inner = base;
  if (isFloat(base) && sizeOf(base) == 2)
    inner = DType::F32;
  else if (!isFloat(base) && isFloat(exponent) && !isUsual)
    inner = DType::F64;
  return emitElementwise(c, base, [&](Scalar &s, ArrayRef<Value> in) {
    Value x = s.cast(in[0], base, inner);
    auto raise = [&]() -> Value {
      // The exponents that models use, as PyTorch computes them.
      if (known == 1.0)
        return x;
      if (known == 2.0)
        return s.mul(x, x);
      if (known == 3.0)
        return s.mul(s.mul(x, x), x);
      if (known == -1.0 && isFloat(base))
        return s.div(s.constant(x.getType(), 1), x);
      if (!isFloat(inner))
        return s.pow(x, in[1], isUnsigned(base), isUnsigned(exponent));
      return s.pow(x, s.cast(in[1], exponent, inner));
    };
    return s.cast(raise(), inner, base);
  });
}

enum class Variadic { Sum, Mean, Max, Min };

template <Variadic kind> static LogicalResult variadic(NodeContext &c) {
  if (c.numInputs() == 0)
    return c.invalid("no inputs");
  if (failed(takesInputs(c, c.numInputs())))
    return failure();
  bool plain = isUnsigned(c.in(0).type);
  double inputs = c.numInputs();
  return emitElementwise(c, c.in(0).type, [&](Scalar &s, ArrayRef<Value> in) {
    Value result = in[0];
    for (Value next : in.drop_front()) {
      if (kind == Variadic::Max)
        result = s.max(result, next, plain);
      else if (kind == Variadic::Min)
        result = s.min(result, next, plain);
      else
        result = s.add(result, next);
    }
    if (kind == Variadic::Mean)
      result = s.div(result, s.constant(result.getType(), inputs), plain);
    return result;
  });
}

static LogicalResult negate(NodeContext &c) {
  if (failed(takesInputs(c, 1)))
    return failure();
  return emitElementwise(c, c.in(0).type, [](Scalar &s, ArrayRef<Value> in) {
    return s.neg(in[0]);
  });
}

static LogicalResult absolute(NodeContext &c) {
  if (failed(takesInputs(c, 1)))
    return failure();
  bool plain = isUnsigned(c.in(0).type);
  return emitElementwise(c, c.in(0).type, [&](Scalar &s, ArrayRef<Value> in) {
    return plain ? in[0] : s.apply(Function::Abs, in[0]);
  });
}

static LogicalResult sign(NodeContext &c) {
  if (failed(takesInputs(c, 1)))
    return failure();
  bool plain = isUnsigned(c.in(0).type);
  return emitElementwise(c, c.in(0).type, [&](Scalar &s, ArrayRef<Value> in) {
    return s.sign(in[0], plain);
  });
}

/// min(max(x, low), high): NaN stays NaN.
static LogicalResult clip(NodeContext &c) {
  DType type = c.in(0).type;
  bool plain = isUnsigned(type);
  SmallVector<Value> operands{c.value(0)};
  for (size_t i : {1, 2}) {
    if (!c.has(i))
      continue;
    if (c.in(i).type != type || countElements(c.in(i).shape).value_or(0) != 1)
      return c.invalid("a bound must be one number of type " + nameOf(type));
    Value bound = c.operand(i);
    if (isa<RankedTensorType>(bound.getType()))
      bound = c.emitter.reshape(bound, {});
    operands.push_back(bound);
  }
  Value result = c.emitter.map(operands, c.in(0).shape, c.emitter.typeOf(type),
                               [&](Scalar &s, ArrayRef<Value> in) {
                                 Value value = in[0];
                                 size_t next = 1;
                                 if (c.has(1))
                                   value = s.max(value, in[next++], plain);
                                 if (c.has(2))
                                   value = s.min(value, in[next++], plain);
                                 return value;
                               });
  c.set(0, result, type);
  return success();
}

//===----------------------------------------------------------------------===//
// Comparison, logic, choice
//===----------------------------------------------------------------------===//

template <Compare predicate> static LogicalResult compare(NodeContext &c) {
  if (failed(takesInputs(c, 2)))
    return failure();
  bool plain = isUnsigned(c.in(0).type);
  return emitElementwise(c, DType::Bool, [&](Scalar &s, ArrayRef<Value> in) {
    return s.compare(predicate, in[0], in[1], plain);
  });
}

enum class Logic { And, Or, Xor };

template <Logic kind> static LogicalResult logic(NodeContext &c) {
  if (failed(takesInputs(c, 2)))
    return failure();
  return emitElementwise(c, c.in(0).type, [](Scalar &s, ArrayRef<Value> in) {
    return kind == Logic::And  ? s.bitAnd(in[0], in[1])
           : kind == Logic::Or ? s.bitOr(in[0], in[1])
                               : s.bitXor(in[0], in[1]);
  });
}

static LogicalResult logicalNot(NodeContext &c) {
  if (failed(takesInputs(c, 1)))
    return failure();
  return emitElementwise(c, c.in(0).type, [](Scalar &s, ArrayRef<Value> in) {
    return s.bitNot(in[0]);
  });
}

static LogicalResult bitShift(NodeContext &c) {
  if (failed(takesInputs(c, 2)))
    return failure();
  StringRef direction = c.stringAttr("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return c.unsupported("BitShift with direction '" + direction + "'");
  bool left = direction == "LEFT";
  DType type = c.in(0).type;
  bool plain = isUnsigned(type);
  return emitElementwise(c, type, [&](Scalar &s, ArrayRef<Value> in) {
    Type element = in[0].getType();
    // As in NumPy, nothing but the sign is left beyond the width; arith says
    // nothing there.
    int64_t bits = 8 * sizeOf(type);
    Value amount = s.min(in[1], s.constantInt(element, bits - 1), true);
    if (!left && !plain)
      return s.shiftRight(in[0], amount, false);
    Value shifted =
        left ? s.shiftLeft(in[0], amount) : s.shiftRight(in[0], amount, true);
    return s.select(
        s.compare(Compare::LT, in[1], s.constantInt(element, bits), true),
        shifted, s.constantInt(element, 0));
  });
}

static LogicalResult where(NodeContext &c) {
  if (failed(takesInputs(c, 3)))
    return failure();
  return emitElementwise(c, c.in(1).type, [](Scalar &s, ArrayRef<Value> in) {
    return s.select(in[0], in[1], in[2]);
  });
}

static LogicalResult isNaN(NodeContext &c) {
  if (failed(takesInputs(c, 1)))
    return failure();
  return emitElementwise(c, DType::Bool, [](Scalar &s, ArrayRef<Value> in) {
    return s.isNaN(in[0]);
  });
}

static LogicalResult isInf(NodeContext &c) {
  if (failed(takesInputs(c, 1)))
    return failure();
  bool negative = c.boolAttr("detect_negative", true);
  bool positive = c.boolAttr("detect_positive", true);
  return emitElementwise(c, DType::Bool, [&](Scalar &s, ArrayRef<Value> in) {
    Type type = in[0].getType();
    Value result = s.boolean(false);
    if (positive)
      result = s.bitOr(
          result, s.compare(Compare::EQ, in[0], s.constant(type, INFINITY)));
    if (negative)
      result = s.bitOr(
          result, s.compare(Compare::EQ, in[0], s.constant(type, -INFINITY)));
    return result;
  });
}

static LogicalResult castTo(NodeContext &c, DType to) {
  DType from = c.in(0).type;
  if (sizeOf(to) == 0)
    return c.unsupported("Cast to " + nameOf(to));
  if (from == to) {
    c.set(0, c.in(0));
    return success();
  }
  // Also where the tensor that CastLike takes its type from is not known.
  const std::optional<HostTensor> &known = c.in(0).known;
  bool open = known && from == DType::I64 && hasOpen(known->getInts());
  if (known && !open && isSmall(to, known->size()) && from != DType::U64 &&
      to != DType::U64) {
    HostTensor result(to, known->getShape());
    for (int64_t i = 0; i < result.size(); ++i) {
      if (isFloat(from))
        result.setFloat(i, known->getFloat(i));
      else
        result.setInt(i, known->getInt(i));
    }
    c.set(0, result);
    return success();
  }
  c.set(0, c.emitter.cast(c.value(0), from, to), to);
  return success();
}

static LogicalResult castOp(NodeContext &c) {
  if (failed(takesInputs(c, 1)))
    return failure();
  return castTo(c, static_cast<DType>(c.intAttr("to", 0)));
}

static LogicalResult castLike(NodeContext &c) {
  if (failed(takesInputs(c, 2)))
    return failure();
  return castTo(c, c.in(1).type);
}

void mlir::dist::frontend::addElementwiseConverters(ConverterTable &table) {
  table.add("Add", 2, binary<Binary::Add>);
  table.add("Sub", 2, binary<Binary::Sub>);
  table.add("Mul", 2, binary<Binary::Mul>);
  table.add("Div", 2, binary<Binary::Div>);
  table.add("Mod", 2, mod);
  table.add("Pow", 2, power);
  table.add("Sum", 1, variadic<Variadic::Sum>);
  table.add("Mean", 1, variadic<Variadic::Mean>);
  table.add("Max", 1, variadic<Variadic::Max>);
  table.add("Min", 1, variadic<Variadic::Min>);
  table.add("Neg", 1, negate);
  table.add("Abs", 1, absolute);
  table.add("Sign", 1, sign);
  table.add("Clip", 1, clip);

  table.add("Equal", 2, compare<Compare::EQ>);
  table.add("Less", 2, compare<Compare::LT>);
  table.add("LessOrEqual", 2, compare<Compare::LE>);
  table.add("Greater", 2, compare<Compare::GT>);
  table.add("GreaterOrEqual", 2, compare<Compare::GE>);
  table.add("And", 2, logic<Logic::And>);
  table.add("Or", 2, logic<Logic::Or>);
  table.add("Xor", 2, logic<Logic::Xor>);
  table.add("Not", 1, logicalNot);
  table.add("BitwiseAnd", 2, logic<Logic::And>);
  table.add("BitwiseOr", 2, logic<Logic::Or>);
  table.add("BitwiseXor", 2, logic<Logic::Xor>);
  table.add("BitwiseNot", 1, logicalNot);
  table.add("BitShift", 2, bitShift);
  table.add("Where", 3, where);
  table.add("IsNaN", 1, isNaN);
  table.add("IsInf", 1, isInf);
  table.add("Cast", 1, castOp);
  table.add("CastLike", 2, castLike);
  table.takeOpenSizes({"Add",
                       "Sub",
                       "Mul",
                       "Div",
                       "Mod",
                       "Pow",
                       "Sum",
                       "Mean",
                       "Max",
                       "Min",
                       "Neg",
                       "Abs",
                       "Sign",
                       "Clip",
                       "Equal",
                       "Less",
                       "LessOrEqual",
                       "Greater",
                       "GreaterOrEqual",
                       "And",
                       "Or",
                       "Xor",
                       "Not",
                       "BitwiseAnd",
                       "BitwiseOr",
                       "BitwiseXor",
                       "BitwiseNot",
                       "BitShift",
                       "Where",
                       "IsNaN",
                       "IsInf",
                       "Cast",
                       "CastLike"});
}
