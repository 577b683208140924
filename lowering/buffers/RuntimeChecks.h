//===- RuntimeChecks.h - Checks of a program's data -------------*- C++ -*-===//
//
// A check that fails is stored in the status words, and ends the run with its
// message (rt.fail; docs/internals/runtime.md).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_RUNTIMECHECKS_H
#define DIST_LOWERING_BUFFERS_RUNTIMECHECKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::dist {

/// On an op that needs no check, or is checked elsewhere, until
/// --dist-guard-ops.
inline constexpr llvm::StringLiteral kGuardedAttr = "rt.guarded";

/// The position of `loc` in the model's source, for a message.
std::string describePlace(Location loc);

/// The status words of `function`, at its start.
Value createStatus(OpBuilder &builder, func::FuncOp function);

/// Stores that a check failed, if `bad` is true. `judged`, an integer or index,
/// is the value at the end of the message, if any.
void createFailIf(OpBuilder &builder, Location loc, Value bad, Value status,
                  StringRef message, Value judged = {});

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_RUNTIMECHECKS_H
