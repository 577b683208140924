//===- Updates.h - Results that update arguments ----------------*- C++ -*-===//
//
// A result with `dist.updates` is written to the memory of the argument that it
// is the new value of.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_UPDATES_H
#define DIST_LOWERING_BUFFERS_UPDATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// On an argument that was added for a result, during bufferization: the number
/// of the argument with the same memory.
inline constexpr llvm::StringLiteral kSameMemoryAttr = "rt.same_memory";

/// For each result, the number of the argument that it is the new value of.
using Updates = SmallVector<std::optional<unsigned>>;

/// Reads `dist.updates`; no two results update one argument.
Updates getUpdates(func::FuncOp function);

/// Records which results have buffers of their own, the last of the function's
/// arguments, and which arguments are written (`dist.updated`).
void recordResults(func::FuncOp function, const Updates &updates);

/// What returns the results of an entry function, which are of static shape.
/// Fails after an error.
FailureOr<func::ReturnOp> findResults(func::FuncOp function);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_UPDATES_H
