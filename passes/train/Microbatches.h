//===- Microbatches.h - A step over several batches -------------*- C++ -*-===//
//
// Gradients of a batch are sums over its samples. So a batch that does not fit
// is processed in parts: the program runs once for each part in a loop, and the
// results are added.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_TRAIN_MICROBATCHES_H
#define DIST_PASSES_TRAIN_MICROBATCHES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// A value that is summed over the microbatches.
struct Summand {
  Value value;
  /// The type of the sums' elements, at least as wide as those of the value.
  Type element;
  /// The value whose placement the sum gets (dist.follow), of its type. Null:
  /// as its uses want it.
  Value leader;
};

/// An argument that each microbatch changes for the next one.
struct CarriedArgument {
  BlockArgument argument;
  /// Its value after a microbatch.
  Value value;
};

/// The results of the loop over all microbatches.
struct LoopValues {
  SmallVector<Value> sums, carried;
};

class Microbatches {
public:
  Microbatches(func::FuncOp function, int64_t count)
      : function(function), count(count) {}

  int64_t getCount() const { return count; }

  /// Gives each input a leading dimension of microbatches, and the body the
  /// slice of one. Fails, after an error, for an input of unknown size.
  LogicalResult open();
  /// The same for an input that is added later and has the dimension.
  Value takeSlice(BlockArgument input);
  /// Moves all that depends on the microbatch, or on carried values, into a
  /// loop over all microbatches.
  LoopValues close(ArrayRef<Summand> summands,
                   ArrayRef<CarriedArgument> carried);

private:
  void countSteps(BlockArgument step);
  llvm::SetVector<Operation *> findBody(ArrayRef<CarriedArgument> carried);

  func::FuncOp function;
  int64_t count;
  /// A placeholder for the number of the microbatch until the loop exists.
  Operation *number = nullptr;
  /// After the last slice.
  Operation *last = nullptr;
};

} // namespace mlir::dist

#endif // DIST_PASSES_TRAIN_MICROBATCHES_H
