//===- Packing.h - Copies that communication needs --------------*- C++ -*-===//
//
// Ops that are there because of how tensors are cut, and marks for them.
//
// NCCL and MPI cut and join tensors in their leading dimension: there a block
// is one piece of memory. In any other dimension, blocks are packed before they
// are sent, and unpacked after they are received.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_UTILS_PACKING_H
#define DIST_DIALECTS_DIST_UTILS_PACKING_H

#include "dialects/dist/IR/Dist.h"

namespace mlir::dist {

/// The order in which a tensor's dimensions are stored, outermost first.
using DimOrder = SmallVector<int64_t, 4>;

/// Bytes that a device copies because `collective` does not cut or join the
/// leading dimension. (Leading means that only dimensions of one element come
/// before it.) `operand` and `result` are the orders in which the two are
/// stored; empty means the order of the type.
int64_t getPackedBytes(Operation *collective, ArrayRef<int64_t> operand = {},
                       ArrayRef<int64_t> result = {});

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_PACKING_H
