//===- ExpandAttention.h - Attention in tiles -------------------*- C++ -*-===//

#ifndef DIST_LOWERING_KERNELS_EXPANDATTENTION_H
#define DIST_LOWERING_KERNELS_EXPANDATTENTION_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// Queries and keys whose scores are there at a time.
struct AttentionTiles {
  int64_t queries, keys;
};

/// Each dist.attention on buffers becomes loops over its batches and tiles, of
/// contractions and other linalg ops.
LogicalResult expandAttentions(ModuleOp module, AttentionTiles tiles);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_EXPANDATTENTION_H
