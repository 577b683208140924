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
  /// The number of heads; 1 if the program does not separate them.
  int64_t heads;
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
