//===- ChunkPlan.h - What is cut with a collective --------------*- C++ -*-===//
//
// With a collective are cut the ops of its block that make what it sends or
// read what it brings, up to the nearest products. No sum is taken apart: the
// dimension is one of rows everywhere, or of blocks of columns that one product
// makes, queries, keys and values say, which a reshape takes apart for the
// collective.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_OVERLAP_CHUNKPLAN_H
#define DIST_PASSES_OVERLAP_CHUNKPLAN_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::dist {

/// An op that is done in chunks along one of its loops.
struct ChunkedOp {
  linalg::LinalgOp op;
  unsigned loop;
};

/// A collective, the dimension along which it is cut, into how many parts, and
/// the ops that are cut with it, in their order.
struct ChunkPlan {
  Operation *collective;
  int64_t dim;
  int64_t chunks;
  /// Of a ring: parts are of equal size, and number 0 is elsewhere on each
  /// device.
  bool isRing = false;
  SmallVector<ChunkedOp> producers = {}, consumers = {};
  unsigned products = 0;
  /// What takes the dimension, of blocks, off one that a product has; null
  /// where none does.
  tensor::ExpandShapeOp apart = {};
};

/// The plan with the most products, along a dimension whose elements the
/// collective leaves apart; none where no product is cut with it.
std::optional<ChunkPlan> findChunks(Operation *collective, int64_t chunks);

/// What is done with a collective that goes around a ring; fails where it
/// cannot.
FailureOr<ChunkPlan> findRing(Operation *collective, MeshOp mesh);

/// Whether a value was put together of such chunks, for the collective before.
bool isInChunks(Value value, int64_t dim, int64_t chunks);

/// The dimension of an operand along which the loop runs; nothing if it does
/// not. Fails where it does so otherwise than element by element.
FailureOr<std::optional<int64_t>> findLoopDim(AffineMap map, unsigned loop);

/// The dimension that a reshape takes blocks of which are its dimension `dim`,
/// and what is in each the next one; nothing where it does not.
std::optional<int64_t> findBlocksOf(ArrayRef<ReassociationIndices> groups,
                                    int64_t dim);

} // namespace mlir::dist

#endif // DIST_PASSES_OVERLAP_CHUNKPLAN_H
