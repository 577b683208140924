//===- Columns.h - Tables of numbers with units -----------------*- C++ -*-===//

#ifndef DIST_PASSES_REPORT_COLUMNS_H
#define DIST_PASSES_REPORT_COLUMNS_H

#include "mlir/Support/LLVM.h"

#include <string>
#include <vector>

namespace mlir::dist {

/// Each with the largest unit that leaves at least 1: "1.50 KiB", "20.0 us",
/// "131.1 kFLOP".
std::string bytesText(int64_t bytes);
std::string secondsText(double seconds);
std::string flopsText(int64_t flops);

/// Rows of cells, printed in columns as wide as their widest cell.
class Columns {
public:
  /// `alignment` has a letter a column: 'r' for numbers, 'l' for text.
  explicit Columns(std::string alignment) : alignment(std::move(alignment)) {}

  /// A row of fewer cells than there are columns ends with a text, which may be
  /// wider than its column.
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }

  void print(llvm::raw_ostream &stream) const;

private:
  std::string alignment;
  std::vector<std::vector<std::string>> rows;
};

} // namespace mlir::dist

#endif // DIST_PASSES_REPORT_COLUMNS_H
