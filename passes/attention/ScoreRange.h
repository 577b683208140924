//===- ScoreRange.h - How large scores can be -------------------*- C++ -*-===//
//
// Interval arithmetic (Moore, "Interval Analysis", 1966) over the body of an
// attention: which x are possible for some queries and keys. Masks that hang on
// places alone show there, in whatever way they are written.
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

/// Scores are taken to be at most so large; programs test that they are where
/// results hang on it.
inline constexpr double kLargestScore = 1e30;
/// What is no larger has no weight beside an x that is larger than it by a unit
/// in the last place.
inline constexpr double kNegligibleScore = -1e37;

/// The same of the scores of an op: the largest f16 where its body rounds to
/// that, as what is infinite then takes part in more than a mask leaves.
double getLargestScore(AttentionLikeOpInterface op);

/// What is known of a tile.
struct ScoreFacts {
  FloatRange x;
  /// Of the body's conditions, in their order: what they always are.
  SmallVector<std::optional<bool>> conditions;
};

/// What is known of the elements of a further operand.
struct ExtraRange {
  /// Of floats; anything else has `integers`.
  std::optional<FloatRange> floats;
  std::optional<ConstantIntRanges> integers;
};

/// An integer from outside of the body.
using KnownInteger = std::pair<Value, int64_t>;

/// Of queries and keys with indices in these closed intervals. Of elements of
/// further operands nothing is known but what `extras` says of the first ones;
/// integers from outside of the body are what is computed of `known`.
ScoreFacts getScoreFacts(AttentionLikeOpInterface op,
                         std::pair<int64_t, int64_t> queries,
                         std::pair<int64_t, int64_t> keys,
                         ArrayRef<ExtraRange> extras = {},
                         ArrayRef<KnownInteger> known = {});

/// The ops that make what a region of an attention yields with that number, in
/// their order.
SmallVector<Operation *> getMakers(Region &region, unsigned yielded = 0);

/// The conditions that the x of an attention hangs on: ops with an i1.
SmallVector<Value> getConditions(AttentionLikeOpInterface op);

/// Whether for an x nothing of which comes back nothing comes back for its
/// score, whatever that is, nor is anything added to totals. `areExtrasSmall`:
/// where no element of further operands in the type of scores is larger than
/// kLargestScore.
bool isZeroOfZero(AttentionAdjointOp op, bool areExtrasSmall = false);

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_SCORERANGE_H
