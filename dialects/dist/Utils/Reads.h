//===- Reads.h - Values that an op reads from outside -----------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_UTILS_READS_H
#define DIST_DIALECTS_DIST_UTILS_READS_H

#include "mlir/IR/Operation.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::dist {

/// Visits the values from outside that the regions of an op read, then its
/// operands.
inline void visitReads(Operation *op, function_ref<void(OpOperand &)> visit) {
  visitUsedValuesDefinedAbove(op->getRegions(),
                              [&](OpOperand *operand) { visit(*operand); });
  for (OpOperand &operand : op->getOpOperands())
    visit(operand);
}

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_READS_H
