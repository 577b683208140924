//===- HaloWideningWriter.h - Ops on more rows ------------------*- C++ -*-===//
//
// A device may compute its neighbours' rows itself, from more rows of the op's
// operands. For that, all devices along the line must do the same to
// consecutive rows, and the first row must move by n from device to device.
// Then row i + n of one device is row i of the next. Rules say which rows of
// operands an op's rows depend on. Indices that are compared with the position
// of a device's block must move along.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_HALOWIDENINGWRITER_H
#define DIST_PASSES_HALOS_HALOWIDENINGWRITER_H

#include "passes/halos/DeviceLine.h"

namespace mlir::dist {

/// A tensor, and its dimension of rows.
using Rows = std::pair<Value, int64_t>;

/// Numbers of rows before and after a device's own.
struct Widths {
  int64_t low = 0, high = 0;

  void cover(Widths other) {
    low = std::max(low, other.low);
    high = std::max(high, other.high);
  }
  bool isWithin(Widths other) const {
    return low <= other.low && high <= other.high;
  }
  int64_t getSum() const { return low + high; }
  bool operator==(Widths other) const {
    return low == other.low && high == other.high;
  }
};

int64_t getRowCount(Rows rows);

/// An operand with rows. Row i of the result depends on its rows from i / parts
/// * stride + first on, `extent` of them.
struct RowOperand {
  unsigned number;
  int64_t dim;
  int64_t stride = 1, extent = 1, parts = 1;
  /// Empty if it differs from device to device; `moves` is then its step.
  std::optional<int64_t> first = 0;
  int64_t moves = 0;

  /// The rows that more rows of the result need: rows that it has, and rows
  /// before and after them.
  Widths getWidths(Operation *op, int64_t resultDim, Widths wanted) const;
};

using RowOperands = SmallVector<RowOperand, 2>;

/// The operands whose rows the rows of the op's result depend on. From device
/// to device, the result's first row moves by `step`. Empty if the op does
/// something else; `why` then says what.
std::optional<RowOperands> getRowOperands(Operation *op, int64_t dim,
                                          int64_t step, const DeviceLine &line,
                                          std::string &why);

/// The op in front of which new ops are inserted, on `widths` more rows of its
/// result. `take` gives so many more rows of an operand.
Value writeWider(OpBuilder &b, Operation *op, int64_t dim,
                 const RowOperands &operands, Widths widths,
                 function_ref<Value(const RowOperand &, Widths)> take);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_HALOWIDENINGWRITER_H
