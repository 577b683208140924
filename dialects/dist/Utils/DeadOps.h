//===- DeadOps.h - Erases dead ops ------------------------------*- C++ -*-===//
//
// For a few ops that were just replaced. Upstream's runRegionDCE looks at a
// whole region, which takes time in proportion to it at every rewrite.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_UTILS_DEADOPS_H
#define DIST_DIALECTS_DIST_UTILS_DEADOPS_H

#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// Erases those of `ops` that are dead, and ops that are dead without them:
/// those that compute their operands and the values that their regions read.
/// Calls `beforeErasing` for each. Returns the erased ops.
DenseSet<Operation *>
eraseDead(ArrayRef<Operation *> ops,
          function_ref<bool(Operation *)> isDead = isOpTriviallyDead,
          function_ref<void(Operation *)> beforeErasing = nullptr);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_DEADOPS_H
