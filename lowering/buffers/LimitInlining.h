//===- LimitInlining.h - A limit for inlining -------------------*- C++ -*-===//

#ifndef DIST_LOWERING_BUFFERS_LIMITINLINING_H
#define DIST_LOWERING_BUFFERS_LIMITINLINING_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// An error if inlining all calls gives the entry function more than
/// kMostInlinedOps ops more than the module has. Each level of functions that
/// call the next one twice doubles the number. Success without an entry
/// function. Linear in the module.
LogicalResult limitInlining(ModuleOp module);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_LIMITINLINING_H
