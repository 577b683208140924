//===- Packing.h - What is copied beside what is sent -----------*- C++ -*-===//
//
// Ops that are there for the sake of how tensors are cut, and marked so.
//
// NCCL and MPI cut and join tensors in their leading dimension: there a block
// is one piece of memory. In any other dimension blocks are copied together
// before they are sent, or apart after they came.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_PACKING_H
#define DIST_DIALECTS_DIST_IR_PACKING_H

#include "dialects/dist/IR/Dist.h"

namespace mlir::dist {

/// On a linalg.transpose: the collective ("all_gather") for whose sake it is
/// there.
inline constexpr llvm::StringLiteral kPacksAttr = "dist.packs";

/// On a linalg.generic that partitioning wrote: it puts a number where its
/// operand has padding, and else is the operand.
inline constexpr llvm::StringLiteral kPaddingAttr = "dist.padding";

/// The order in which a tensor's dimensions are stored, outermost first.
using DimOrder = SmallVector<int64_t, 4>;

/// Bytes that a device copies because `collective` does not cut or join the
/// leading dimension, or one that has only dimensions of one element before it.
/// `operand` and `result` are the orders in which the two are stored; empty
/// means as their types say.
int64_t getPackedBytes(Operation *collective, ArrayRef<int64_t> operand = {},
                       ArrayRef<int64_t> result = {});

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_PACKING_H
