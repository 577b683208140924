//===- TensorUses.h - When tensors are read ---------------------*- C++ -*-===//
//
// The order of the ops of a function, and until when each tensor is needed.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_TENSORUSES_H
#define DIST_LOWERING_BUFFERS_TENSORUSES_H

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

class TensorUses {
public:
  TensorUses(func::FuncOp function, bufferization::AnalysisState &state);

  /// The number of an op in the order of the program.
  int64_t getBegin(Operation *op) const { return intervals.lookup(op).begin; }

  /// Whether the op reads the tensor. A loop does if what it carries is read.
  bool reads(OpOperand &use);

  /// Whether the use needs what the tensor holds. What is overwritten unread is
  /// not needed; a view needs it, as it may be read.
  bool needsContents(OpOperand &use);

  /// When `user` needs a value of the region `home` for the last time: a loop
  /// in between needs it until its own end.
  int64_t getPosition(Operation *user, Region *home);

  /// When the value is needed last, by another op than `except`; -1 if never.
  int64_t getLastUse(Value value, Operation *except = nullptr);

private:
  /// Where an op begins and ends in the order of the program.
  struct Interval {
    int64_t begin, end;
  };

  bool isRead(Value value);
  bool repeats(Region &region);

  bufferization::AnalysisState &state;
  DenseMap<Operation *, Interval> intervals;
  /// Carried values: whether loops read them.
  DenseMap<Value, bool> read;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_TENSORUSES_H
