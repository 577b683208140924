//===- Passes.h - From buffers to code for the CPU --------------*- C++ -*-===//
//
// The passes of Passes.td, and the pipeline that runs them all.
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

/// Level 3 (or 0, for one rank) to the LLVM dialect: --dist-lower-cpu.
void buildLowerCpuPipeline(OpPassManager &pm);

/// Registers all passes of the lowering and the pipeline with dist-opt.
void registerLowerCpuPasses();

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_PASSES_H
