//===- Inversion.h - What operands must be for a result ---------*- C++ -*-===//

#ifndef DIST_INPUTS_RANGES_INVERSION_H
#define DIST_INPUTS_RANGES_INVERSION_H

#include "inputs/ranges/Interval.h"
#include "inputs/ranges/Places.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <tuple>

namespace mlir::dist::ranges {

/// What is asked of a value, a tensor or a number, integer or float.
struct Wanted {
  /// Values that reach something, which is worth doing.
  Interval worth;
  /// Values beyond which the program fails; those that a clamp, a remainder or
  /// a selection takes care of do not.
  Interval legal;
  /// Which elements this is asked of: places of a tensor; of a number in a
  /// linalg op's body, turns of that op's loops.
  Places region = {};
  linalg::LinalgOp body = {};

  Wanted with(Interval newWorth, Interval newLegal) const {
    return {newWorth, newLegal, region, body};
  }
  Wanted at(Places newRegion) const { return {worth, legal, newRegion, {}}; }
  auto key() const {
    std::vector<int64_t> places;
    for (const Span &span : region)
      places.insert(places.end(), {span.first, span.count, span.step});
    return std::make_tuple(worth.low, worth.high, legal.low, legal.high,
                           std::move(places));
  }
};

/// What x must be for `op`, x alone or with a constant, to be what is wanted;
/// nothing for other ops, and for sums and products. `x` is set.
std::optional<Wanted> invert(Operation *op, const Wanted &wanted, Value &x);

/// The part by which rounding may move the results of a few operations of a
/// float type, disturbed ones of --verify as well.
double getRounding(Type type);

} // namespace mlir::dist::ranges

#endif // DIST_INPUTS_RANGES_INVERSION_H
