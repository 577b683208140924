//===- Work.h - What an op computes and moves -------------------*- C++ -*-===//
//
// The operands of a roofline, for ops of level 3.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_COST_WORK_H
#define DIST_PASSES_COST_WORK_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// Multiplications and additions, if `op` is a contraction; else 0.
int64_t countFlops(Operation *op);

/// Whether the op is a loop nest that sums products, which is what takes long;
/// the sums of a norm are none.
bool isSumOfProducts(Operation *op);

/// Whether the op multiplies what it reads: a contraction, a convolution or an
/// attention.
bool isContraction(Operation *op);

struct Work {
  /// As countFlops says.
  double flops = 0;
  /// Element type of what is multiplied; null without flops.
  Type type;
  /// Scalar operations of a loop nest that is no contraction: those of its
  /// body, once for each point of its iteration space.
  double scalarOps = 0;
  /// Read from memory and written to it.
  double bytes = 0;
  /// Whether it is a kernel or a library call of its own. Views cost nothing,
  /// and elementwise work whose only reader is a loop nest is done there, where
  /// it is counted.
  bool isKernel = false;
};

/// What the result of `op` is a view of; null where it is memory of its own.
Value getViewSource(Operation *op);

/// Of `op` itself, without the ops of its regions.
Work getWork(Operation *op);

} // namespace mlir::dist

#endif // DIST_PASSES_COST_WORK_H
