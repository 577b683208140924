//===- CpuKernels.h - What the CPU says of its kernels ----------*- C++ -*-===//

#ifndef DIST_LOWERING_CPU_CPUKERNELS_H
#define DIST_LOWERING_CPU_CPUKERNELS_H

#include "lowering/kernels/KernelTarget.h"

namespace mlir::dist {

/// Policies that the passes of lowering/kernels ask.
const KernelTarget &getCpuKernels();

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_CPUKERNELS_H
