//===- Gradients.h - Ops of backward passes ---------------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_GRADIENTS_H
#define DIST_DIALECTS_DIST_IR_GRADIENTS_H

#include "dialects/dist/IR/Dist.h"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistGradients.h.inc"

namespace mlir::dist {

/// Removes all optimization barriers in `op`. For passes after which no equal
/// ops are merged.
void eraseBarriers(Operation *op);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_GRADIENTS_H
