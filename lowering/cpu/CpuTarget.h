//===- CpuTarget.h - The CPU as a target ------------------------*- C++ -*-===//

#ifndef DIST_LOWERING_CPU_CPUTARGET_H
#define DIST_LOWERING_CPU_CPUTARGET_H

#include "lowering/pipeline/Target.h"

namespace mlir::dist {

/// --target cpu.
const Target &getCpuTarget();

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_CPUTARGET_H
