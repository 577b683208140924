//===- Checks.h - What must hold of a running program's data ----*- C++ -*-===//
//
// A check that does not hold is stored in the status words, and ends the run
// with its message (rt.fail; docs/runtime.md).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_CHECKS_H
#define DIST_LOWERING_BUFFERS_CHECKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::dist {

/// On an op whose indices have been checked elsewhere, until --dist-guard-ops.
inline constexpr llvm::StringLiteral kGuardedAttr = "rt.guarded";

/// Where `loc` is in the model's source, for a message.
std::string describePlace(Location loc);

/// "[4, 5]".
std::string printExtents(ArrayRef<int64_t> extents);

/// The status words of `function`, at its start.
Value createStatus(OpBuilder &builder, func::FuncOp function);

/// Stores that a check does not hold where `bad` is true; `judged`, an integer
/// or index, is the value that the message ends with, if any.
void createFailIf(OpBuilder &builder, Location loc, Value bad, Value status,
                  StringRef message, Value judged = {});

/// A loop that runs as long as its data say may never end with wrong data: ends
/// the run in such a loop, after `op` or the linalg op that it is in.
void createCheckInLoop(OpBuilder &builder, Operation *op);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_CHECKS_H
