//===- Pipeline.h - From tensors to the LLVM dialect ------------*- C++ -*-===//
//
// The lowering's passes in their order, for any target (Target.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_PIPELINE_PIPELINE_H
#define DIST_LOWERING_PIPELINE_PIPELINE_H

#include "lowering/pipeline/Target.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::dist {

struct LowerOptions : PassPipelineOptions<LowerOptions> {
  PassOptions::Option<bool> plain{
      *this, "plain",
      llvm::cl::desc("For a program to compare with: no fusion, nothing in "
                     "place, no memory used twice, plain loops"),
      llvm::cl::init(false)};
  PassOptions::Option<int64_t> ranks{
      *this, "ranks",
      llvm::cl::desc("With plain: of the program that this one is compared "
                     "with, whose sums have wider types where the target's "
                     "library does them; 0 for sums as the ops say"),
      llvm::cl::init(0)};
  PassOptions::Option<bool> perturb{
      *this, "perturb",
      llvm::cl::desc("With random rounding errors, once they are switched on "
                     "in the program (--dist-perturb-rounding)"),
      llvm::cl::init(false)};
};

/// Level 3 (or 0, for one rank) to the LLVM dialect. `target` must outlive
/// `passes`.
void buildLowerPipeline(OpPassManager &passes, const Target &target,
                        const LowerOptions &options);

/// Attention whose adjoint is in another loop becomes dist.attention (level 3),
/// as in the lowering. For passes that change loops before.
void addAttentionAcrossLoops(OpPassManager &passes);

/// Registers the passes that no target owns with dist-opt.
void registerNeutralPasses();

/// Registers the target's passes, and its pipeline as --dist-lower-NAME.
/// `target` must outlive the registry.
void registerTargetPasses(const Target &target);

} // namespace mlir::dist

#endif // DIST_LOWERING_PIPELINE_PIPELINE_H
