//===- Gradients.h - Ops that gradients are made of -------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_GRADIENTS_H
#define DIST_DIALECTS_DIST_IR_GRADIENTS_H

#include "dialects/dist/IR/Dist.h"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistGradients.h.inc"

namespace mlir::dist {

/// On an op: it computes gradients, or what is made of them. Placed after what
/// is not, which it does not move.
inline constexpr llvm::StringLiteral kBackwardAttr = "dist.backward";
/// On an op of backward: it computes again what forward has computed.
inline constexpr llvm::StringLiteral kRecomputedAttr = "dist.recomputed";

/// Takes all optimization barriers out of what is within `op`: for passes after
/// which no two ops are made one.
void eraseBarriers(Operation *op);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_GRADIENTS_H
