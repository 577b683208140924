//===- Sums.h - What adds up numbers in any order ---------------*- C++ -*-===//

#ifndef DIST_LOWERING_BUFFERS_SUMS_H
#define DIST_LOWERING_BUFFERS_SUMS_H

#include "mlir/IR/Value.h"

namespace mlir::dist {

/// A sum of more terms than the first is made of sums of about as many as the
/// second.
inline constexpr int64_t kMostTerms = 16384, kFewTerms = 4096;

/// Whether a body that has added up `sum` yields, with `yielded`, that and a
/// number, or that as it is where a condition says so: such sums may be made of
/// sums. Nothing else reads the sum so far, and no number hangs on another one
/// that the body accumulates.
bool isSum(Value yielded, BlockArgument sum);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_SUMS_H
