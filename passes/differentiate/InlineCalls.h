//===- InlineCalls.h - Inlines calls ----------------------------*- C++ -*-===//

#ifndef DIST_PASSES_DIFFERENTIATE_INLINECALLS_H
#define DIST_PASSES_DIFFERENTIATE_INLINECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// Inlines the calls in `function`, also in loops and branches, until no call
/// of a function with a body of one block is left. Placements of a callee's
/// arguments and results become constraints. Fails after an error if functions
/// call themselves, or if more than 2^18 ops would be added, the limit of the
/// lowering.
LogicalResult inlineCalls(func::FuncOp function);

} // namespace mlir::dist

#endif // DIST_PASSES_DIFFERENTIATE_INLINECALLS_H
