//===- Optimizer.h - Optimizers ---------------------------------*- C++ -*-===//

#ifndef DIST_PASSES_TRAIN_OPTIMIZER_H
#define DIST_PASSES_TRAIN_OPTIMIZER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>
#include <string>

namespace mlir::dist {

/// An optimizer with its numbers, as in `--optimizer`:
/// `adamw,lr=3e-4,betas=0.9:0.95,weight_decay=0.1,schedule=cosine,warmup=10`.
/// Defaults are PyTorch's.
struct Optimizer {
  enum class Kind { Sgd, Adam, AdamW };
  /// The learning rate after `warmup` steps: it stays, or falls to `minRate`
  /// until step `steps`, linearly or by half a cosine.
  enum class Schedule { Constant, Linear, Cosine };

  Kind kind = Kind::AdamW;
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weightDecay = 0, momentum = 0;
  bool nesterov = false;
  /// Gradients are scaled so that the norm of all of them is at most this; 0:
  /// no scaling.
  double clip = 0;
  Schedule schedule = Schedule::Constant;
  int64_t warmup = 0, steps = 0;
  double minRate = 0;
  /// The mesh axis over which states are sharded; empty: states are placed like
  /// their parameters.
  std::string zero;
  /// For a parameter of 16 bits, a copy of 32 bits is kept and updated. The
  /// parameter is that copy, rounded (Micikevicius et al. 2018).
  bool masters = false;

  /// Empty, with `error` set, for a malformed text.
  static std::optional<Optimizer> parse(StringRef text, std::string &error);

  /// Whether it keeps a master of a parameter with such elements.
  bool hasMaster(Type element) const {
    return masters && element.getIntOrFloatBitWidth() < 32;
  }
  /// The states of a parameter, by PyTorch's names; its master is the last.
  SmallVector<StringRef> getStates(Type element) const;
};

/// The values that all parameters share in a step: numbers of type f64, and the
/// number of steps before.
struct StepNumbers {
  SmallVector<Value> values;
  Value step;
};

/// Computes them. `step`, a tensor without dimensions, is the number of steps
/// before.
StepNumbers addStepNumbers(OpBuilder &builder, Location loc,
                           const Optimizer &optimizer, Value step);

/// The factor that makes the norm of the gradients at most Optimizer::clip;
/// without dimensions.
Value addClipping(OpBuilder &builder, Location loc, const Optimizer &optimizer,
                  ValueRange gradients);

/// The new parameter, followed by its new states. `scale` multiplies the
/// gradient, unless it is null. A master starts as its parameter.
SmallVector<Value> addUpdate(OpBuilder &builder, Location loc,
                             const Optimizer &optimizer,
                             const StepNumbers &numbers, Value parameter,
                             Value gradient, ValueRange states, Value scale);

} // namespace mlir::dist

#endif // DIST_PASSES_TRAIN_OPTIMIZER_H
