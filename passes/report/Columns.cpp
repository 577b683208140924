//===- Columns.cpp - Tables of numbers with units -------------------------===//

#include "passes/report/Columns.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;

/// `value` with the largest of `units`, each `step` times the one before, that
/// leaves at least 1. Three digits, four of what is 1,000 or more.
static std::string withUnit(double value, double step,
                            ArrayRef<const char *> units) {
  size_t unit = 0;
  while (value >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  bool isWhole = unit == 0 && value == std::floor(value);
  stream << llvm::format(isWhole || value >= 99.95 ? "%.0f"
                         : value >= 9.995          ? "%.1f"
                                                   : "%.2f",
                         value)
         << " " << units[unit];
  return text;
}

std::string mlir::dist::bytesText(int64_t bytes) {
  return withUnit(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string mlir::dist::secondsText(double seconds) {
  return withUnit(seconds * 1e9, 1000, {"ns", "us", "ms", "s"});
}

std::string mlir::dist::flopsText(int64_t flops) {
  return withUnit(flops, 1000,
                  {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"});
}

void Columns::print(llvm::raw_ostream &stream) const {
  std::vector<size_t> widths(alignment.size(), 0);
  for (const auto &row : rows) {
    bool isWhole = row.size() == widths.size();
    for (size_t i = 0, e = isWhole ? row.size() : row.size() - 1; i < e; ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      size_t width = std::max(widths[i], row[i].size());
      std::string pad(width - row[i].size(), ' ');
      if (i)
        line += "  ";
      line += alignment[i] == 'r' ? pad + row[i] : row[i] + pad;
    }
    stream << "  " << StringRef(line).rtrim() << "\n";
  }
}
