//===- FoldPairs.h - Collectives that undo each other -----------*- C++ -*-===//

#ifndef DIST_PASSES_LAYOUT_FOLDPAIRS_H
#define DIST_PASSES_LAYOUT_FOLDPAIRS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::dist {

/// Folds an all_to_all of the inverse one, an all_slice of the all_gather that
/// put it together and the other way round, also with transposes in between.
/// Leaves what has no user any more where it is.
void foldInversePairs(Operation *function, RewriterBase &rewriter);

} // namespace mlir::dist

#endif // DIST_PASSES_LAYOUT_FOLDPAIRS_H
