//===- ExpandAttention.h - Attention in tiles -------------------*- C++ -*-===//

#ifndef DIST_LOWERING_KERNELS_EXPANDATTENTION_H
#define DIST_LOWERING_KERNELS_EXPANDATTENTION_H

#include "dialects/dist/IR/Attention.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// The cost of a tile of queries and keys on the target, and its largest size.
/// Times are in ns.
struct AttentionTiles {
  /// Upper bounds. If masks leave few keys, fewer queries may cost less: a half
  /// of them, a quarter, and so on, but at least `fewestQueries`.
  int64_t queries = 0, keys = 0, fewestQueries = 0;
  /// Sizes of tiles are multiples of `keyUnit` if possible. The needed keys are
  /// found in units of `granule` keys.
  int64_t keyUnit = 0, granule = 0;
  /// A tile, and its row of tiles; a multiply-add; the other work for a score,
  /// and a mask of a score.
  double perTile = 0, perRow = 0, perProduct = 0, perScore = 0, perMask = 0;
  /// Whether the target's library multiplies numbers of this type, with sums of
  /// another.
  bool (*hasProducts)(Type in, Type sum) = nullptr;
};

class TileTables;

/// Each dist.attention and dist.attention_adjoint on buffers becomes loops over
/// its batches and tiles, of contractions and other linalg ops.
LogicalResult expandAttentions(ModuleOp module, AttentionTiles tiles);

void expandAttentionAdjoint(AttentionAdjointOp op, AttentionTiles tiles,
                            TileTables &tables);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_EXPANDATTENTION_H
