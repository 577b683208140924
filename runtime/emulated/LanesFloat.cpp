//===- LanesFloat.cpp - Floating-point arithmetic of 32 lanes -------------===//
//
// .rn of f32 and f64 is the processor's own; the other roundings and formats go
// by double, rounded to odd. `.approx` and `.full` are computed in double and
// rounded once, which lies within the bounds that PTX gives for them.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulated/Lanes.h"
#include "runtime/emulated/Numbers.h"

#include <cfenv>
#include <limits>

using namespace dist;
using namespace dist::emulated;

namespace {

#define LANES                                                                  \
  [](const Operation &op, void *d, const void *a, const void *b,               \
     const void *c, uint32_t mask)

float canonical(float x) {
  return x == x ? x : std::bit_cast<float>(0x7fffffff);
}
double canonical(double x) { return x; }

// f32 and f64, rounded to nearest.
template <class T> LaneFunction fast(LaneOp op) {
  switch (op) {
  case LaneOp::Add:
    return LANES {
      Lanes<T> x(a), y(b);
      eachLane<T>(d, mask,
                  [&](unsigned l) { return canonical(x.at[l] + y.at[l]); });
    };
  case LaneOp::Sub:
    return LANES {
      Lanes<T> x(a), y(b);
      eachLane<T>(d, mask,
                  [&](unsigned l) { return canonical(x.at[l] - y.at[l]); });
    };
  case LaneOp::Mul:
    return LANES {
      Lanes<T> x(a), y(b);
      eachLane<T>(d, mask,
                  [&](unsigned l) { return canonical(x.at[l] * y.at[l]); });
    };
  case LaneOp::Div:
    return LANES {
      Lanes<T> x(a), y(b);
      eachLane<T>(d, mask,
                  [&](unsigned l) { return canonical(x.at[l] / y.at[l]); });
    };
  case LaneOp::Fma:
    return LANES {
      Lanes<T> x(a), y(b), z(c);
      eachLane<T>(d, mask, [&](unsigned l) {
        return canonical(std::fma(x.at[l], y.at[l], z.at[l]));
      });
    };
  case LaneOp::Sqrt:
    return LANES {
      Lanes<T> x(a);
      eachLane<T>(d, mask,
                  [&](unsigned l) { return canonical(std::sqrt(x.at[l])); });
    };
  case LaneOp::Rcp:
    return LANES {
      Lanes<T> x(a);
      eachLane<T>(d, mask, [&](unsigned l) { return canonical(1 / x.at[l]); });
    };
  default:
    return nullptr;
  }
}

/// The result in double, which rounded once more is the exact one's rounding.
template <LaneOp which> double compute(double x, double y, double z) {
  switch (which) {
  case LaneOp::Add:
    return addOdd(x, y);
  case LaneOp::Sub:
    return addOdd(x, -y);
  case LaneOp::Mul: // exact
    return x * y;
  case LaneOp::Fma: {
    double product = x * y;
    return std::isfinite(product) ? addOdd(product, z) : product + z;
  }
  // These two lie no nearer to a number of 25 bits than 2^-50, unless they are
  // one: rounding twice is rounding once.
  case LaneOp::Div:
    return x / y;
  case LaneOp::Rcp:
    return 1 / x;
  case LaneOp::Sqrt:
    return std::sqrt(x);
  case LaneOp::Rsqrt:
    return 1 / std::sqrt(x);
  case LaneOp::Exp2:
    return std::exp2(x);
  case LaneOp::Log2:
    return std::log2(x);
  case LaneOp::Sin:
    return std::sin(x);
  case LaneOp::Cos:
    return std::cos(x);
  case LaneOp::Tanh:
    return std::tanh(x);
  default:
    return NAN;
  }
}

/// min and max of numbers: of a NaN the other, but for .NaN; -0 is below +0.
template <class T> T extremum(T x, T y, bool isMax, bool keepsNaN) {
  if (x != x || y != y)
    return keepsNaN ? T(NAN) : x != x ? y : x;
  if (x == y)
    return std::signbit(x) == isMax ? y : x;
  return (x < y) == isMax ? y : x;
}

template <class F, LaneOp which>
typename F::Bits one(const Operation &op, typename F::Bits a,
                     typename F::Bits b, typename F::Bits c) {
  double x = decode<F>(a), y = decode<F>(b), z = decode<F>(c);
  if (op.isFlushed) {
    x = flushed<F>(x);
    y = flushed<F>(y);
    z = flushed<F>(z);
  }
  double result;
  if (which == LaneOp::Min || which == LaneOp::Max) {
    result = extremum(x, y, which == LaneOp::Max, op.keepsNaN);
    if (op.c != kNoSlot)
      result = extremum(result, z, which == LaneOp::Max, op.keepsNaN);
  } else {
    result = compute<which>(x, y, z);
  }
  if (op.isRectified && result < 0)
    result = 0;
  if (op.isSaturated)
    result = result > 0 ? std::fmin(result, 1) : 0;
  if (result != result)
    return nanOf<F>();
  typename F::Bits bits = encode<F>(result, op.rounding);
  if (op.isFlushed)
    bits = encode<F>(flushed<F>(decode<F>(bits)));
  return bits;
}

template <class F, LaneOp which>
void slow(const Operation &op, void *d, const void *a, const void *b,
          const void *c, uint32_t mask) {
  using Bits = typename F::Bits;
  // What is not an operand is any memory of 32 lanes.
  Lanes<Bits> x(a), y(b ? b : a), z(c ? c : a);
  eachLane<Bits>(d, mask, [&](unsigned l) {
    return one<F, which>(op, x.at[l], y.at[l], z.at[l]);
  });
}

/// Two halves, or two of f32.
template <class F, class Pair, LaneOp which>
void packed(const Operation &op, void *d, const void *a, const void *b,
            const void *c, uint32_t mask) {
  using Bits = typename F::Bits;
  constexpr unsigned width = 8 * sizeof(Bits);
  Lanes<Pair> x(a), y(b ? b : a), z(c ? c : a);
  eachLane<Pair>(d, mask, [&](unsigned l) {
    Pair u = x.at[l], v = y.at[l], w = z.at[l];
    Pair low = one<F, which>(op, Bits(u), Bits(v), Bits(w));
    Pair high = one<F, which>(op, Bits(u >> width), Bits(v >> width),
                              Bits(w >> width));
    return high << width | low;
  });
}

/// f64 with another rounding than to nearest.
template <LaneOp which>
void directed(const Operation &op, void *d, const void *a, const void *b,
              const void *c, uint32_t mask) {
#pragma STDC FENV_ACCESS ON
  static constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                  FE_UPWARD};
  Lanes<double> x(a), y(b ? b : a), z(c ? c : a), result;
  int before = std::fegetround();
  std::fesetround(modes[int(op.rounding)]);
  for (unsigned l = 0; l < kLanes; ++l) {
    volatile double u = x.at[l], v = y.at[l], w = z.at[l], r = 0;
    switch (which) {
    case LaneOp::Add:
      r = u + v;
      break;
    case LaneOp::Sub:
      r = u - v;
      break;
    case LaneOp::Mul:
      r = u * v;
      break;
    case LaneOp::Div:
      r = u / v;
      break;
    case LaneOp::Rcp:
      r = 1 / u;
      break;
    case LaneOp::Sqrt:
      r = std::sqrt(u);
      break;
    default:
      r = std::fma(u, v, w);
      break;
    }
    result.at[l] = r;
  }
  std::fesetround(before);
  writeLanes(d, result, mask);
}

