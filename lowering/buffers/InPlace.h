//===- InPlace.h - Which ops write over their operands ----------*- C++ -*-===//
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

/// What is done in place. Replaces upstream's analysis and answers the same
/// questions to its bufferization.
class InPlaceState : public bufferization::OneShotAnalysisState {
public:
  using OneShotAnalysisState::OneShotAnalysisState;

  /// Decides for each tensor operand whether it is bufferized in place: an op
  /// writes in place if no value that is read later may lie there.
  LogicalResult analyze(func::FuncOp function);

  /// Ops that must write over their destination, which is still needed. If
  /// there are any, the program has to be changed and all to be decided anew.
  ArrayRef<bufferization::MaterializeInDestinationOp> getUnplaced() const {
    return unplaced;
  }
  void addUnplaced(bufferization::MaterializeInDestinationOp op) {
    unplaced.push_back(op);
  }

  /// Arguments made for new values of others (kSameMemoryAttr), where what lies
  /// there, or the old value, may lie in the place of another one, or in what
  /// may not be written to. If there are any, they are to be set apart, and all
  /// to be decided anew.
  ArrayRef<BlockArgument> getShared() const { return shared; }
  void addShared(BlockArgument place) { shared.push_back(place); }

  bool hasUndefinedContents(OpOperand *operand) const override {
    return undefined.contains(operand->get()) || unread.contains(operand);
  }
  /// Of what a loop begins with: it does not read it.
  void addUnread(OpOperand &operand) { unread.insert(&operand); }

private:
  void findUndefined(func::FuncOp function);

  /// Values of which nothing was written yet.
  DenseSet<Value> undefined;
  DenseSet<OpOperand *> unread;
  SmallVector<bufferization::MaterializeInDestinationOp> unplaced;
  SmallVector<BlockArgument> shared;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_INPLACE_H
