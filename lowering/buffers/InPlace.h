//===- InPlace.h - Ops that overwrite their operands ------------*- C++ -*-===//
//
// The decisions that upstream's bufferization needs, in nearly linear time.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_INPLACE_H
#define DIST_LOWERING_BUFFERS_INPLACE_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// The decisions on what is done in place. Replaces upstream's analysis, and
/// answers its questions for bufferization.
class InPlaceState : public bufferization::OneShotAnalysisState {
public:
  using OneShotAnalysisState::OneShotAnalysisState;

  /// Decides for each tensor operand whether it is bufferized in place. An op
  /// writes in place if no value that is read later may be in that memory.
  LogicalResult analyze(func::FuncOp function);

  /// Ops that must overwrite their destination, which is still needed. If there
  /// are any, the program must be changed and the decisions made again.
  ArrayRef<bufferization::MaterializeInDestinationOp> getUnplaced() const {
    return unplaced;
  }
  void addUnplaced(bufferization::MaterializeInDestinationOp op) {
    unplaced.push_back(op);
  }

  /// Arguments that were added for new values of others (kSameMemoryAttr) and
  /// that need a copy. Their data, or the old value, may be in the place of
  /// another one, or in memory that must not be written. If there are any, they
  /// must be copied and the decisions made again.
  ArrayRef<BlockArgument> getShared() const { return shared; }
  void addShared(BlockArgument place) { shared.push_back(place); }

  bool hasUndefinedContents(OpOperand *operand) const override {
    return undefined.contains(operand->get()) || unread.contains(operand);
  }
  /// For the initial value of a loop: the loop does not read it.
  void addUnread(OpOperand &operand) { unread.insert(&operand); }

private:
  void findUndefined(func::FuncOp function);

  /// Values of which nothing has been written yet.
  DenseSet<Value> undefined;
  DenseSet<OpOperand *> unread;
  SmallVector<bufferization::MaterializeInDestinationOp> unplaced;
  SmallVector<BlockArgument> shared;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_INPLACE_H
