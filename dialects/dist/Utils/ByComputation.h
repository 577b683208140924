//===- ByComputation.h - Ops by what they compute ---------------*- C++ -*-===//
//
// What OperationEquivalence lacks to put ops and regions into sets.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_UTILS_BYCOMPUTATION_H
#define DIST_DIALECTS_DIST_UTILS_BYCOMPUTATION_H

#include "mlir/IR/Operation.h"
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

/// Whether two values are one, or computed alike of the same values. `strip`
/// looks through what does not change a value. Looks at a bounded number of
/// ops; values that take more are taken to differ.
bool areComputedAlike(Value a, Value b, function_ref<Value(Value)> strip);

/// A hash of a region: equal for those that isRegionEquivalentTo takes for
/// equal, wherever they stand.
llvm::hash_code hashRegion(Region &region);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_BYCOMPUTATION_H
