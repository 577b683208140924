//===- ApplyLayouts.h - Carries out a choice of layouts ---------*- C++ -*-===//

#ifndef DIST_PASSES_LAYOUT_APPLYLAYOUTS_H
#define DIST_PASSES_LAYOUT_APPLYLAYOUTS_H

#include "mlir/IR/PatternMatch.h"
#include "passes/layout/LayoutChoice.h"

namespace mlir::dist {

/// Changes the types of all of `values`, and the indexing maps and dimensions
/// of the ops that write and read them. Inserts a linalg.transpose (kPacksAttr)
/// where an order ends.
void applyLayouts(StoredValues &values, RewriterBase &rewriter);

} // namespace mlir::dist

#endif // DIST_PASSES_LAYOUT_APPLYLAYOUTS_H
