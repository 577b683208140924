//===- Heads.h - The projections of attention -------------------*- C++ -*-===//
//
// Which contractions of a module compute queries, keys and values, which one
// reads the result of attention, and how many heads each has.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_HEADS_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_HEADS_H

#include "passes/schedule/names/Origins.h"
#include <vector>

namespace mlir::dist {

/// Output features that belong together, such as those of q in q|k|v.
struct FeatureBlock {
  int64_t offset, size;
  /// The number of heads; 1 if the program does not separate them. Queries
  /// whose heads are [keys' heads, group] have the former here.
  int64_t heads, group = 1;
};

/// A contraction with a parameter on the way into an attention, or out of it.
struct HeadProjection {
  FeatureContraction contraction;
  /// For a projection into attention, in order: all of its features.
  SmallVector<FeatureBlock, 3> blocks;
  bool isInput() const { return !blocks.empty(); }
  /// Whether all blocks have the same size.
  bool isEven() const;
};

/// The heads of an attention, and how the devices share them.
struct HeadCounts {
  int64_t queries = 0, keys = 0, group = 1;
  Operation *toQueries = nullptr;

  explicit HeadCounts(ArrayRef<HeadProjection> projections);
  bool isEven(int64_t devices) const { return queries % devices == 0; }
  /// For heads that the devices do not divide: the blocks that are kept
  /// together. These are the heads of one key head, unless the largest share
  /// would grow. Then each device has some of the heads of few keys.
  int64_t getUnits(int64_t devices) const;
};

/// The projections of the attention in a module. These are contractions with
/// parameters before and after contractions of activations. The former have
/// results that a contraction of activations uses (scores, or their product
/// with the values). The latter read the result of such a contraction. Empty if
/// the module has no contraction of activations. Looks at each op once for each
/// projection that its result depends on.
std::vector<HeadProjection> findHeadProjections(ArrayRef<Operation *> module,
                                                Origins &origins);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_HEADS_H
