//===- ApplyLayouts.h - Tensors stored as was chosen ------------*- C++ -*-===//

#ifndef DIST_PASSES_LAYOUT_APPLYLAYOUTS_H
#define DIST_PASSES_LAYOUT_APPLYLAYOUTS_H

#include "mlir/IR/PatternMatch.h"
#include "passes/layout/LayoutChoice.h"

namespace mlir::dist {

/// Gives all of `values` their types, the ops that make and take them their
/// indexing maps and dimensions, and puts a linalg.transpose (kPacksAttr) where
/// an order ends.
void applyLayouts(StoredValues &values, RewriterBase &rewriter);

} // namespace mlir::dist

#endif // DIST_PASSES_LAYOUT_APPLYLAYOUTS_H
