//===- LayoutChoice.h - Choice of dimension orders --------------*- C++ -*-===//
//
// Linalg ops read and write tensors in any order of dimensions at no cost.
// Between them are chains of carriers (DimOrders.h). Each chain with
// collectives gets the order in which the fewest bytes are copied. Copies are
// made by collectives, and at the chain's ends, where other ops know one order
// only (arguments, results, calls, loops, other ops).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_LAYOUT_LAYOUTCHOICE_H
#define DIST_PASSES_LAYOUT_LAYOUTCHOICE_H

#include "dialects/dist/Utils/Packing.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dist {

/// A tensor that is stored in another order than its type's.
struct StoredValue {
  Value value;
  DimOrder order;
  /// Whether the op that computes it knows only its own order. Readers then
  /// take a copy.
  bool isCopied = false;
  /// The collective that this is done for.
  Operation *cause = nullptr;
};

/// A set of tensors with their orders. Entries are found by value, and stay in
/// the order of their creation.
class StoredValues {
public:
  const StoredValue *find(Value value) const;
  StoredValue *find(Value value);
  StoredValue &add(StoredValue entry);
  /// Changes the value of an entry.
  void rename(StoredValue &entry, Value value);

  /// Carriers that work in the orders of their tensors.
  llvm::SetVector<Operation *> carriers;
  std::vector<StoredValue> entries;

private:
  llvm::DenseMap<Value, size_t> numbers;
};

/// Whether `use`, of a tensor that is stored as `entry` says, reads it in that
/// order. Otherwise it needs the order of the type.
bool takesStored(OpOperand &use, const StoredValue &entry,
                 const StoredValues &values);

/// Whether a tensor is created again for each use: it holds nothing, or one
/// value.
bool isRemade(Value value);

/// The tensors of `function` with new orders. Linear in the number of ops.
StoredValues chooseLayouts(Operation *function);

} // namespace mlir::dist

#endif // DIST_PASSES_LAYOUT_LAYOUTCHOICE_H
