//===- Uses.h - What a program does with an integer input -------*- C++ -*-===//

#ifndef DIST_INPUTS_USES_H
#define DIST_INPUTS_USES_H

#include "mlir/IR/BuiltinOps.h"
#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace mlir::dist {

/// Integers from `low` to `high`; infinities stand for no bound.
struct Interval {
  static constexpr double kNoBound = std::numeric_limits<double>::infinity();
  double low = -kNoBound, high = kNoBound;

  static Interval none() { return {1, 0}; }
  bool isEmpty() const { return low > high; }
  bool operator==(const Interval &other) const = default;
  Interval operator&(Interval other) const {
    return {std::max(low, other.low), std::min(high, other.high)};
  }
  /// The smallest interval that contains both.
  Interval operator|(Interval other) const {
    if (isEmpty() || other.isEmpty())
      return isEmpty() ? other : *this;
    return {std::min(low, other.low), std::max(high, other.high)};
  }
  Interval operator+(Interval other) const {
    return {low + other.low, high + other.high};
  }
  Interval operator*(double factor) const {
    return factor < 0 ? Interval{high * factor, low * factor}
                      : Interval{low * factor, high * factor};
  }
};

/// What is found of some elements of an input.
struct Uses {
  /// Values that index something.
  Interval reached = Interval::none();
  /// Values on both sides of what they are compared with.
  Interval compared = Interval::none();
  /// Values with which every use works.
  Interval legal = {};

  void add(const Uses &other) {
    reached = reached | other.reached;
    compared = compared | other.compared;
    legal = legal & other.legal;
  }
};

/// Elements of an input: those at an index along a dimension, or all.
using Part = std::optional<std::pair<int64_t, int64_t>>;

/// Follows an argument of the entry function forward, through moves, casts,
/// selections and arithmetic with values of known bounds, to what it indexes,
/// counts, divides and is compared with.
std::map<Part, Uses> findUses(BlockArgument argument);

} // namespace mlir::dist

#endif // DIST_INPUTS_USES_H
