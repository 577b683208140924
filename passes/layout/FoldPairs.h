//===- FoldPairs.h - Removes inverse collectives ----------------*- C++ -*-===//

#ifndef DIST_PASSES_LAYOUT_FOLDPAIRS_H
#define DIST_PASSES_LAYOUT_FOLDPAIRS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::dist {

/// Folds an all_to_all of the inverse all_to_all, and an all_slice of an
/// all_gather over the same axes or the reverse, also with transposes in
/// between. Ops without users are not erased.
void foldInversePairs(Operation *function, RewriterBase &rewriter);

} // namespace mlir::dist

#endif // DIST_PASSES_LAYOUT_FOLDPAIRS_H
