//===- KernelEmitter.h - A group of loop nests as a function ----*- C++ -*-===//
//
// Writes the loops of a kernel: scf loops, flat buffers, scalar arithmetic, in
// an order and with accumulators such that LLVM vectorizes them.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_CPU_KERNELEMITTER_H
#define DIST_LOWERING_CPU_KERNELEMITTER_H

#include "lowering/cpu/Machine.h"
#include "lowering/kernels/KernelTarget.h"

namespace mlir::dist {

/// On a loop of a kernel: what LLVM is told of it (#llvm.loop_annotation).
inline constexpr llvm::StringLiteral kLoopAnnotationAttr =
    "llvm.loop_annotation";

/// Emits `group` as a function at the end of the builder's block. `scratch` are
/// roots that no one else uses and that shrink to what one iteration of the
/// shared loops needs, where that is possible; on return it holds those that
/// did.
FailureOr<Kernel> emitCpuKernel(OpBuilder &builder, StringRef name,
                                KernelGroup group, const Machine &machine,
                                SmallVector<Value> &scratch);

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_KERNELEMITTER_H
