//===- LanesConvert.cpp - Conversions and comparisons of 32 lanes ---------===//

#include "runtime/emulated/Lanes.h"
#include "runtime/emulated/Numbers.h"

#include <algorithm>
#include <limits>

using namespace dist;
using namespace dist::emulated;

namespace {

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Any integer type's value: its sign, and its magnitude.
struct Whole {
  bool isNegative;
  uint64_t magnitude;
};

uint64_t loadRegister(const void *from, unsigned bytes, unsigned lane) {
  uint64_t value = 0;
  std::memcpy(&value, static_cast<const uint8_t *>(from) + lane * bytes,
              bytes);
  return value;
}

int64_t extend(uint64_t bits, Type type) {
  unsigned unused = 64 - bitsOf(type);
  return isSigned(type) ? int64_t(bits << unused) >> unused
                        : int64_t(bits << unused >> unused);
}

double decodeAs(Type type, uint64_t bits) {
  switch (type) {
  case Type::F16:
    return decode<Half>(bits);
  case Type::BF16:
    return decode<Brain>(bits);
  case Type::F32:
    return decode<Single>(bits);
  default:
    return decode<Double>(bits);
  }
}

struct Format {
  int exponent, fraction;
};
Format formatOf(Type type) {
  switch (type) {
  case Type::F16:
    return {Half::exponent, Half::fraction};
  case Type::BF16:
    return {Brain::exponent, Brain::fraction};
  case Type::F32:
    return {Single::exponent, Single::fraction};
  default:
    return {Double::exponent, Double::fraction};
  }
}

double roundWhole(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  default: { // to even, whatever the processor's mode
    double low = std::floor(value), rest = value - low;
    if (rest < 0.5 || (rest == 0.5 && std::fmod(low, 2) == 0))
      return std::copysign(low, value);
    return std::copysign(low + 1, value);
  }
  }
}

uint64_t floatToFloat(const Operation &op, uint64_t bits) {
  double value = decodeAs(op.from, bits);
  if (op.isFlushed && op.from == Type::F32)
    value = flushed<Single>(value);
  if (op.isInteger)
    value = roundWhole(value, op.rounding);
  if (op.isSaturated)
    value = value > 0 ? std::fmin(value, 1) : 0; // NaN becomes 0
  if (op.isRectified)
    value = value < 0 ? 0 : value;
  if (op.type == Type::F64)
    return std::bit_cast<uint64_t>(value);
  Format to = formatOf(op.type);
  uint64_t result = encodeDouble(value, to.exponent, to.fraction,
                                 op.isInteger ? Rounding::Nearest
                                              : op.rounding);
  if (op.isFlushed && op.type == Type::F32 && !(result & 0x7f800000))
    result &= 0x80000000;
  return result;
}

/// Beyond the type's range its nearest number. NaN is 0, or the lowest signed
/// number where either type has 64 bits (PTX ISA, cvt).
uint64_t floatToInteger(const Operation &op, uint64_t bits) {
  double value = decodeAs(op.from, bits);
  if (op.isFlushed && op.from == Type::F32)
    value = flushed<Single>(value);
  unsigned width = bitsOf(op.type);
  if (std::isnan(value)) {
    if (op.from == Type::F64 || width == 64)
      return uint64_t(1) << (width - 1);
    return 0;
  }
  value = roundWhole(value, op.rounding);
  if (isSigned(op.type)) {
    double bound = std::ldexp(1.0, width - 1);
    int64_t most = int64_t((uint64_t(1) << (width - 1)) - 1);
    return value >= bound ? most : value < -bound ? -most - 1 : int64_t(value);
  }
  double bound = std::ldexp(1.0, width);
  uint64_t most = ~uint64_t(0) >> (64 - width);
  return value >= bound ? most : value <= 0 ? 0 : uint64_t(value);
}

uint64_t integerToFloat(const Operation &op, uint64_t bits) {
  int64_t value = extend(bits, op.from);
  bool isNegative = isSigned(op.from) && value < 0;
  uint64_t magnitude = isNegative ? -uint64_t(value) : uint64_t(value);
  if (op.isSaturated && (isNegative || magnitude > 1)) {
    magnitude = isNegative ? 0 : 1;
    isNegative = false;
  }
  Format to = formatOf(op.type);
  return encodeParts(isNegative, magnitude, 0, to.exponent, to.fraction,
                     op.rounding);
}

uint64_t integerToInteger(const Operation &op, uint64_t bits) {
  int64_t value = extend(bits, op.from);
  if (!op.isSaturated)
    return value;
  unsigned width = bitsOf(op.type);
  bool isHuge = !isSigned(op.from) && value < 0; // of 64 bits
  if (isSigned(op.type)) {
    int64_t most = int64_t((uint64_t(1) << (width - 1)) - 1);
    return isHuge ? most : std::clamp<int64_t>(value, -most - 1, most);
  }
  uint64_t most = ~uint64_t(0) >> (64 - width);
  if (value < 0 && !isHuge)
    return 0;
  return std::min(uint64_t(value), most);
}

