//===- ByComputation.h - Sets of ops by what they compute -------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_UTILS_BYCOMPUTATION_H
#define DIST_DIALECTS_DIST_UTILS_BYCOMPUTATION_H

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseMapInfo.h"

namespace mlir::dist {

/// For sets and maps of ops: they are equal if they compute the same of the
/// same operands.
struct ByComputation : llvm::DenseMapInfo<Operation *> {
  static constexpr OperationEquivalence::Flags kIgnored =
      OperationEquivalence::IgnoreLocations |
      OperationEquivalence::IgnoreDiscardableAttrs;
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue, kIgnored);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    auto isKey = [](const Operation *op) {
      return op != getEmptyKey() && op != getTombstoneKey();
    };
    return a == b || (isKey(a) && isKey(b) &&
                      OperationEquivalence::isEquivalentTo(
                          const_cast<Operation *>(a),
                          const_cast<Operation *>(b), kIgnored));
  }
};

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_BYCOMPUTATION_H
