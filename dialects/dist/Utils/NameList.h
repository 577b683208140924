//===- NameList.h - A few of many names -------------------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_UTILS_NAMELIST_H
#define DIST_DIALECTS_DIST_UTILS_NAMELIST_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace mlir::dist {

/// "a, b and 292 more": the first eight names.
inline std::string listNames(ArrayRef<std::string> names) {
  constexpr size_t kMost = 8;
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(names.take_front(kMost), os);
  if (names.size() > kMost)
    os << " and " << names.size() - kMost << " more";
  return text;
}

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_NAMELIST_H
