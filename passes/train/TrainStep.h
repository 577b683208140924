//===- TrainStep.h - A step of training -------------------------*- C++ -*-===//
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
  /// Name of the result that the loss is of; empty: the only one of floats.
  StringRef result;
  /// cross_entropy, mse, or result: the result is the loss itself.
  StringRef loss = "cross_entropy";
  /// Name of the new input with what the result should be.
  StringRef target = "labels";
  /// As Optimizer::parse reads it.
  StringRef optimizer = "adamw";
  /// How many batches a step takes, one after the other.
  int64_t microbatches = 1;
  /// Globs of the names of parameters that are trained; empty: all of floats.
  ArrayRef<std::string> parameters;
};

/// Makes of the function one step.
LogicalResult addTrainStep(ModuleOp module, const TrainRequest &request);

} // namespace mlir::dist

#endif // DIST_PASSES_TRAIN_TRAINSTEP_H
