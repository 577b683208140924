//===- ScoreRange.h - Ranges of scores --------------------------*- C++ -*-===//
//
// Interval arithmetic (Moore, "Interval Analysis", 1966) over the body of an
// attention: the possible x for some queries and keys. It reveals masks that
// depend only on positions, however they are written.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_ATTENTION_SCORERANGE_H
#define DIST_PASSES_ATTENTION_SCORERANGE_H

#include "dialects/dist/IR/Attention.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

namespace mlir::dist {

/// Numbers from `low` to `high`, and NaN if `isNan`.
struct FloatRange {
  double low, high;
  bool isNan;
};

/// The assumed largest score. Programs test it if results depend on it.
inline constexpr double kLargestScore = 1e30;
/// The same where a user promises it (--assume-masks): masks of -1e4 then hide
/// keys.
inline constexpr double kLargestMaskedScore = 4000;
/// An x that is at most this number has no weight beside an x that is larger by
/// a unit in the last place.
inline constexpr double kNegligibleScore = -1e37;
/// By how much an x must be less than another to have no weight beside it, not
/// even in f64: exp(-746) is zero.
inline constexpr double kVanishingDifference = 800;

/// The assumed largest score of an op. It is the largest f16 if the body rounds
/// to f16, since infinities then occur in more than masks.
double getLargestScore(AttentionLikeOpInterface op);

/// What is known of a tile.
struct ScoreFacts {
  FloatRange x;
  /// Of the body's conditions, in their order: their value, if it is always the
  /// same.
  SmallVector<std::optional<bool>> conditions;
};

/// What is known of the elements of a further operand.
struct ExtraRange {
  /// For floats; other types have `integers`.
  std::optional<FloatRange> floats;
  std::optional<ConstantIntRanges> integers;
};

/// An integer from outside of the body.
using KnownInteger = std::pair<Value, int64_t>;

/// For queries and keys with indices in these closed intervals. Elements of
/// further operands are unknown, except for the first ones, as in `extras`.
/// Integers from outside of the body are computed from `known`. `largest` is
/// the largest score, if it is not the assumed one.
ScoreFacts getScoreFacts(AttentionLikeOpInterface op,
                         std::pair<int64_t, int64_t> queries,
                         std::pair<int64_t, int64_t> keys,
                         ArrayRef<ExtraRange> extras = {},
                         ArrayRef<KnownInteger> known = {},
                         std::optional<double> largest = {});

/// The ops that compute the value that a region of an attention yields with
/// that number, in their order.
SmallVector<Operation *> getMakers(Region &region, unsigned yielded = 0);

/// The conditions that the x of an attention depends on: ops with an i1.
SmallVector<Value> getConditions(AttentionLikeOpInterface op);

/// Whether a cotangent of x that is zero gives a zero cotangent of the score,
/// whatever the score, and adds nothing to totals. `areExtrasSmall`: if no
/// element of further operands of the type of scores is larger than
/// kLargestScore.
bool isZeroOfZero(AttentionAdjointOp op, bool areExtrasSmall = false);

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_SCORERANGE_H
