//===- Heads.h - The projections of attention -------------------*- C++ -*-===//
//
// Which contractions of a module make queries, keys and values, which one takes
// what attention gives, and how many heads each has.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_HEADS_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_HEADS_H

#include "passes/schedule/names/Origins.h"
#include <vector>

namespace mlir::dist {

/// Output features that belong together: those of q, say, of q|k|v.
struct FeatureBlock {
  int64_t offset, size;
  /// How many heads they are; 1 where the program does not take them apart.
  int64_t heads;
};

/// A contraction with a parameter on the way into an attention, or out of it.
struct HeadProjection {
  FeatureContraction contraction;
  /// Of one on the way in, in order, all of its features.
  SmallVector<FeatureBlock, 3> blocks;
  bool isInput() const { return !blocks.empty(); }
  /// Whether the blocks are all alike.
  bool isEven() const;
};

/// The projections of the attention in a module: contractions with parameters
/// whose results a contraction of activations uses (scores, or their product
/// with the values), and those that read what such a one makes. Empty where
/// the module has no contraction of activations. Looks at each op once for each
/// projection whose result it depends on.
std::vector<HeadProjection> findHeadProjections(ArrayRef<Operation *> module,
                                                Origins &origins);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_HEADS_H
