//===- Losses.h - What a step makes smaller ---------------------*- C++ -*-===//

#ifndef DIST_PASSES_TRAIN_LOSSES_H
#define DIST_PASSES_TRAIN_LOSSES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::dist {

/// A loss as sum / divisor, and its derivative with respect to the model's
/// result. For several microbatches the sums are added, and there is one
/// divisor.
struct Loss {
  /// If it is null, the divisor is 1.
  Value sum, divisor, cotangent;

  /// The quotient.
  Value addValue(OpBuilder &builder, Location loc) const;
};

/// The number of labels that count; 1 if no label counts, so that the loss is
/// 0.
Value addLabelCount(OpBuilder &builder, Location loc, Value labels,
                    Type logits);

/// The cross entropy between softmax(logits), over the last dimension, and the
/// label, summed over all labels that count, divided by `divisor`
/// (addLabelCount of these labels and those of other microbatches). `labels`
/// has the other dimensions. A label that is not a class ends the run.
Loss addCrossEntropy(OpBuilder &builder, Location loc, Value logits,
                     Value labels, Value divisor);

/// The mean of the squared differences, over as many tensors as there are
/// microbatches.
Loss addMeanSquaredError(OpBuilder &builder, Location loc, Value result,
                         Value target, int64_t microbatches);

/// The result, a single number, is the loss of its microbatch. For several
/// microbatches it is their mean.
Loss addOwnLoss(OpBuilder &builder, Location loc, Value result,
                int64_t microbatches);

} // namespace mlir::dist

#endif // DIST_PASSES_TRAIN_LOSSES_H
