//===- Optimizer.h - How parameters follow their gradients ------*- C++ -*-===//

#ifndef DIST_PASSES_TRAIN_OPTIMIZER_H
#define DIST_PASSES_TRAIN_OPTIMIZER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>
#include <string>

namespace mlir::dist {

/// An optimizer with its numbers, as `--optimizer` words it:
/// `adamw,lr=3e-4,betas=0.9:0.95,weight_decay=0.1,schedule=cosine,warmup=10`.
/// What is not said is PyTorch's.
struct Optimizer {
  enum class Kind { Sgd, Adam, AdamW };
  /// What the rate does after `warmup` steps: stays, or falls to `minRate` on
  /// a line or half a cosine until step `steps`.
  enum class Schedule { Constant, Linear, Cosine };

  Kind kind = Kind::AdamW;
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weightDecay = 0, momentum = 0;
  bool nesterov = false;
  /// Gradients are scaled to at most this norm, of all of them; 0: they are
  /// not.
  double clip = 0;
  Schedule schedule = Schedule::Constant;
  int64_t warmup = 0, steps = 0;
  double minRate = 0;
  /// The mesh axis over which states are shared out; empty: they lie as their
  /// parameters do.
  std::string zero;
  /// Of a parameter of 16 bits a copy of 32 is kept, which is what changes; the
  /// parameter is that, rounded (Micikevicius et al. 2018).
  bool masters = false;

  /// Nothing, with `error` set, for a text that is no optimizer.
  static std::optional<Optimizer> parse(StringRef text, std::string &error);

  /// Whether it keeps a master of a parameter of such elements.
  bool hasMaster(Type element) const {
    return masters && element.getIntOrFloatBitWidth() < 32;
  }
  /// What it keeps of a parameter, by PyTorch's names; its master is the last.
  SmallVector<StringRef> getStates(Type element) const;
};

/// What all parameters share in a step: numbers of type f64, and how many steps
/// were done before.
struct StepNumbers {
  SmallVector<Value> values;
  Value step;
};

/// Computes them; `step`, a tensor of no dimensions, is how many steps were
/// done before.
StepNumbers addStepNumbers(OpBuilder &builder, Location loc,
                           const Optimizer &optimizer, Value step);

/// By what to multiply gradients so that their norm is at most
/// Optimizer::clip; of no dimensions.
Value addClipping(OpBuilder &builder, Location loc, const Optimizer &optimizer,
                  ValueRange gradients);

/// The new parameter, followed by its new states. `scale` multiplies the
/// gradient; null: nothing does. A master begins as its parameter.
SmallVector<Value> addUpdate(OpBuilder &builder, Location loc,
                             const Optimizer &optimizer,
                             const StepNumbers &numbers, Value parameter,
                             Value gradient, ValueRange states, Value scale);

} // namespace mlir::dist

#endif // DIST_PASSES_TRAIN_OPTIMIZER_H
