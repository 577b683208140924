//===- TrainStep.h - A training step ----------------------------*- C++ -*-===//
//
// Loss, gradients and optimizer, added to a forward-only program of level 0 or
// 1; see --dist-train-step.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_TRAIN_TRAINSTEP_H
#define DIST_PASSES_TRAIN_TRAINSTEP_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

struct TrainRequest {
  /// The function; empty: the entry function.
  StringRef function;
  /// Name of the result to take the loss of; empty: the only one of floats.
  StringRef result;
  /// cross_entropy, mse, or result: the result is the loss itself.
  StringRef loss = "cross_entropy";
  /// Name of the new input that the result is compared with.
  StringRef target = "labels";
  /// As Optimizer::parse reads it.
  StringRef optimizer = "adamw";
  /// Number of batches in a step, one after the other.
  int64_t microbatches = 1;
  /// Globs of the names of parameters to train; empty: all of floats.
  ArrayRef<std::string> parameters;
};

/// Turns the function into one step.
LogicalResult addTrainStep(ModuleOp module, const TrainRequest &request);

} // namespace mlir::dist

#endif // DIST_PASSES_TRAIN_TRAINSTEP_H
