//===- ResultSizes.h - Sizes of an op's results -----------------*- C++ -*-===//

#ifndef DIST_PASSES_SIZES_RESULTSIZES_H
#define DIST_PASSES_SIZES_RESULTSIZES_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// Gives the results of `op`, whose operands have known sizes, the types that
/// follow. Operands that have become constant sizes become attributes. Regions
/// are not visited. An op whose sizes cannot be inferred is an error.
LogicalResult setResultSizes(Operation *op);

/// Whether a value of this type has an unknown size.
bool hasUnknownSize(Type type);

} // namespace mlir::dist

#endif // DIST_PASSES_SIZES_RESULTSIZES_H
