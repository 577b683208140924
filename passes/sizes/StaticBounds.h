//===- StaticBounds.h - Numbers of a program that leave tensors -*- C++ -*-===//

#ifndef DIST_PASSES_SIZES_STATICBOUNDS_H
#define DIST_PASSES_SIZES_STATICBOUNDS_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// An error at the first op in `root` whose own numbers (sizes, offsets,
/// strides, pads, bounds of loops, indexing maps) do not fit its tensors or
/// 64 bits. Sizes that are not known yet are not judged, and computed numbers
/// are checked when the program runs (--dist-guard-ops).
LogicalResult checkStaticBounds(Operation *root);

/// What stands in a branch or a loop may be there for other sizes, and never
/// run: of elements the run itself knows (--dist-guard-ops).
bool runsAlways(Operation *op);

/// Verifies what the parser made with ParserConfig's verifyAfterParse off:
/// first what MLIR's verifiers take for granted, and then all bounds.
LogicalResult verifyInput(Operation *root);

} // namespace mlir::dist

#endif // DIST_PASSES_SIZES_STATICBOUNDS_H
