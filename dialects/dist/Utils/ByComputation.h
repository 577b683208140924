//===- ByComputation.h - Ops by what they compute ---------------*- C++ -*-===//
//
// Equality and hashes of ops and regions for sets and maps, which
// OperationEquivalence lacks.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_UTILS_BYCOMPUTATION_H
#define DIST_DIALECTS_DIST_UTILS_BYCOMPUTATION_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMapInfo.h"

namespace mlir::dist {

/// For sets and maps of ops: they are equal if they compute the same from the
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

/// Whether two values are one, or equal computations from the same values.
/// `strip` looks through ops that do not change a value. Looks at a bounded
/// number of ops; false for more.
bool areComputedAlike(Value a, Value b, function_ref<Value(Value)> strip);

/// A hash of a region: equal for regions that isRegionEquivalentTo accepts, in
/// any position.
llvm::hash_code hashRegion(Region &region);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_BYCOMPUTATION_H
