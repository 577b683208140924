//===- RowOps.h - Ops that work row by row ----------------------*- C++ -*-===//
//
// Rows of a device's part along a dimension, and ops that compute each row of
// the result from the same row of their operands. Such ops can be computed on
// more rows, including neighbours'.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_ROWOPS_H
#define DIST_PASSES_HALOS_ROWOPS_H

#include "mlir/IR/Builders.h"
#include <optional>

namespace mlir::dist {

/// A tensor, and the dimension of the rows that neighbours send.
using Rows = std::pair<Value, int64_t>;
/// The operands of an op that have its rows, with their dimensions.
using RowOperands = SmallVector<std::pair<unsigned, int64_t>, 2>;

int64_t getRowBytes(Rows rows);

/// The operands whose rows make up the result's along `dim`, each row from one
/// row. Empty if the op does something else. Padding of zeros in some of them
/// leaves finite numbers.
std::optional<RowOperands> getRowOperands(Operation *op, int64_t dim);

/// The op's result, computed from `operands`, which have `more` rows than its
/// own, along `dim`.
Value cloneOnRows(OpBuilder &b, Operation *op, ValueRange operands, int64_t dim,
                  int64_t more);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_ROWOPS_H
