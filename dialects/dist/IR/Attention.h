//===- Attention.h - Attention and its adjoint ------------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_ATTENTION_H
#define DIST_DIALECTS_DIST_IR_ATTENTION_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace mlir::dist {
/// The size of each dimension of the maps of an attention or its adjoint;
/// kDynamic if it is unknown.
SmallVector<int64_t> getAttentionDimSizes(Operation *op);
/// The number of scores in all batches; 0 if it is unknown.
int64_t countScores(Operation *op);
/// The type of scores: f64 if queries are f64, else f32.
FloatType getAttentionScoreType(Operation *op);

/// On a mesh, until rings are made: the modules with ring attention
/// (dist.ring), by their paths: {axes = [...], by = loc(...)}. `zigzag` says
/// that work is to be balanced. `seen = array<i1: ...>` has two rows for each
/// device's block of queries, one for each half: which blocks of keys the half
/// may attend to.
inline constexpr llvm::StringLiteral kRingsAttr = "dist.rings";
/// On the product of weights and values, until rings are made: which of its
/// loops is that of queries. The sizes of local parts do not distinguish it
/// from the loop of heads that share a key.
inline constexpr llvm::StringLiteral kQueryLoopAttr = "dist.query_loop";
/// On the same product, of an attention that was decomposed before level 2: its
/// window, as it was promised there.
inline constexpr llvm::StringLiteral kKeyWindowAttr = "dist.key_window";
/// On the same product, until level 3: the window that its mask would be if no
/// score were larger than what masks add.
inline constexpr llvm::StringLiteral kLikelyWindowAttr = "dist.likely_window";
/// On the attention to a device's own block of keys in a ring, for reports: the
/// note above, as it was carried out.
inline constexpr llvm::StringLiteral kRingAttr = "dist.ring";

/// Number of queries in the first half of a block; the second half has the
/// rest.
inline int64_t getFirstHalf(int64_t queries) { return queries / 2; }

/// The work of the busiest device in a ring with `seen`: the number of pairs of
/// a row of scores and a block of keys. `queries` is the size of a block. In
/// zigzag, a device computes with the second half of its own queries and the
/// first half of those of the device at the same distance from the other end.
/// With its own keys it computes for all of its own queries.
int64_t countRowsInRing(ArrayRef<bool> seen, int64_t devices, int64_t queries,
                        bool isZigzag);
} // namespace mlir::dist

#include "dialects/dist/IR/AttentionLikeOpInterface.h.inc"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistAttention.h.inc"

#endif // DIST_DIALECTS_DIST_IR_ATTENTION_H
