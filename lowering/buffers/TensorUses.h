//===- TensorUses.h - Uses of tensors over time -----------------*- C++ -*-===//
//
// The order of the ops of a function, and the last use of each tensor.
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

  /// Whether the op reads the tensor. A loop does if it reads the carried
  /// value.
  bool reads(OpOperand &use);

  /// Whether the use needs the tensor's contents. Contents that are overwritten
  /// unread are not needed; a view needs them, since it may be read.
  bool needsContents(OpOperand &use);

  /// When `user` needs a value of the region `home` for the last time: if a
  /// loop is in between, at the end of the loop.
  int64_t getPosition(Operation *user, Region *home);

  /// The last time that the value is needed by an op other than `except`; -1 if
  /// never.
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
