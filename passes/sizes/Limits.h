//===- Limits.h - How large tensors may be ----------------------*- C++ -*-===//

#ifndef DIST_PASSES_SIZES_LIMITS_H
#define DIST_PASSES_SIZES_LIMITS_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// An error at the first op within `root` that has a tensor of more than 2^46
/// elements: up to there sums of what tensors take stay within 64 bits.
LogicalResult checkTensorSizes(Operation *root);

} // namespace mlir::dist

#endif // DIST_PASSES_SIZES_LIMITS_H
