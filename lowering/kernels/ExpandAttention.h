//===- ExpandAttention.h - Attention in tiles -------------------*- C++ -*-===//

#ifndef DIST_LOWERING_KERNELS_EXPANDATTENTION_H
#define DIST_LOWERING_KERNELS_EXPANDATTENTION_H

#include "dialects/dist/IR/Attention.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// What a tile of queries and keys takes on the target, and how large it may
/// be. Times are in ns.
struct AttentionTiles {
  /// At most so many. Where masks leave few keys, fewer queries may cost less:
  /// a half of them, a quarter, and so on, but no less than `fewestQueries`.
  int64_t queries, keys, fewestQueries;
  /// Sizes of tiles are multiples of `keyUnit` where there is room, and where
  /// keys are needed is asked of `granule` of them.
  int64_t keyUnit, granule;
  /// A tile, and its row of tiles; a multiply-add; what else is done for a
  /// score, and what a mask takes for one.
  double perTile, perRow, perProduct, perScore, perMask;
  /// Whether the target's library multiplies numbers of this type, with sums of
  /// another.
  bool (*hasProducts)(Type in, Type sum);
};

class TileTables;

/// Each dist.attention and dist.attention_adjoint on buffers becomes loops over
/// its batches and tiles, of contractions and other linalg ops.
LogicalResult expandAttentions(ModuleOp module, AttentionTiles tiles);

void expandAttentionAdjoint(AttentionAdjointOp op, AttentionTiles tiles,
                            TileTables &tables);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_EXPANDATTENTION_H
