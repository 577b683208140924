//===- Sums.h - Sums in any order -------------------------------*- C++ -*-===//

#ifndef DIST_LOWERING_BUFFERS_SUMS_H
#define DIST_LOWERING_BUFFERS_SUMS_H

#include "mlir/IR/Value.h"

namespace mlir::dist {

/// A sum of more terms than the first number is split into sums of about as
/// many terms as the second.
inline constexpr int64_t kMostTerms = 16384, kFewTerms = 4096;

/// Whether a body whose sum so far is `sum` yields, with `yielded`, that plus a
/// number, or, under a condition, that unchanged. Such sums can be split.
/// Nothing else reads the sum so far, and no term depends on another
/// accumulator of the body.
bool isSum(Value yielded, BlockArgument sum);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_SUMS_H
