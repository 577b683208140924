//===- SeparateRows.h - Rows that were merged with others -------*- C++ -*-===//

#ifndef DIST_PASSES_HALOS_SEPARATEROWS_H
#define DIST_PASSES_HALOS_SEPARATEROWS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::dist {

/// Where rows were merged with other dimensions, and what was computed of that
/// element by element is taken apart again, computes it on the dimensions apart
/// (a group norm's elements; its sums stay as they are). No number changes.
/// Whether there was such a thing.
bool separateRows(ArrayRef<tensor::ExpandShapeOp> merged);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_SEPARATEROWS_H
