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
