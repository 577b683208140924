//===- Gradients.h - Ops of backward passes ---------------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_GRADIENTS_H
#define DIST_DIALECTS_DIST_IR_GRADIENTS_H

#include "dialects/dist/IR/Dist.h"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistGradients.h.inc"

namespace mlir::dist {

/// On an op: it computes gradients, or reads them. It is placed after all other
/// ops, and does not change their placement.
inline constexpr llvm::StringLiteral kBackwardAttr = "dist.backward";
/// On an op of backward: it recomputes a value of forward.
inline constexpr llvm::StringLiteral kRecomputedAttr = "dist.recomputed";
/// On a reduction to a maximum or minimum: the first of equal elements has the
/// gradient; else all of them share it.
inline constexpr llvm::StringLiteral kFirstAttr = "dist.first";

/// Removes all optimization barriers in `op`. For passes after which no equal
/// ops are merged.
void eraseBarriers(Operation *op);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_GRADIENTS_H
