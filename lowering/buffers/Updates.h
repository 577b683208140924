//===- Updates.h - Results that take an argument's place --------*- C++ -*-===//
//
// A result with `dist.updates` is put into the memory of the argument that it
// is the new value of.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_UPDATES_H
#define DIST_LOWERING_BUFFERS_UPDATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// On an argument made for a result, while bufferization decides what is done
/// in place: the number of the argument that is the same memory.
inline constexpr llvm::StringLiteral kSameMemoryAttr = "rt.same_memory";

/// For each result the number of the argument that it is the new value of.
using Updates = SmallVector<std::optional<unsigned>>;

/// What `dist.updates` says; no two results update one argument.
Updates getUpdates(func::FuncOp function);

/// Notes which results have buffers of their own, the last of the function's
/// arguments, and which arguments are written to (`dist.updated`).
void recordResults(func::FuncOp function, const Updates &updates);

/// What returns the results of an entry function, which are of static shape.
/// Fails after an error.
FailureOr<func::ReturnOp> findResults(func::FuncOp function);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_UPDATES_H
