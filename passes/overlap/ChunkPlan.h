//===- ChunkPlan.h - Ops that are split with a collective -------*- C++ -*-===//
//
// The ops of a block that compute a collective's operand, or read its result,
// are split with it, up to the nearest products. No sum is split: the dimension
// is one of rows everywhere, or of blocks of columns of one product (queries,
// keys and values) that a reshape separates for the collective.
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

/// A collective, the dimension along which it is split, the number of parts,
/// and the ops that are split with it, in their order.
struct ChunkPlan {
  Operation *collective;
  int64_t dim;
  int64_t chunks;
  /// For a ring: parts have equal size, and part 0 is another one on each
  /// device.
  bool isRing = false;
  SmallVector<ChunkedOp> producers = {}, consumers = {};
  unsigned products = 0;
  /// The op that separates the dimension of blocks from one that a product has;
  /// null if there is no such op.
  tensor::ExpandShapeOp apart = {};
};

/// The plan with the most products, along a dimension whose elements the
/// collective does not combine. Empty if no product is split with it.
std::optional<ChunkPlan> findChunks(Operation *collective, int64_t chunks);

/// The plan of a collective as a ring; fails if that is impossible.
FailureOr<ChunkPlan> findRing(Operation *collective, MeshOp mesh);

/// Whether a value was concatenated from such chunks, for the collective
/// before.
bool isInChunks(Value value, int64_t dim, int64_t chunks);

/// The dimension of an operand along which the loop runs; empty if there is no
/// such dimension. Fails if it does not run element by element.
FailureOr<std::optional<int64_t>> findLoopDim(AffineMap map, unsigned loop);

/// The dimension that a reshape splits into blocks (its dimension `dim`) and
/// their contents (the next one); empty if it does not.
std::optional<int64_t> findBlocksOf(ArrayRef<ReassociationIndices> groups,
                                    int64_t dim);

} // namespace mlir::dist

#endif // DIST_PASSES_OVERLAP_CHUNKPLAN_H
