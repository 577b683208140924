//===- Reductions.h - What a loop of a linalg op accumulates ----*- C++ -*-===//
//
// Which accumulations may be cut into parts, or done in another order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_REDUCTIONS_H
#define DIST_DIALECTS_DIST_INTERFACES_REDUCTIONS_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dist {

/// The combiner that result `index` is accumulated with, if its body has the
/// form out = combine(out, f(inputs)). Then parts of it can be combined, in any
/// order; f knows nothing of this result so far, nor of the others.
std::optional<ReductionKind> getReduction(linalg::LinalgOp op, int64_t index);

/// What combined with any x gives x, bit for bit: of floats that are added -0,
/// since 0 + -0 is 0.
TypedAttr getNeutral(Builder &b, Type type, ReductionKind kind);

/// Whether the body is yield(c + a * b), on floats, a and b in any order and
/// perhaps extended.
bool isMultiplyAdd(Block &body);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_REDUCTIONS_H
