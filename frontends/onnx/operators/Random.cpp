//===- Random.cpp - Converters of operators that draw random numbers ------===//
//
// Elements are drawn by their position in the whole tensor. So a device with a
// part of it, and a gradient that recomputes them, draw the same numbers.
// docs/internals/training.md has the formulas.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::dist::frontend;

namespace {
/// What an operator draws with: the seed, the step and its number.
class Draw {
public:
  /// By the seed that the node has, else by the program's.
  explicit Draw(NodeContext &c)
      : emitter(c.emitter), number(c.emitter.nextRandom()) {
    auto [programSeed, programStep] = c.emitter.randomKey();
    step = programStep;
    if (c.node.op != "Dropout" && c.hasAttr("seed"))
      own =
          llvm::bit_cast<uint32_t>(static_cast<float>(c.floatAttr("seed", 0)));
    else
      seed = programSeed;
  }

  /// A tensor of `shape`, of four words an element.
  using Body = llvm::function_ref<Value(LoopScalar &, ArrayRef<Value> in,
                                        std::array<Value, 4> words)>;
  Value map(ArrayRef<Value> operands, ArrayRef<int64_t> shape, Type element,
            Body body) const {
    SmallVector<Value> all(operands);
    all.push_back(step);
    if (seed)
      all.push_back(seed);
    size_t count = operands.size();
    return emitter.mapPositions(
        all, shape, element, [&](LoopScalar &s, ArrayRef<Value> in) {
          Value key =
              seed ? in[count + 1] : s.constantInt(in[count].getType(), own);
          return body(s, in.take_front(count),
                      emitter.randomWords(s, key, in[count], number, shape));
        });
  }

private:
  Emitter &emitter;
  int64_t number;
  Value step, seed;
  uint32_t own = 0;
};

/// Numbers in [0, 1) and (0, 1], of the type that they are computed in.
class Unit {
public:
  Unit(Emitter &emitter, LoopScalar &s, DType type)
      : s(s), type(type), element(emitter.typeOf(type)) {}

  /// As many bits as the type has: of f64 the upper 27 and 26 of two words,
  /// else the upper 24 of one.
  Value below(Value high, Value low) {
    if (type != DType::F64)
      return scale(shift(high, 8), -24);
    Value bits =
        s.add(s.mul(shift(high, 5), number(high, 1 << 26)), shift(low, 6));
    return scale(bits, -53);
  }
  /// Never 0, of which there is no logarithm.
  Value above(Value high, Value low) {
    if (type == DType::F64)
      return s.sub(s.constant(element, 1), below(high, low));
    return scale(s.add(high, number(high, 1)), -32);
  }

private:
  Value number(Value like, int64_t value) {
    return s.constantInt(like.getType(), value);
  }
  Value shift(Value word, int64_t by) {
    return s.shiftRight(word, number(word, by), /*isUnsigned=*/true);
  }
  Value scale(Value bits, int exponent) {
    return s.mul(s.cast(bits, DType::I64, type),
                 s.constant(element, std::ldexp(1.0, exponent)));
  }

  LoopScalar &s;
  DType type;
  Type element;
};
} // namespace

static LogicalResult dropout(NodeContext &c) {
  if (c.has(2) && !c.number(2))
    return c.unsupported("Dropout whose mode is computed at run time");
  const Tensor &data = c.in(0);
  Emitter &e = c.emitter;
  bool isTraining = c.has(2) && *c.number(2) != 0;
  std::optional<double> ratio = 0.5;
  if (isTraining && c.has(1))
    ratio = c.number(1);
  if (!ratio)
    return c.unsupported("Dropout by a ratio computed at run time");
  if (!(*ratio >= 0 && *ratio <= 1))
    return c.invalid("the ratio is " + std::to_string(*ratio) +
                     ", and must be at least 0 and at most 1");
  if (!isTraining || *ratio == 0) {
    if (c.wants(1)) {
      HostTensor one(DType::Bool, {});
      one.setInt(0, 1);
      Tensor all;
      all.type = DType::Bool;
      all.known = one;
      c.set(1, c.broadcast(all, data.shape));
    }
    c.set(0, data);
    return success();
  }

  Draw draw(c);
  // Of 2^32 numbers, how many drop an element.
  auto threshold = static_cast<int64_t>(std::llround(std::ldexp(*ratio, 32)));
  auto isKept = [&](LoopScalar &s, Value bits) {
    return s.compare(Compare::GE, bits,
                     s.constantInt(bits.getType(), threshold));
  };
  Type element = e.typeOf(data.type);
  double scale = *ratio < 1 ? 1 / (1 - *ratio) : 0;
  c.set(0,
        draw.map(
            c.value(0), data.shape, element,
            [&](LoopScalar &s, ArrayRef<Value> in, std::array<Value, 4> words) {
              Value kept = isKept(s, words[0]);
              Value scaled = s.mul(in[0], s.constant(element, scale));
              return s.select(kept, scaled, s.constant(element, 0));
            }),
        data.type);
  if (c.wants(1))
    c.set(1,
          draw.map(
              {}, data.shape, e.typeOf(DType::Bool),
              [&](LoopScalar &s, ArrayRef<Value>, std::array<Value, 4> words) {
                return isKept(s, words[0]);
              }),
          DType::Bool);
  return success();
}

/// The shape that a node asks for, in an attribute or by a tensor that has it,
/// and the type.
static LogicalResult findKind(NodeContext &c, Shape &shape, DType &type) {
  type = DType::F32;
  if (c.numInputs() > 0) {
    shape = c.in(0).shape;
    type = c.in(0).type;
  } else {
    std::optional<SmallVector<int64_t>> sizes = c.intsAttr("shape");
    if (!sizes)
      return c.invalid("has no shape");
    if (llvm::any_of(*sizes, [](int64_t size) { return size < 0; }))
      return c.invalid("asks for a tensor of a negative size");
    shape.assign(sizes->begin(), sizes->end());
  }
  type = static_cast<DType>(c.intAttr("dtype", static_cast<int64_t>(type)));
  return success();
}

