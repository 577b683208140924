//===- WideRows.h - Ops on more rows than a device's own --------*- C++ -*-===//
//
// What a device's neighbours compute it may compute itself, of more rows of
// what the op reads. That is the same number where the devices along a line do
// the same to rows that follow each other: row i + n of one device is row i of
// the next, if its first row moves by n from device to device. Row by row,
// rules say which rows of operands an op's are made of; indices that are
// compared with where a device begins must move along.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_WIDEROWS_H
#define DIST_PASSES_HALOS_WIDEROWS_H

#include "passes/halos/DeviceLine.h"

namespace mlir::dist {

/// A tensor, and its dimension of rows.
using Rows = std::pair<Value, int64_t>;

/// Rows before and after a device's own.
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

/// An operand with rows. Row i of the result is made of its rows from
/// i / parts * stride + first on, `extent` of them.
struct RowOperand {
  unsigned number;
  int64_t dim;
  int64_t stride = 1, extent = 1, parts = 1;
  /// Where it differs from device to device, none; `moves` is its step.
  std::optional<int64_t> first = 0;
  int64_t moves = 0;

  /// What of it more rows of the result take: rows that it has, and of those
  /// before and after them.
  Widths getWidths(Operation *op, int64_t resultDim, Widths wanted) const;
};

using RowOperands = SmallVector<RowOperand, 2>;

/// The operands whose rows make those of the op's result, where device by
/// device these begin `step` rows further on. None where the op does something
/// else; then `why` says what.
std::optional<RowOperands> getRowOperands(Operation *op, int64_t dim,
                                          int64_t step, const DeviceLine &line,
                                          std::string &why);

/// The op in front of which it is written, on `widths` more rows of its result.
/// `take` gives so many more rows of an operand.
Value writeWider(OpBuilder &b, Operation *op, int64_t dim,
                 const RowOperands &operands, Widths widths,
                 function_ref<Value(const RowOperand &, Widths)> take);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_WIDEROWS_H
