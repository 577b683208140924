//===- Passes.h - From tensors to code for the CPU --------------*- C++ -*-===//
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

/// Module attributes that the passes hand to the bundle's manifest: bytes of
/// the arena, and the most bytes of it alive at once.
inline constexpr llvm::StringLiteral kArenaBytesAttr = "rt.arena_bytes";
inline constexpr llvm::StringLiteral kLiveBytesAttr = "rt.live_bytes";

/// How many of the entry function's buffers are results, the last ones.
inline constexpr llvm::StringLiteral kNumResultsAttr = "rt.num_results";

/// Level 3 (or 0, for one rank) to the LLVM dialect: --dist-lower-cpu.
void buildLowerCpuPipeline(OpPassManager &pm);

/// Registers the passes and the pipeline with dist-opt.
void registerLowerCpuPasses();

/// Registers the interfaces that the passes need of upstream dialects.
void registerLowerCpuExtensions(DialectRegistry &registry);

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_PASSES_H
