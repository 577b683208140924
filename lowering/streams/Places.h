//===- Places.h - Which bytes ops touch -------------------------*- C++ -*-===//
//
// For a proof about a planned program. It shares nothing with BufferAliases on
// purpose: what checks a plan must not rest on what made it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_STREAMS_PLACES_H
#define DIST_LOWERING_STREAMS_PLACES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::dist {

/// Bytes [begin, end) of a piece of memory: an allocation, a global, an
/// argument of the function. Without `memory` they may lie anywhere.
struct Place {
  Value memory;
  int64_t begin = 0, end = INT64_MAX;
};

/// Whether two places may have a byte in common. Arguments of a function that
/// are never written may be one memory; those are not told apart, as reading
/// both does no harm.
bool mayOverlap(const Place &a, const Place &b);

/// Where a buffer may lie: through views and selections, and, of the arena, at
/// which bytes.
SmallVector<Place, 2> getPlaces(Value buffer);

/// Calls `visit` with the buffers that `op`, or an op within, may touch, and
/// whether it may write them. Kernels say by `llvm.readonly` what they read.
/// A null buffer stands for memory that the op does not name.
void visitAccesses(Operation *op,
                   llvm::function_ref<void(Value buffer, bool writes)> visit);

} // namespace mlir::dist

#endif // DIST_LOWERING_STREAMS_PLACES_H
