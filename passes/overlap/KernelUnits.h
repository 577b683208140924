//===- KernelUnits.h - Ops that may be one kernel ---------------*- C++ -*-===//
//
// Kernels are formed from neighbours, and rounding depends on the kernel. So
// that another order changes no bit, ops that may be one kernel in the original
// order stay together, in that order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_OVERLAP_KERNELUNITS_H
#define DIST_PASSES_OVERLAP_KERNELUNITS_H

#include "mlir/IR/Block.h"

namespace mlir::dist {

/// Whether the op takes no time: it is a view, a constant, a scalar, or
/// computed where it is used.
using IsFree = llvm::function_ref<bool(Operation *)>;

/// The ops of a block in groups. A transfer, or another op that no kernel
/// crosses, is a group of its own. So are free ops that depend on nothing that
/// was computed since the last such op; they come first. The others are split
/// where no two neighbours across the split share a buffer, since such ops are
/// never one kernel.
std::vector<SmallVector<Operation *, 1>> findKernelUnits(Block &block,
                                                         IsFree isFree);

} // namespace mlir::dist

#endif // DIST_PASSES_OVERLAP_KERNELUNITS_H
