//===- InPlace.h - Which ops write over their operands ----------*- C++ -*-===//
//
// The decisions that upstream's bufferization needs, in nearly linear time.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_INPLACE_H
#define DIST_LOWERING_BUFFERS_INPLACE_H

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

  bool hasUndefinedContents(OpOperand *operand) const override {
    return undefined.contains(operand->get());
  }

private:
  void findUndefined(func::FuncOp function);

  /// Values of which nothing was written yet.
  DenseSet<Value> undefined;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_INPLACE_H
