//===- LimitInlining.h - How much calls may add -----------------*- C++ -*-===//

#ifndef DIST_LOWERING_BUFFERS_LIMITINLINING_H
#define DIST_LOWERING_BUFFERS_LIMITINLINING_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// An error where the entry function would have more than kMostInlinedOps
/// beyond those of the module once what it calls is in the place of each call:
/// each level of functions that call the next one twice doubles it. Without an
/// entry function, success. Linear in the module.
LogicalResult limitInlining(ModuleOp module);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_LIMITINLINING_H
