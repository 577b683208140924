//===- ScoreRange.h - How large scores can be -------------------*- C++ -*-===//
//
// Interval arithmetic (Moore, "Interval Analysis", 1966) over the body of an
// attention: which x are possible for some queries and keys. Masks that hang on
// places alone show there, in whatever way they are written.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_SCORERANGE_H
#define DIST_LOWERING_KERNELS_SCORERANGE_H

#include "dialects/dist/IR/Attention.h"

namespace mlir::dist {

/// Numbers from `low` to `high`, and NaN if `isNan`.
struct FloatRange {
  double low, high;
  bool isNan;
};

/// Scores are taken to be at most so large; programs test that they are where
/// results hang on it.
inline constexpr double kLargestScore = 1e30;
/// What is no larger has no weight beside an x that is larger than it by a unit
/// in the last place.
inline constexpr double kNegligibleScore = -1e37;

/// What is known of a tile.
struct ScoreFacts {
  FloatRange x;
  /// Of the body's conditions, in their order: what they always are.
  SmallVector<std::optional<bool>> conditions;
};

/// Of queries and keys with indices in these closed intervals.
ScoreFacts getScoreFacts(AttentionOp op, std::pair<int64_t, int64_t> queries,
                         std::pair<int64_t, int64_t> keys);

/// The conditions of the body of an attention: its ops with an i1.
SmallVector<Value> getConditions(AttentionOp op);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_SCORERANGE_H
