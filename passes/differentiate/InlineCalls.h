//===- InlineCalls.h - Calls become what they call --------------*- C++ -*-===//

#ifndef DIST_PASSES_DIFFERENTIATE_INLINECALLS_H
#define DIST_PASSES_DIFFERENTIATE_INLINECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// Puts what they call in the place of the calls in `function`, also within
/// loops and branches, until none is left of a function with a body of one
/// block. What a callee asks of its arguments' and results' placement becomes
/// constraints. Fails after an error where functions call themselves, or where
/// more than 2^18 ops would be added, as many as lowering takes.
LogicalResult inlineCalls(func::FuncOp function);

} // namespace mlir::dist

#endif // DIST_PASSES_DIFFERENTIATE_INLINECALLS_H
