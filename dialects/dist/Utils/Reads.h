//===- Reads.h - What an op reads of what is around it ----------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_UTILS_READS_H
#define DIST_DIALECTS_DIST_UTILS_READS_H

#include "mlir/IR/Operation.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::dist {

/// Visits what the regions of an op read of values from outside, then its
/// operands.
inline void visitReads(Operation *op, function_ref<void(OpOperand &)> visit) {
  visitUsedValuesDefinedAbove(op->getRegions(),
                              [&](OpOperand *operand) { visit(*operand); });
  for (OpOperand &operand : op->getOpOperands())
    visit(operand);
}

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_READS_H
