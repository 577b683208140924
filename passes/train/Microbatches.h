//===- Microbatches.h - A step over several batches -------------*- C++ -*-===//
//
// Gradients of a batch are sums over its samples, so a batch that does not fit
// is taken in parts: the program runs once for each in a loop, and what it
// makes of them is added up.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_TRAIN_MICROBATCHES_H
#define DIST_PASSES_TRAIN_MICROBATCHES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// Something that is added up over the microbatches.
struct Summand {
  Value value;
  /// The type of the sums' elements, at least as wide as those of the value.
  Type element;
  /// What the sum is placed as (dist.follow), of its type; null: where its
  /// uses want it.
  Value leader;
};

/// An argument that each microbatch changes for the next one.
struct CarriedArgument {
  BlockArgument argument;
  /// What a microbatch makes of it.
  Value value;
};

/// What the loop over all microbatches makes.
struct LoopValues {
  SmallVector<Value> sums, carried;
};

class Microbatches {
public:
  Microbatches(func::FuncOp function, int64_t count)
      : function(function), count(count) {}

  int64_t getCount() const { return count; }

  /// Gives each input a leading dimension, the microbatches, and the body the
  /// slice of one of them. Fails, after an error, for an input of unknown size.
  LogicalResult open();
  /// The same of an input that is added later, which has the dimension.
  Value takeSlice(BlockArgument input);
  /// Puts what depends on the microbatch, or on what is carried, into a loop
  /// over all of them.
  LoopValues close(ArrayRef<Summand> summands,
                   ArrayRef<CarriedArgument> carried);

private:
  void countSteps(BlockArgument step);
  llvm::SetVector<Operation *> findBody(ArrayRef<CarriedArgument> carried);

  func::FuncOp function;
  int64_t count;
  /// Stands for the number of the microbatch until there is a loop.
  Operation *number = nullptr;
  /// After the last slice.
  Operation *last = nullptr;
};

} // namespace mlir::dist

#endif // DIST_PASSES_TRAIN_MICROBATCHES_H
