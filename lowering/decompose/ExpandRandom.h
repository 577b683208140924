//===- ExpandRandom.h - Random words become arithmetic ----------*- C++ -*-===//

#ifndef DIST_LOWERING_DECOMPOSE_EXPANDRANDOM_H
#define DIST_LOWERING_DECOMPOSE_EXPANDRANDOM_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::dist {

/// dist.random_words becomes what it is made of.
void populateExpandRandomPatterns(RewritePatternSet &patterns);

/// An error where devices' streams are still to be told apart.
LogicalResult checkRandomStreams(Operation *op);

} // namespace mlir::dist

#endif // DIST_LOWERING_DECOMPOSE_EXPANDRANDOM_H
