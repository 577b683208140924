//===- Passes.h - From buffers to code for the CPU --------------*- C++ -*-===//
//
// The passes of Passes.td; CpuTarget.h runs them in their order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_CPU_PASSES_H
#define DIST_LOWERING_CPU_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dist {

#define GEN_PASS_DECL
#include "lowering/cpu/Passes.h.inc"

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_PASSES_H
