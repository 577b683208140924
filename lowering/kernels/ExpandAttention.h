//===- ExpandAttention.h - Attention in tiles -------------------*- C++ -*-===//

#ifndef DIST_LOWERING_KERNELS_EXPANDATTENTION_H
#define DIST_LOWERING_KERNELS_EXPANDATTENTION_H

#include "dialects/dist/IR/Attention.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// Queries and keys whose scores are there at a time. Which keys a mask leaves
/// is asked of `step` of them: where it leaves all, `keys` are taken together,
/// a multiple of that.
struct AttentionTiles {
  int64_t queries, keys, step;
};

class TileTables;

/// Each dist.attention and dist.attention_adjoint on buffers becomes loops over
/// its batches and tiles, of contractions and other linalg ops.
LogicalResult expandAttentions(ModuleOp module, AttentionTiles tiles);

void expandAttentionAdjoint(AttentionAdjointOp op, AttentionTiles tiles,
                            TileTables &tables);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_EXPANDATTENTION_H
