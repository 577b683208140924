//===- ResultSizes.h - Sizes of an op's results -----------------*- C++ -*-===//

#ifndef DIST_PASSES_SIZES_RESULTSIZES_H
#define DIST_PASSES_SIZES_RESULTSIZES_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// Gives the results of `op`, whose operands have known sizes by now, the types
/// that follow, and writes sizes among its operands that are constants by now
/// into the op. Regions are not looked at. An op that cannot tell is an error.
LogicalResult setResultSizes(Operation *op);

/// Whether a value of this type has a size that is not known.
bool hasUnknownSize(Type type);

} // namespace mlir::dist

#endif // DIST_PASSES_SIZES_RESULTSIZES_H
