//===- Work.h - What an op computes and moves -------------------*- C++ -*-===//
//
// The inputs of a roofline estimate, for ops of level 3.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_COST_WORK_H
#define DIST_PASSES_COST_WORK_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// Multiplications and additions, if `op` is a contraction; else 0.
int64_t countFlops(Operation *op);

/// Whether the op is a loop nest that sums products, which takes long. The sums
/// of a norm are not.
bool isSumOfProducts(Operation *op);

/// Whether the op multiplies what it reads: a contraction, a convolution or an
/// attention.
bool isContraction(Operation *op);

struct Work {
  /// As in countFlops.
  double flops = 0;
  /// Element type of the factors; null without flops.
  Type type;
  /// Scalar operations of a loop nest that is not a contraction: the number in
  /// its body, times the points of its iteration space.
  double scalarOps = 0;
  /// Read from memory and written to it.
  double bytes = 0;
  /// Whether it is a kernel or a library call of its own. Views cost nothing.
  /// Elementwise ops whose only reader is a loop nest are counted there.
  bool isKernel = false;
};

/// The source of which the result of `op` is a view; null if it has its own
/// memory.
Value getViewSource(Operation *op);

/// The work of `op` itself, without the ops in its regions.
Work getWork(Operation *op);

} // namespace mlir::dist

#endif // DIST_PASSES_COST_WORK_H
