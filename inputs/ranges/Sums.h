//===- Sums.h - Sums of several values, and their shares --------*- C++ -*-===//

#ifndef DIST_INPUTS_RANGES_SUMS_H
#define DIST_INPUTS_RANGES_SUMS_H

#include "inputs/ranges/Interval.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mlir::dist::ranges {

/// A constant and values times their factors.
struct Sum {
  double constant = 0;
  llvm::SmallVector<std::pair<Value, double>> terms;
  /// Whether it is computed in a float type, which rounds.
  bool rounds = false;
};

/// Parts sums, differences and products with constants, of integers or of
/// floats; nothing for other values.
std::optional<Sum> findSum(Value value);

/// One of the terms among which a range is shared.
struct Share {
  double factor;
  /// All its values are multiples of this.
  double stride = 1;
  /// What it is limited to, as far as that is known already.
  std::optional<Interval> limit;
  /// What it is in some places whatever it is given.
  std::optional<Interval> fixed;
  /// What it is given.
  Interval given = {};
};

/// Gives each term its values, so that the sum is in `range` whichever of them
/// are taken, and reaches as much of it as can be: terms of smaller steps fill
/// the gaps between the larger ones. False if there is no room.
bool shareOut(Interval range, llvm::MutableArrayRef<Share> shares);

} // namespace mlir::dist::ranges

#endif // DIST_INPUTS_RANGES_SUMS_H
