//===- Losses.h - What a step makes smaller ---------------------*- C++ -*-===//

#ifndef DIST_PASSES_TRAIN_LOSSES_H
#define DIST_PASSES_TRAIN_LOSSES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::dist {

/// Labels that are this do not count, as in PyTorch.
inline constexpr int64_t kIgnoredLabel = -100;

/// A loss as a value of no dimensions, and its derivative by what the model
/// said.
struct Loss {
  Value value, cotangent;
};

/// The mean over all labels that count of the cross entropy between
/// softmax(logits), over the last dimension, and the label; 0 if none counts.
/// `labels` has the other dimensions; one that is no class ends the run.
Loss addCrossEntropy(OpBuilder &builder, Location loc, Value logits,
                     Value labels);

/// The mean of the squared differences.
Loss addMeanSquaredError(OpBuilder &builder, Location loc, Value result,
                         Value target);

} // namespace mlir::dist

#endif // DIST_PASSES_TRAIN_LOSSES_H
