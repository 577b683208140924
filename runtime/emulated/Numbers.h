//===- Numbers.h - Floating-point formats and their rounding ----*- C++ -*-===//
//
// Values of the formats below 64 bits are exact in double. What is computed in
// double and then rounded again is first rounded to odd, so that the second
// rounding sees on which side the exact result lies (Boldo and Melquiond,
// "Emulation of a FMA and correctly rounded sums: proved algorithms using
// rounding to odd", IEEE Trans. Computers 57(4), 2008).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_EMULATED_NUMBERS_H
#define DIST_RUNTIME_EMULATED_NUMBERS_H

#include "runtime/emulated/Code.h"

#include <bit>
#include <cmath>

namespace dist::emulated {

struct Half {
  using Bits = uint16_t;
  static constexpr int exponent = 5, fraction = 10;
};
struct Brain {
  using Bits = uint16_t;
  static constexpr int exponent = 8, fraction = 7;
};
struct Single {
  using Bits = uint32_t;
  static constexpr int exponent = 8, fraction = 23;
};
struct Double {
  using Bits = uint64_t;
  static constexpr int exponent = 11, fraction = 52;
};

/// (-1)^negative * significand * 2^exponent, rounded to a format; its bits.
/// Overflow gives infinity or the largest number, as the rounding says.
uint64_t encodeParts(bool isNegative, uint64_t significand, int exponent,
                     int exponentBits, int fractionBits, Rounding rounding);

/// A double rounded to a format; NaN becomes PTX's canonical one.
uint64_t encodeDouble(double value, int exponentBits, int fractionBits,
                      Rounding rounding);

template <class F>
typename F::Bits encode(double value, Rounding rounding = Rounding::Nearest) {
  if constexpr (F::fraction == 52)
    return std::bit_cast<uint64_t>(value);
  if constexpr (F::fraction == 23)
    if (rounding == Rounding::Nearest && value == value)
      return std::bit_cast<uint32_t>(static_cast<float>(value));
  return encodeDouble(value, F::exponent, F::fraction, rounding);
}

template <class F> double decode(typename F::Bits bits) {
  if constexpr (F::fraction == 52) {
    return std::bit_cast<double>(bits);
  } else if constexpr (F::fraction == 23) {
    return std::bit_cast<float>(bits);
  } else if constexpr (F::exponent == 8) {
    return std::bit_cast<float>(uint32_t(bits) << 16);
  } else {
    uint32_t magnitude = bits & 0x7fff;
    double value = magnitude >= 0x7c00
                       ? (magnitude > 0x7c00 ? NAN : INFINITY)
                   : magnitude < 0x400
                       ? magnitude * 0x1p-24
                       : std::bit_cast<float>((magnitude << 13) + 0x38000000);
    return bits & 0x8000 ? -value : value;
  }
}

/// The canonical NaN.
template <class F> constexpr typename F::Bits nanOf() {
  if (F::fraction == 52)
    return typename F::Bits(0x7ff8000000000000);
  return typename F::Bits(F::fraction == 23 ? 0x7fffffffu : 0x7fffu);
}

/// A subnormal of the format as a zero of its sign.
template <class F> double flushed(double value) {
  constexpr uint64_t bits =
      uint64_t(1025 - (1 << (F::exponent - 1))) << 52;
  double least = std::bit_cast<double>(bits);
  return std::fabs(value) < least ? std::copysign(0.0, value) : value;
}

/// `rounded`, which lies off the exact value on the side that `rest` tells, to
/// odd.
double toOdd(double rounded, double rest);
/// The sum of values of formats below 64 bits, to odd.
double addOdd(double a, double b);

} // namespace dist::emulated

#endif // DIST_RUNTIME_EMULATED_NUMBERS_H