template <LaneOp which> LaneFunction general(Type type, Rounding rounding) {
  switch (type) {
  case Type::F16:
    return slow<Half, which>;
  case Type::BF16:
    return slow<Brain, which>;
  case Type::F16x2:
    return packed<Half, uint32_t, which>;
  case Type::BF16x2:
    return packed<Brain, uint32_t, which>;
  case Type::F32x2:
    return packed<Single, uint64_t, which>;
  case Type::F32:
    return slow<Single, which>;
  case Type::F64:
    if (rounding != Rounding::Nearest)
      return directed<which>;
    return slow<Double, which>;
  default:
    return nullptr;
  }
}

/// Bits of signs, which have no arithmetic and keep NaN.
template <class T, unsigned sign> LaneFunction signs(LaneOp op) {
  constexpr T bit = T(T(1) << sign) | (sizeof(T) == 4 && sign == 15
                                           ? T(0x80000000u)
                                           : T(0));
  switch (op) {
  case LaneOp::Neg:
    return LANES {
      Lanes<T> x(a);
      eachLane<T>(d, mask, [&](unsigned l) { return T(x.at[l] ^ bit); });
    };
  case LaneOp::Abs:
    return LANES {
      Lanes<T> x(a);
      eachLane<T>(d, mask, [&](unsigned l) { return T(x.at[l] & ~bit); });
    };
  default: // copysign.f d, a, b: a's sign with b's magnitude
    return LANES {
      Lanes<T> x(a), y(b);
      eachLane<T>(d, mask, [&](unsigned l) {
        return T((x.at[l] & bit) | (y.at[l] & ~bit));
      });
    };
  }
}

