//===- MovedValues.h - Values that ops only move ----------------*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_GRAPH_MOVEDVALUES_H
#define DIST_PASSES_SPMD_GRAPH_MOVEDVALUES_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// The tensor that `op` only moves, repeats, pads, converts or scales; null for
/// other ops. Doing that for more elements costs little more than writing them.
OpOperand *getMoved(Operation *op);

/// The bytes of a value, or of the value that it is moved from, if that is
/// smaller. Looks at a bounded number of ops.
int64_t getLeastBytes(Value value);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_MOVEDVALUES_H
