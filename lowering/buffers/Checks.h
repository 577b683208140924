//===- Checks.h - What must hold of a running program's data ----*- C++ -*-===//
//
// A check that does not hold is stored in the status words, and ends the run
// with its message (rt.fail; docs/internals/runtime.md).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_CHECKS_H
#define DIST_LOWERING_BUFFERS_CHECKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::dist {

/// On an op that needs no check, or has been checked elsewhere, until
/// --dist-guard-ops.
inline constexpr llvm::StringLiteral kGuardedAttr = "rt.guarded";

/// Where `loc` is in the model's source, for a message.
std::string describePlace(Location loc);

/// The status words of `function`, at its start.
Value createStatus(OpBuilder &builder, func::FuncOp function);

/// Stores that a check does not hold where `bad` is true; `judged`, an integer
/// or index, is the value that the message ends with, if any.
void createFailIf(OpBuilder &builder, Location loc, Value bad, Value status,
                  StringRef message, Value judged = {});

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_CHECKS_H
