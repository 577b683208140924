//===- KernelUnits.h - Ops that may be one kernel ---------------*- C++ -*-===//
//
// Kernels are formed of neighbours, and what is rounded how depends on the
// kernel. So that another order changes no bit, ops that may be one kernel in
// the order given stay together, in that order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_OVERLAP_KERNELUNITS_H
#define DIST_PASSES_OVERLAP_KERNELUNITS_H

#include "mlir/IR/Block.h"

namespace mlir::dist {

/// Whether the op takes no time: it is a view, a constant, a number, or made
/// where it is used.
using IsFree = llvm::function_ref<bool(Operation *)>;

/// The ops of a block in groups: a transfer, or another op that no kernel
/// crosses, is one of its own, and so is what is free and made of nothing
/// that is computed since the last such op, which comes first. All others are
/// cut where no two that are neighbours across the cut have a buffer in common,
/// since such are never one kernel.
std::vector<SmallVector<Operation *, 1>> findKernelUnits(Block &block,
                                                         IsFree isFree);

} // namespace mlir::dist

#endif // DIST_PASSES_OVERLAP_KERNELUNITS_H
