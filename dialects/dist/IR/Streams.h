//===- Streams.h - Collectives that run beside computation ------*- C++ -*-===//
//
// Level 4 says of a collective on which stream it runs (`dist.stream`). Then it
// starts where it stands, and is waited for just before the first op that uses
// its result: the order of the ops is the schedule. Lowering writes both as ops
// (rt.wait). Without the attribute it is done where it stands.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_STREAMS_H
#define DIST_DIALECTS_DIST_IR_STREAMS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// On a collective: the number of its stream, i32 from 1 to kMaxStream. Stream
/// 0 computes.
inline constexpr llvm::StringLiteral kStreamAttr = "dist.stream";
inline constexpr int32_t kMaxStream = 15;

/// On a mesh: what schedules say of the collectives of modules, by the modules'
/// paths: true where they run beside computation wherever that can be, false
/// where they never do, {by, chunks} where they do in so many chunks.
inline constexpr llvm::StringLiteral kOverlapAttr = "dist.overlap";

/// The stream of a collective, 0 where nothing is said.
int32_t getStream(Operation *collective);

/// The axes whose groups make the communicator that a collective calls: those
/// that it is over, and of a permutation, which may leave the groups of these,
/// all that it names, whole. Null for an op that sends nothing.
ArrayAttr getCommAxes(Operation *op);

/// The first op of the value's own block that uses it, also within a region;
/// null where there is none, or where another block uses it.
Operation *findFirstUser(Value value);

LogicalResult verifyStreamAttr(Operation *op, Attribute attr);
LogicalResult verifyOverlapAttr(Operation *op, Attribute attr);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_STREAMS_H
