//===- AttentionBlocks.h - Which tiles an attention needs -------*- C++ -*-===//

#ifndef DIST_LOWERING_KERNELS_ATTENTIONBLOCKS_H
#define DIST_LOWERING_KERNELS_ATTENTIONBLOCKS_H

#include "passes/attention/ScoreRange.h"

namespace mlir::dist {

/// Of the tiles of keys of one tile of queries: those that are needed, and of
/// these some, all or none, in which the conditions of the body are constant.
struct NeededTiles {
  int64_t start, end;
  int64_t plainStart, plainEnd;
};

/// The tiles of an attention, by masks that hang on places alone.
struct AttentionBlocks {
  AttentionBlocks(AttentionLikeOpInterface op, int64_t queries, int64_t keys);

  SmallVector<NeededTiles> rows; // one for each tile of queries
  /// Whether there are tiles that are not needed.
  bool skips = false;
  /// At least the largest x in those.
  double largestSkipped;
  /// What the conditions are in plain tiles; empty where there are none.
  SmallVector<bool> plainConditions;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_ATTENTIONBLOCKS_H
