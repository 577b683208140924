//===- ByteRanges.h - Bytes that ops access ---------------------*- C++ -*-===//
//
// For a proof about a planned program. On purpose it shares nothing with
// BufferAliases: the check of a plan must not rely on what made the plan.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_STREAMS_BYTERANGES_H
#define DIST_LOWERING_STREAMS_BYTERANGES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::dist {

/// Bytes [begin, end) of a piece of memory: an allocation, a global, an
/// argument of the function. Without `memory` they may be anywhere.
struct ByteRange {
  Value memory;
  int64_t begin = 0, end = INT64_MAX;
};

/// Whether two places may have a byte in common. Arguments of a function that
/// are never written may be one memory. They are not distinguished, as reading
/// both does no harm.
bool mayOverlap(const ByteRange &a, const ByteRange &b);

/// The places that a buffer may have: through views and selections, and in the
/// arena at which bytes.
SmallVector<ByteRange, 2> getByteRanges(Value buffer);

/// Calls `visit` with the buffers that `op`, or an op in it, may touch, and
/// whether it may write them. Kernels mark what they only read by
/// `llvm.readonly`. A null buffer stands for memory that the op does not name.
void visitAccesses(Operation *op,
                   llvm::function_ref<void(Value buffer, bool writes)> visit);

} // namespace mlir::dist

#endif // DIST_LOWERING_STREAMS_BYTERANGES_H
