//===- LayoutChoice.h - In which order tensors are stored -------*- C++ -*-===//
//
// Ops of linalg read and write tensors in any order of dimensions at no cost.
// Between them lie chains of carriers (DimOrders.h); each chain with
// collectives in it is given the order in which least is copied: by the
// collectives, and where a chain ends at what knows one order only (arguments,
// results, calls, loops, other ops).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_LAYOUT_LAYOUTCHOICE_H
#define DIST_PASSES_LAYOUT_LAYOUTCHOICE_H

#include "dialects/dist/IR/Packing.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dist {

/// A tensor that is stored otherwise than its type says.
struct StoredValue {
  Value value;
  DimOrder order;
  /// Whether the op that makes it knows its own order only: what others take is
  /// a copy.
  bool isCopied = false;
  /// The collective for whose sake this is.
  Operation *cause = nullptr;
};

/// One set of tensors and what is stored how. Entries are found by value, and
/// stay in the order in which they were made.
class StoredValues {
public:
  const StoredValue *find(Value value) const;
  StoredValue *find(Value value);
  StoredValue &add(StoredValue entry);
  /// Makes an entry that of another value.
  void rename(StoredValue &entry, Value value);

  /// Carriers that work in the orders of what they carry.
  llvm::SetVector<Operation *> carriers;
  std::vector<StoredValue> entries;

private:
  llvm::DenseMap<Value, size_t> numbers;
};

/// Whether `use`, of a tensor that is stored as `entry` says, takes it so; else
/// it is to be given the tensor in its type's own order.
bool takesStored(OpOperand &use, const StoredValue &entry,
                 const StoredValues &values);

/// Whether a tensor is made anew wherever it is wanted: it holds nothing, or
/// one value.
bool isRemade(Value value);

/// What is to be stored how in `function`. Linear in the number of its ops.
StoredValues chooseLayouts(Operation *function);

} // namespace mlir::dist

#endif // DIST_PASSES_LAYOUT_LAYOUTCHOICE_H
