//===- CompareJson.h - Comparisons as JSON ----------------------*- C++ -*-===//
//
// docs/verify.md lists the keys.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_VERIFY_COMPAREJSON_H
#define DIST_VERIFY_COMPAREJSON_H

#include "verify/Compare.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"

namespace mlir::dist {

/// Adds the comparisons of one result, at least one: the largest of each
/// figure, and the worst element of all.
void addChecks(llvm::json::Object &object,
               llvm::ArrayRef<::dist::Difference> checks);

} // namespace mlir::dist

#endif // DIST_VERIFY_COMPAREJSON_H
