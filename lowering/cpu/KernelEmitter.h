//===- KernelEmitter.h - A group of loop nests as a function ----*- C++ -*-===//
//
// Writes the loops of a kernel: scf loops, flat buffers, scalar arithmetic.
// Their order and accumulators let LLVM vectorize them.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_CPU_KERNELEMITTER_H
#define DIST_LOWERING_CPU_KERNELEMITTER_H

#include "lowering/cpu/Machine.h"
#include "lowering/kernels/KernelTarget.h"

namespace mlir::dist {

/// Emits `group` as a function at the end of the builder's block. `scratch` are
/// roots that have no other users; they shrink to what one iteration of the
/// shared loops needs, if possible. On return it holds those that did.
FailureOr<Kernel> emitCpuKernel(OpBuilder &builder, StringRef name,
                                KernelGroup group, const Machine &machine,
                                SmallVector<Value> &scratch);

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_KERNELEMITTER_H
