//===- DecomposeIndexed.h - Gathers and scatters ----------------*- C++ -*-===//
//
// Ops that address elements by the values of a tensor.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_DECOMPOSE_DECOMPOSEINDEXED_H
#define DIST_LOWERING_DECOMPOSE_DECOMPOSEINDEXED_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::dist {

/// tensor.gather becomes a generic, tensor.scatter loops of insertions, or
/// `rt.scatter` of sorted keys (`sortsScatters`). All check their indices
/// first: one out of range ends the run with a message, as does a cf.assert
/// that fails.
void populateDecomposeIndexedPatterns(RewritePatternSet &patterns,
                                      bool sortsScatters);

} // namespace mlir::dist

#endif // DIST_LOWERING_DECOMPOSE_DECOMPOSEINDEXED_H
