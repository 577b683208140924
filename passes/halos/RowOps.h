//===- RowOps.h - Ops that work row by row ----------------------*- C++ -*-===//
//
// Rows of a device's part along a dimension, and ops of which each row of the
// result is made of the same row of their operands: they may as well be
// computed on more rows, neighbours' among them.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_ROWOPS_H
#define DIST_PASSES_HALOS_ROWOPS_H

#include "mlir/IR/Builders.h"
#include <optional>

namespace mlir::dist {

/// A tensor, and its dimension of rows that neighbours send.
using Rows = std::pair<Value, int64_t>;
/// The operands of an op that have its rows, with their dimensions.
using RowOperands = SmallVector<std::pair<unsigned, int64_t>, 2>;

int64_t getRowBytes(Rows rows);

/// The operands whose rows make the result's along `dim`, each row of one; none
/// where the op does something else. Zeros in some of them leave numbers.
std::optional<RowOperands> getRowOperands(Operation *op, int64_t dim);

/// Such an op's result of `operands`, which have `more` rows than its own have,
/// along `dim`.
Value cloneOnRows(OpBuilder &b, Operation *op, ValueRange operands, int64_t dim,
                  int64_t more);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_ROWOPS_H
