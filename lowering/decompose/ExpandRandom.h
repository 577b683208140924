//===- ExpandRandom.h - Random words become arithmetic ----------*- C++ -*-===//

#ifndef DIST_LOWERING_DECOMPOSE_EXPANDRANDOM_H
#define DIST_LOWERING_DECOMPOSE_EXPANDRANDOM_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::dist {

/// Expands dist.random_words to arithmetic.
void populateExpandRandomPatterns(RewritePatternSet &patterns);

/// An error if the devices' streams are not numbered yet.
LogicalResult checkRandomStreams(Operation *op);

} // namespace mlir::dist

#endif // DIST_LOWERING_DECOMPOSE_EXPANDRANDOM_H
