//===- Interval.h - Numbers from one to another -----------------*- C++ -*-===//

#ifndef DIST_INPUTS_RANGES_INTERVAL_H
#define DIST_INPUTS_RANGES_INTERVAL_H

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlir::dist::ranges {

inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

/// Numbers from `low` to `high`, integers or reals; infinities stand for no
/// bound.
struct Interval {
  double low = -kNoBound, high = kNoBound;

  static Interval none() { return {1, 0}; }
  static Interval natural() { return {0, kNoBound}; }

  bool isEmpty() const { return low > high; }
  bool isAll() const { return low == -kNoBound && high == kNoBound; }
  bool isBounded() const {
    return !isEmpty() && low != -kNoBound && high != kNoBound;
  }
  bool holds(Interval other) const {
    return low <= other.low && other.high <= high;
  }
  Interval operator&(Interval other) const {
    return {std::max(low, other.low), std::min(high, other.high)};
  }
  /// The smallest interval that holds both.
  Interval operator|(Interval other) const {
    if (isEmpty() || other.isEmpty())
      return isEmpty() ? other : *this;
    return {std::min(low, other.low), std::max(high, other.high)};
  }
  /// Of all sums with a number of the other.
  Interval operator+(Interval other) const {
    return {low + other.low, high + other.high};
  }
  /// Of c * x; c is not 0.
  Interval times(double c) const {
    return c > 0 ? Interval{low * c, high * c} : Interval{high * c, low * c};
  }
  Interval negated() const { return {-high, -low}; }
  /// The integers in it.
  Interval integers() const { return {std::ceil(low), std::floor(high)}; }
  /// Of integers x of at least 0, given that of x / c, rounded down, is this.
  Interval timesOfFloor(double c) const {
    return {low * c, high * c + (c - 1)};
  }
  /// Without what lies within `part` of its bounds: rounding may cross these.
  Interval shrunk(double part) const {
    return {low == -kNoBound ? low : low + std::abs(low) * part,
            high == kNoBound ? high : high - std::abs(high) * part};
  }
};

} // namespace mlir::dist::ranges

#endif // DIST_INPUTS_RANGES_INTERVAL_H
