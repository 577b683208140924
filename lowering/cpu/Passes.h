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
#include "mlir/Pass/PassOptions.h"

namespace mlir::dist {

#define GEN_PASS_DECL
#include "lowering/cpu/Passes.h.inc"

struct LowerCpuOptions : PassPipelineOptions<LowerCpuOptions> {
  PassOptions::Option<bool> plain{
      *this, "plain",
      llvm::cl::desc("For a program to compare with: no fusion, nothing in "
                     "place, no memory used twice, plain loops"),
      llvm::cl::init(false)};
};

/// Level 3 (or 0, for one rank) to the LLVM dialect: --dist-lower-cpu.
void buildLowerCpuPipeline(OpPassManager &pm, const LowerCpuOptions &options);

/// Registers all passes of the lowering and the pipeline with dist-opt.
void registerLowerCpuPasses();

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_PASSES_H
