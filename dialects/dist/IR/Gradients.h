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

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_GRADIENTS_H
