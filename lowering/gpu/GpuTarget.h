//===- GpuTarget.h - NVIDIA's GPUs as a target ------------------*- C++ -*-===//

#ifndef DIST_LOWERING_GPU_GPUTARGET_H
#define DIST_LOWERING_GPU_GPUTARGET_H

#include "lowering/pipeline/Target.h"

namespace mlir::dist {

/// --target cuda.
const Target &getGpuTarget();

} // namespace mlir::dist

#endif // DIST_LOWERING_GPU_GPUTARGET_H
