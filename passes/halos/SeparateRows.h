//===- SeparateRows.h - Splits rows merged with others ----------*- C++ -*-===//

#ifndef DIST_PASSES_HALOS_SEPARATEROWS_H
#define DIST_PASSES_HALOS_SEPARATEROWS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::dist {

/// Rows may be merged with other dimensions, and split again after elementwise
/// ops. This computes these ops on the separate dimensions (the elements of a
/// group norm; its sums stay as they are). No number changes. Returns whether
/// there was such a case.
bool separateRows(ArrayRef<tensor::ExpandShapeOp> merged);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_SEPARATEROWS_H