template <uint64_t (*convert)(const Operation &, uint64_t)>
void conversion(const Operation &op, void *d, const void *a, const void *b,
                const void *c, uint32_t mask) {
  // mode holds the bytes of the source's register.
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1))
      continue;
    uint64_t value = convert(op, loadRegister(a, op.mode, l));
    // A wider register is filled by the sign or by zeros.
    if (bytesOf(op.type) < op.registerBytes)
      value = extend(value, op.type);
    std::memcpy(static_cast<uint8_t *>(d) + l * op.registerBytes, &value,
                op.registerBytes);
  }
}

template <class To, class From>
void cast(const Operation &op, void *d, const void *a, const void *b,
          const void *c, uint32_t mask) {
  Lanes<From> x(a);
  eachLane<To>(d, mask, [&](unsigned l) { return static_cast<To>(x.at[l]); });
}

void widenHalf(const Operation &op, void *d, const void *a, const void *b,
               const void *c, uint32_t mask) {
  Lanes<uint16_t> x(a);
  eachLane<float>(d, mask, [&](unsigned l) {
    float value = decode<Half>(x.at[l]);
    return value == value ? value : std::bit_cast<float>(0x7fffffff);
  });
}

void widenBrain(const Operation &op, void *d, const void *a, const void *b,
                const void *c, uint32_t mask) {
  Lanes<uint16_t> x(a);
  eachLane<uint32_t>(d, mask, [&](unsigned l) {
    uint32_t bits = uint32_t(x.at[l]) << 16;
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : bits;
  });
}

template <class F>
void narrow(const Operation &op, void *d, const void *a, const void *b,
            const void *c, uint32_t mask) {
  Lanes<float> x(a);
  eachLane<uint16_t>(d, mask, [&](unsigned l) {
    return encodeDouble(x.at[l], F::exponent, F::fraction, Rounding::Nearest);
  });
}

/// d = {a, b}, a in the upper half.
template <class F>
void pack(const Operation &op, void *d, const void *a, const void *b,
          const void *c, uint32_t mask) {
  Lanes<float> x(a), y(b);
  auto half = [&](float value) -> uint32_t {
    if (op.isRectified && value < 0)
      value = 0;
    uint32_t bits =
        encodeDouble(value, F::exponent, F::fraction, op.rounding);
    // .satfinite: no infinity.
    uint32_t infinity = ((1u << F::exponent) - 1) << F::fraction;
    if (op.isSaturated && (bits & 0x7fff) == infinity)
      --bits;
    return bits;
  };
  eachLane<uint32_t>(d, mask, [&](unsigned l) {
    return half(x.at[l]) << 16 | half(y.at[l]);
  });
}

} // namespace

LaneFunction emulated::convertFunction(const Operation &op) {
  bool toFloat = isFloat(op.type), fromFloat = isFloat(op.from);
  bool isPlain = !op.isSaturated && !op.isFlushed && !op.isRectified &&
                 !op.isInteger && op.rounding == Rounding::Nearest;
  bool isExact = op.registerBytes == bytesOf(op.type) &&
                 op.mode == bytesOf(op.from);
  if (isPlain && isExact) {
    auto is = [&](Type to, Type from) {
      return op.type == to && op.from == from;
    };
    if (is(Type::U64, Type::U32))
      return cast<uint64_t, uint32_t>;
    if (is(Type::S64, Type::S32))
      return cast<int64_t, int32_t>;
    if (is(Type::U32, Type::U64))
      return cast<uint32_t, uint64_t>;
    if (is(Type::U32, Type::U16))
      return cast<uint32_t, uint16_t>;
    if (is(Type::S32, Type::S16))
      return cast<int32_t, int16_t>;
    if (is(Type::U16, Type::U32))
      return cast<uint16_t, uint32_t>;
    if (is(Type::F32, Type::S32))
      return cast<float, int32_t>;
    if (is(Type::F32, Type::U32))
      return cast<float, uint32_t>;
    if (is(Type::F32, Type::F16))
      return widenHalf;
    if (is(Type::F32, Type::BF16))
      return widenBrain;
    if (is(Type::F16, Type::F32))
      return narrow<Half>;
    if (is(Type::BF16, Type::F32))
      return narrow<Brain>;
  }
  if (fromFloat)
    return toFloat ? conversion<floatToFloat> : conversion<floatToInteger>;
  return toFloat ? conversion<integerToFloat> : conversion<integerToInteger>;
}

