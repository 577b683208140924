//===- RowShifts.h - Rows less their largest element ------------*- C++ -*-===//
//
// Programs subtract the largest element of each row before a softmax, which
// does so as well. Softmax of the row as it was is the same, bit by bit.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_ATTENTION_ROWSHIFTS_H
#define DIST_PASSES_ATTENTION_ROWSHIFTS_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// Lets softmax read rows before their largest element was subtracted, wherever
/// nothing else reads the difference.
void dropRowShifts(Operation *root);

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_ROWSHIFTS_H
