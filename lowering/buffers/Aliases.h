//===- Aliases.h - Which buffers may share memory ---------------*- C++ -*-===//
//
// What is a view of what.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_ALIASES_H
#define DIST_LOWERING_BUFFERS_ALIASES_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// The buffer that `value` is a view of.
Value getRoot(Value value);

/// Whether `op` only makes another view of its first operand.
bool isView(Operation *op);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_ALIASES_H