LaneFunction emulated::packFunction(const Operation &op) {
  return op.type == Type::F16x2 ? pack<Half> : pack<Brain>;
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

namespace {

template <class F> uint32_t maskOf(F function) {
  uint32_t mask = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    mask |= uint32_t(function(l)) << l;
  return mask;
}

/// By the number of kComparisons.
template <class T, unsigned which> bool holds(T a, T b) {
  bool isUnordered = a != a || b != b;
  switch (which) {
  case 0:
    return a == b;
  case 1:
    return !isUnordered && a != b;
  case 2:
  case 6:
    return a < b;
  case 3:
  case 7:
    return a <= b;
  case 4:
  case 8:
    return a > b;
  case 5:
  case 9:
    return a >= b;
  case 10:
    return isUnordered || a == b;
  case 11:
    return a != b;
  case 12:
    return !(a >= b);
  case 13:
    return !(a > b);
  case 14:
    return !(a <= b);
  case 15:
    return !(a < b);
  case 16:
    return !isUnordered;
  default:
    return isUnordered;
  }
}

template <class T, unsigned which>
uint32_t compareLanes(const Operation &op, const void *a, const void *b) {
  Lanes<T> x(a), y(b);
  return maskOf([&](unsigned l) { return holds<T, which>(x.at[l], y.at[l]); });
}

/// f16, bf16, and f32 with .ftz.
template <class F, unsigned which>
uint32_t compareDecoded(const Operation &op, const void *a, const void *b) {
  Lanes<typename F::Bits> x(a), y(b);
  return maskOf([&](unsigned l) {
    double u = decode<F>(x.at[l]), v = decode<F>(y.at[l]);
    if (op.isFlushed) {
      u = flushed<F>(u);
      v = flushed<F>(v);
    }
    return holds<double, which>(u, v);
  });
}

template <class T, unsigned... which>
CompareFunction pick(unsigned mode,
                     std::integer_sequence<unsigned, which...>) {
  static constexpr CompareFunction table[] = {compareLanes<T, which>...};
  return table[mode];
}
template <class F, unsigned... which>
CompareFunction pickDecoded(unsigned mode,
                            std::integer_sequence<unsigned, which...>) {
  static constexpr CompareFunction table[] = {compareDecoded<F, which>...};
  return table[mode];
}

constexpr std::make_integer_sequence<unsigned, 18> kAll;

template <class F>
uint32_t property(const Operation &op, const void *a, const void *) {
  Lanes<typename F::Bits> x(a);
  return maskOf([&](unsigned l) {
    auto value = [&] {
      if constexpr (F::fraction == 52)
        return std::bit_cast<double>(x.at[l]);
      else
        return std::bit_cast<float>(x.at[l]);
    }();
    switch (op.mode) {
    case 0:
      return std::isfinite(value);
    case 1:
      return std::isinf(value);
    case 2:
      return !std::isnan(value);
    case 3:
      return std::isnan(value);
    case 4:
      return std::isnormal(value);
    default:
      return std::fpclassify(value) == FP_SUBNORMAL;
    }
  });
}

} // namespace

CompareFunction emulated::compareFunction(const Operation &op) {
  unsigned mode = op.mode;
  Type type = op.type;
  if (type == Type::Pred)
    return nullptr;
  bool isOrder = mode >= 2, isOfUnsigned = mode >= 6 && mode <= 9;
  bool isOfFloats = mode >= 10;
  if (isFloat(type)) {
    if (isOfUnsigned)
      return nullptr;
    switch (type) {
    case Type::F16:
      return pickDecoded<Half>(mode, kAll);
    case Type::BF16:
      return pickDecoded<Brain>(mode, kAll);
    case Type::F32:
      return op.isFlushed ? pickDecoded<Single>(mode, kAll)
                          : pick<float>(mode, kAll);
    case Type::F64:
      return pick<double>(mode, kAll);
    default:
      return nullptr;
    }
  }
  bool isOfBits = type >= Type::B8 && type <= Type::B64;
  if (isOfFloats || (isOfBits && isOrder) || (isSigned(type) && isOfUnsigned))
    return nullptr;
  switch (type) {
  case Type::B16:
  case Type::U16:
    return pick<uint16_t>(mode, kAll);
  case Type::B32:
  case Type::U32:
    return pick<uint32_t>(mode, kAll);
  case Type::B64:
  case Type::U64:
    return pick<uint64_t>(mode, kAll);
  case Type::S16:
    return pick<int16_t>(mode, kAll);
  case Type::S32:
    return pick<int32_t>(mode, kAll);
  case Type::S64:
    return pick<int64_t>(mode, kAll);
  default:
    return nullptr;
  }
}

CompareFunction emulated::propertyFunction(const Operation &op) {
  return op.type == Type::F64 ? property<Double> : property<Single>;
}