/// neg.ftz and abs.ftz of f32.
template <LaneOp which>
void flushedSign(const Operation &op, void *d, const void *a, const void *b,
                 const void *c, uint32_t mask) {
  Lanes<float> x(a);
  eachLane<float>(d, mask, [&](unsigned l) {
    float value = flushed<Single>(x.at[l]);
    return which == LaneOp::Neg ? -value : std::fabs(value);
  });
}

template <class T, bool isMax>
void fastExtremum(const Operation &op, void *d, const void *a, const void *b,
                  const void *c, uint32_t mask) {
  Lanes<T> x(a), y(b), z(c ? c : b); // twice the same changes nothing
  eachLane<T>(d, mask, [&](unsigned l) {
    T value = extremum(x.at[l], y.at[l], isMax, op.keepsNaN);
    return canonical(extremum(value, z.at[l], isMax, op.keepsNaN));
  });
}

} // namespace

LaneFunction emulated::floatFunction(LaneOp op, const Operation &operation) {
  Type type = operation.type;
  bool isPlain = !operation.isFlushed && !operation.isSaturated &&
                 !operation.isRectified;
  if (op == LaneOp::Neg || op == LaneOp::Abs || op == LaneOp::CopySign) {
    switch (type) {
    case Type::F16:
    case Type::BF16:
      return signs<uint16_t, 15>(op);
    case Type::F16x2:
    case Type::BF16x2:
      return signs<uint32_t, 15>(op);
    case Type::F32:
      if (operation.isFlushed)
        return op == LaneOp::Neg ? flushedSign<LaneOp::Neg>
                                 : flushedSign<LaneOp::Abs>;
      return signs<uint32_t, 31>(op);
    default:
      return signs<uint64_t, 63>(op);
    }
  }
  if (isPlain && (op == LaneOp::Min || op == LaneOp::Max)) {
    bool isMax = op == LaneOp::Max;
    if (type == Type::F32)
      return isMax ? fastExtremum<float, true> : fastExtremum<float, false>;
    if (type == Type::F64)
      return isMax ? fastExtremum<double, true> : fastExtremum<double, false>;
  }
  if (isPlain && operation.rounding == Rounding::Nearest) {
    LaneFunction function = type == Type::F32   ? fast<float>(op)
                            : type == Type::F64 ? fast<double>(op)
                                                : nullptr;
    if (function)
      return function;
  }
  switch (op) {
#define CASE(name)                                                             \
  case LaneOp::name:                                                           \
    return general<LaneOp::name>(type, operation.rounding);
    CASE(Add)
    CASE(Sub)
    CASE(Mul)
    CASE(Fma)
    CASE(Div)
    CASE(Min)
    CASE(Max)
    CASE(Rcp)
    CASE(Sqrt)
    CASE(Rsqrt)
    CASE(Exp2)
    CASE(Log2)
    CASE(Sin)
    CASE(Cos)
    CASE(Tanh)
#undef CASE
  default:
    return nullptr;
  }
}
