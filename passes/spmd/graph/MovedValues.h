//===- MovedValues.h - Values that ops only move ----------------*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_GRAPH_MOVEDVALUES_H
#define DIST_PASSES_SPMD_GRAPH_MOVEDVALUES_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// The tensor that `op` only moves to other places, repeats, pads, converts or
/// scales; null for other ops. To do that for more of it costs little more than
/// to write it.
OpOperand *getMoved(Operation *op);

/// The bytes of a value, or of what it is made of by ops that only move it,
/// where that is less. Looks at a bounded number of ops.
int64_t getLeastBytes(Value value);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_MOVEDVALUES_H
