//===- Attention.h - Attention and its adjoint ------------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_ATTENTION_H
#define DIST_DIALECTS_DIST_IR_ATTENTION_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace mlir::dist {
/// Of an attention or its adjoint: the size of each dimension of its maps,
/// kDynamic where it is not known.
SmallVector<int64_t> getAttentionDimSizes(Operation *op);
/// Scores of all batches; 0 where that is not known.
int64_t countScores(Operation *op);
/// f64 where queries are, f32 else.
FloatType getAttentionScoreType(Operation *op);

/// On a mesh, until rings are made: modules in which keys and values go round
/// (dist.ring), by their paths: {axes = [...], by = loc(...)}, with `zigzag`
/// where devices are to be equally busy, and with `seen = array<i1: ...>`, two
/// rows for each device's block of queries, one for each half of it: which
/// blocks of keys it may look at.
inline constexpr llvm::StringLiteral kRingsAttr = "dist.rings";
/// On the product of weights and values, until rings are made: which of its
/// loops is that of queries. Sizes of devices' parts do not tell it from that
/// of heads that share a key.
inline constexpr llvm::StringLiteral kQueryLoopAttr = "dist.query_loop";
/// On the same product, of an attention that was taken apart, before level 2:
/// its window, as whoever wrote it had promised.
inline constexpr llvm::StringLiteral kKeyWindowAttr = "dist.key_window";
/// On the attention to a device's own block of keys where they go round, for
/// reports: the note above, as it was done.
inline constexpr llvm::StringLiteral kRingAttr = "dist.ring";

/// How many queries the first half of a block has; the second has the rest.
inline int64_t getFirstHalf(int64_t queries) { return queries / 2; }

/// Rows of scores, with a block of keys each, that the busiest device computes
/// where keys go round and `seen` is known; `queries` is the size of a block.
/// In zigzag it computes with the second half of its own queries and the first
/// half of those of the device at the same distance from the other end, but
/// with all of its own queries and its own keys.
int64_t countRowsInRing(ArrayRef<bool> seen, int64_t devices, int64_t queries,
                        bool isZigzag);
} // namespace mlir::dist

#include "dialects/dist/IR/AttentionLikeOpInterface.h.inc"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistAttention.h.inc"

#endif // DIST_DIALECTS_DIST_IR_ATTENTION_H
