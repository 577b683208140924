//===- Limits.h - The largest supported tensors -----------------*- C++ -*-===//

#ifndef DIST_PASSES_SIZES_LIMITS_H
#define DIST_PASSES_SIZES_LIMITS_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// An error at the first op in `root` that has a tensor of more than 2^46
/// elements. Up to this limit, sums of sizes in bytes stay within 64 bits.
LogicalResult checkTensorSizes(Operation *root);

} // namespace mlir::dist

#endif // DIST_PASSES_SIZES_LIMITS_H
