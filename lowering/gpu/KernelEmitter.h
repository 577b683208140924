//===- KernelEmitter.h - Writes a group as a kernel of a GPU ----*- C++ -*-===//
//
// Iterations of the shared loops (KernelLoops.h) are cells. Nothing passes from
// one to another, so each is a block's, or a thread's if it is small.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_GPU_KERNELEMITTER_H
#define DIST_LOWERING_GPU_KERNELEMITTER_H

#include "lowering/kernels/KernelTarget.h"

namespace mlir::dist {

/// Emits `group` as a function at the end of the builder's block, with the
/// number of its blocks (kBlocksAttr). `scratch` as for
/// KernelTarget::emitKernel; it is shared memory.
FailureOr<Kernel> emitGpuKernel(OpBuilder &builder, StringRef name,
                                KernelGroup group, SmallVector<Value> &scratch);

} // namespace mlir::dist

#endif // DIST_LOWERING_GPU_KERNELEMITTER_H
