//===- Lookups.h - Inputs that name rows of tables --------------*- C++ -*-===//

#ifndef DIST_PASSES_TRAIN_LOOKUPS_H
#define DIST_PASSES_TRAIN_LOOKUPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// Sets kRangeAttr on those inputs of integers that are, as they are, places
/// in the dimension of a tensor that is looked up in each call (token ids): any
/// other integer makes the call fail. What `results` are not made of, what is
/// looked up under a condition, or at places that are computed otherwise, says
/// nothing: this forbids data, where ranges of random inputs
/// (inputs/InputRanges.h) guess what is worth reaching. Takes time linear
/// in the program.
void markLookups(func::FuncOp function, ArrayRef<Value> results);

} // namespace mlir::dist

#endif // DIST_PASSES_TRAIN_LOOKUPS_H
