//===- Lookups.h - Inputs that index tables ---------------------*- C++ -*-===//

#ifndef DIST_PASSES_TRAIN_LOOKUPS_H
#define DIST_PASSES_TRAIN_LOOKUPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// Sets kRangeAttr on inputs of integers that index, unchanged, a dimension of
/// a tensor in each call (token ids). Any other integer makes the call fail.
/// Lookups under a condition, at computed positions, or that `results` do not
/// depend on, do not count: the attribute forbids data, so it must be exact.
/// Takes time linear in the program.
void markLookups(func::FuncOp function, ArrayRef<Value> results);

} // namespace mlir::dist

#endif // DIST_PASSES_TRAIN_LOOKUPS_H
