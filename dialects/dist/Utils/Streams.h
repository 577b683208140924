//===- Streams.h - Collectives that run beside computation ------*- C++ -*-===//
//
// At level 4, `dist.stream` gives a collective a stream. It then starts where
// it stands, and is waited for just before the first op that uses its result:
// the order of the ops is the schedule. Lowering makes both explicit (rt.wait).
// Without the attribute, a collective is synchronous.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_UTILS_STREAMS_H
#define DIST_DIALECTS_DIST_UTILS_STREAMS_H

#include "dialects/dist/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// The stream of a collective; 0 if it has no attribute.
int32_t getStream(Operation *collective);

/// The axes whose groups make up the communicator of a collective. These are
/// its axes. A permutation may leave the groups of its axes; its communicator
/// has all axes that it names, each whole. Null for an op that sends nothing.
ArrayAttr getCommAxes(Operation *op);

/// The first op of the value's own block that uses it, also within a region.
/// Null if it has no use, or if another block uses it.
Operation *findFirstUser(Value value);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_STREAMS_H