/// What numbers of a type are drawn in.
static DType getDrawnType(DType type) {
  return type == DType::F64 ? DType::F64 : DType::F32;
}

/// A tensor of floats. `drawn` computes each from four words, in f64 for f64
/// and else in f32.
using Drawn =
    llvm::function_ref<Value(LoopScalar &, DType, std::array<Value, 4> words)>;
static LogicalResult drawFloats(NodeContext &c, Drawn drawn) {
  Shape shape;
  DType type;
  if (failed(findKind(c, shape, type)))
    return failure();
  if (!isFloat(type))
    return c.unsupported(c.node.op + " of type " + nameOf(type));
  DType wide = getDrawnType(type);
  Draw draw(c);
  c.set(
      0,
      draw.map({}, shape, c.emitter.typeOf(type),
               [&](LoopScalar &s, ArrayRef<Value>, std::array<Value, 4> words) {
                 return s.cast(drawn(s, wide, words), wide, type);
               }),
      type);
  return success();
}

static double getLargest(NodeContext &c, DType type) {
  auto element = cast<FloatType>(c.emitter.typeOf(type));
  return llvm::APFloat::getLargest(element.getFloatSemantics())
      .convertToDouble();
}

/// Whether there are numbers from `low` to `high`, and types have what they are
/// made of.
static LogicalResult checkRange(NodeContext &c, double low, double high) {
  Shape shape;
  DType type;
  if (failed(findKind(c, shape, type)))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "low is " << llvm::format("%g", low) << " and high "
     << llvm::format("%g", high);
  if (!(low <= high))
    return c.invalid(text + ", and low must be at most high");
  if (!isFloat(type))
    return success();
  DType wide = getDrawnType(type);
  if (std::max(std::abs(low), std::abs(high)) > getLargest(c, type))
    os << ", and the largest number of " << nameOf(type) << " is "
       << llvm::format("%g", getLargest(c, type));
  else if (high - low > getLargest(c, wide))
    os << ", and their distance is more than the largest number of "
       << nameOf(wide) << ", " << llvm::format("%g", getLargest(c, wide));
  else
    return success();
  return c.invalid(text);
}

static LogicalResult randomUniform(NodeContext &c) {
  double low = c.floatAttr("low", 0), high = c.floatAttr("high", 1);
  if (failed(checkRange(c, low, high)))
    return failure();
  return drawFloats(
      c, [&](LoopScalar &s, DType wide, std::array<Value, 4> words) {
        Type element = c.emitter.typeOf(wide);
        Value unit = Unit(c.emitter, s, wide).below(words[0], words[1]);
        return s.add(s.mul(unit, s.constant(element, high - low)),
                     s.constant(element, low));
      });
}

/// Box and Muller, "A Note on the Generation of Random Normal Deviates" (1958).
static LogicalResult randomNormal(NodeContext &c) {
  constexpr double kTwoPi = 6.283185307179586;
  double mean = c.floatAttr("mean", 0), deviation = c.floatAttr("scale", 1);
  return drawFloats(
      c, [&](LoopScalar &s, DType wide, std::array<Value, 4> words) {
        Type element = c.emitter.typeOf(wide);
        Unit unit(c.emitter, s, wide);
        auto times = [&](Value value, double factor) {
          return s.mul(value, s.constant(element, factor));
        };
        Value above = unit.above(words[0], words[1]);
        Value turn = wide == DType::F64 ? unit.below(words[2], words[3])
                                        : unit.below(words[1], words[1]);
        Value radius =
            s.apply(Function::Sqrt, times(s.apply(Function::Log, above), -2));
        Value cosine = s.apply(Function::Cos, times(turn, kTwoPi));
        return s.add(times(s.mul(radius, cosine), deviation),
                     s.constant(element, mean));
      });
}

static LogicalResult bernoulli(NodeContext &c) {
  Shape shape;
  DType type;
  if (failed(findKind(c, shape, type)))
    return failure();
  DType given = c.in(0).type;
  if (!isFloat(given) || sizeOf(type) == 0)
    return c.unsupported("Bernoulli of type " + nameOf(given) + " to " +
                         nameOf(type));
  Draw draw(c);
  c.set(0,
        draw.map(
            c.value(0), shape, c.emitter.typeOf(type),
            [&](LoopScalar &s, ArrayRef<Value> in, std::array<Value, 4> words) {
              // Of 2^32 numbers, how many are less; all of it is exact.
              Value bound =
                  s.mul(s.cast(in[0], given, DType::F64),
                        s.constant(c.emitter.typeOf(DType::F64), 0x1p32));
              Value word = s.cast(words[0], DType::I64, DType::F64);
              return s.cast(s.compare(Compare::LT, word, bound), DType::Bool,
                            type);
            }),
        type);
  return success();
}

void mlir::dist::frontend::addRandomConverters(ConverterTable &table) {
  table.add("Bernoulli", 1, bernoulli);
  table.add("Dropout", 1, dropout);
  table.add("RandomNormal", 0, randomNormal);
  table.add("RandomNormalLike", 1, randomNormal);
  table.add("RandomUniform", 0, randomUniform);
  table.add("RandomUniformLike", 1, randomUniform);
  table.takeOpenSizes(
      {"Bernoulli", "Dropout", "RandomNormalLike", "RandomUniformLike"});
}
