//===- Numbers.cpp - Floating-point formats and their rounding ------------===//

#include "runtime/emulated/Numbers.h"

#include <algorithm>

using namespace dist;
using namespace dist::emulated;

uint64_t emulated::encodeParts(bool isNegative, uint64_t significand,
                               int exponent, int exponentBits,
                               int fractionBits, Rounding rounding) {
  uint64_t sign = uint64_t(isNegative) << (exponentBits + fractionBits);
  int bias = (1 << (exponentBits - 1)) - 1;
  uint64_t infinity = ((uint64_t(1) << exponentBits) - 1) << fractionBits;
  if (!significand)
    return sign;
  // The unit of the last place: that of subnormals, or of a significand of
  // fractionBits + 1 bits.
  int width = 64 - std::countl_zero(significand);
  int smallest = 1 - bias - fractionBits;
  int unit = std::max(exponent + width - 1 - fractionBits, smallest);
  int shift = unit - exponent;
  uint64_t kept, rest, half;
  if (shift <= 0) {
    kept = significand << -shift;
    rest = 0;
    half = 1;
  } else if (shift < 64) {
    kept = significand >> shift;
    rest = significand & ((uint64_t(1) << shift) - 1);
    half = uint64_t(1) << (shift - 1);
  } else {
    kept = 0;
    rest = 1;
    half = 2;
  }
  bool isUp = false;
  switch (rounding) {
  case Rounding::Nearest:
    isUp = rest > half || (rest == half && (kept & 1));
    break;
  case Rounding::Away:
    isUp = rest >= half;
    break;
  case Rounding::Zero:
    break;
  case Rounding::Down:
    isUp = rest && isNegative;
    break;
  case Rounding::Up:
    isUp = rest && !isNegative;
    break;
  }
  uint64_t steps = unit - smallest;
  if (steps >= uint64_t(1) << exponentBits)
    kept = infinity; // far beyond, whatever the fraction
  else
    kept = (steps << fractionBits) + kept + isUp;
  if (kept >= infinity) {
    bool isLargest = rounding == Rounding::Zero ||
                     (rounding == Rounding::Down && !isNegative) ||
                     (rounding == Rounding::Up && isNegative);
    kept = isLargest ? infinity - 1 : infinity;
  }
  return sign | kept;
}

uint64_t emulated::encodeDouble(double value, int exponentBits,
                                int fractionBits, Rounding rounding) {
  if (std::isnan(value))
    return (uint64_t(1) << (exponentBits + fractionBits)) - 1;
  bool isNegative = std::signbit(value);
  if (std::isinf(value))
    return uint64_t(isNegative) << (exponentBits + fractionBits) |
           ((uint64_t(1) << exponentBits) - 1) << fractionBits;
  uint64_t bits = std::bit_cast<uint64_t>(value);
  int exponent = bits >> 52 & 0x7ff;
  uint64_t significand = bits & ((uint64_t(1) << 52) - 1);
  if (exponent)
    significand |= uint64_t(1) << 52;
  else
    exponent = 1;
  return encodeParts(isNegative, significand, exponent - 1075, exponentBits,
                     fractionBits, rounding);
}

double emulated::toOdd(double rounded, double rest) {
  uint64_t bits = std::bit_cast<uint64_t>(rounded);
  if (rest == 0 || !std::isfinite(rounded) || !std::isfinite(rest) ||
      (bits & 1))
    return rounded;
  // One of the two doubles beside the exact value is odd.
  if (rounded == 0)
    return std::copysign(std::numeric_limits<double>::denorm_min(), rest);
  bool isAway = (rest > 0) == (rounded > 0);
  return std::bit_cast<double>(isAway ? bits + 1 : bits - 1);
}

double emulated::addOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  // Knuth's exact error of a sum.
  double other = sum - a;
  return toOdd(sum, (a - (sum - other)) + (b - other));
}
