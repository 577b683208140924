//===- Reductions.h - Accumulations in linalg ops ---------------*- C++ -*-===//
//
// Which accumulations may be split, or done in another order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_REDUCTIONS_H
#define DIST_DIALECTS_DIST_INTERFACES_REDUCTIONS_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dist {

/// The combiner that result `index` is accumulated with, if its body has the
/// form out = combine(out, f(inputs)). Then parts of the result can be combined
/// in any order. f reads neither this result nor the others.
std::optional<ReductionKind> getReduction(linalg::LinalgOp op, int64_t index);

/// The neutral element of a combiner, bit for bit: for the sum of floats -0,
/// since 0 + -0 is 0.
TypedAttr getNeutral(Builder &b, Type type, ReductionKind kind);

/// Whether the body is yield(c + a * b), on floats. a and b may be exchanged
/// and extended.
bool isMultiplyAdd(Block &body);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_REDUCTIONS_H
