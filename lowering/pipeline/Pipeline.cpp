//===- Pipeline.cpp - From tensors to the LLVM dialect --------------------===//

#include "lowering/pipeline/Pipeline.h"
#include "lowering/buffers/Passes.h"
#include "lowering/decompose/Passes.h"
#include "lowering/kernels/Passes.h"
#include "lowering/rt/Passes.h"
#include "lowering/streams/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace mlir::dist;

/// Below that, tiles save little memory and no time
/// (docs/internals/kernels.md); of adjoints whose parts compute all scores
/// again, too, from fewer on.
static constexpr int64_t kFewestTiledScores = 4 * 1024 * 1024;
static constexpr int64_t kFewestScoresAgain = 64 * 1024;

/// Adjoints of fewer scores are decomposed.
static int64_t getFewestAgain(const Target &target) {
  int64_t most = target.mostScoresAtOnce();
  return most ? most + 1 : kFewestScoresAgain;
}

void mlir::dist::addAttentionAcrossLoops(OpPassManager &passes) {
  DistFormAttentionOptions options;
  options.minScores = kFewestTiledScores;
  options.minScoresOfFewer = kFewestScoresAgain;
  options.onlyAcrossLoops = true;
  passes.addPass(createDistFormAttention(options));
}

/// Kernels in one arena, computed in place and fused.
static void addKernels(OpPassManager &passes, const Target &target) {
  DistFormAttentionOptions attention;
  attention.minScores = kFewestTiledScores;
  attention.minScoresOfFewer = kFewestScoresAgain;
  int64_t most = target.mostScoresAtOnce();
  if (most) // slices skip nothing
    attention.minScores = attention.minScoresOfFewer = most + 1;
  passes.addPass(createDistFormAttention(attention));
  if (most)
    passes.addNestedPass<func::FuncOp>(createDistSliceAttention({most}));
  // Values that loops keep for their adjoints are sliced again.
  passes.addPass(createDistFullRankSlices());
  passes.addPass(createDistBufferize());
  passes.addNestedPass<func::FuncOp>(createDistCarryInPlace());
  passes.addPass(createCanonicalizerPass());
  target.addKernels(passes);
}

/// Each op alone, on buffers that are its own.
static void addPlainLoops(OpPassManager &passes, const Target &target,
                          int64_t ranks) {
  passes.addPass(createDistBufferizePlainly());
  passes.addNestedPass<func::FuncOp>(createDistCarryInPlace());
  target.addPlainLoops(passes, ranks);
}

void mlir::dist::buildLowerPipeline(OpPassManager &passes, const Target &target,
                                    const LowerOptions &options) {
  // Tensors.
  passes.addPass(createSelectEntryPass());
  passes.addPass(createDistLimitInlining());
  // Inlining folds.
  passes.addPass(createDistFullRankSlices());
  passes.addPass(createInlinerPass());
  passes.addPass(createSymbolDCEPass());
  passes.addPass(createCheckBoundsPass());
  if (!options.plain)
    passes.addPass(createDistSparsifySums());
  passes.addPass(createDistLowerConstants());
  passes.addPass(createDistLowerCollectives());
  if (!options.plain)
    target.addTensorCalls(passes);
  DistDecomposeOpsOptions decompose;
  if (!options.plain) {
    decompose.minScores = getFewestAgain(target);
    decompose.sortsScatters = target.hasScatters();
  }
  passes.addNestedPass<func::FuncOp>(createDistDecomposeOps(decompose));
  DistSplitSumsOptions sums;
  sums.wholeSums = !options.plain && target.splitsWholeSums();
  passes.addNestedPass<func::FuncOp>(createDistSplitSums(sums));
  passes.addNestedPass<func::FuncOp>(createDistGuardOps());
  passes.addNestedPass<func::FuncOp>(createDistSaturateCasts());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  // Buffers.
  if (options.plain)
    addPlainLoops(passes, target, options.ranks);
  else
    addKernels(passes, target);
  DistPlanMemoryOptions memory;
  memory.sharing = !options.plain;
  memory.alignment = target.getAlignment();
  passes.addPass(createDistPlanMemory(memory));
  passes.addPass(createDistVerifySchedule());
  // Loops and scalars.
  if (options.perturb)
    passes.addPass(createDistPerturbRounding());
  target.addCode(passes);
}

void mlir::dist::registerNeutralPasses() {
  registerDistRtPasses();
  registerDistStreamsPasses();
  registerDistBufferPasses();
  registerDistDecomposePasses();
  registerDistKernelPasses();
}

void mlir::dist::registerTargetPasses(const Target &target) {
  target.registerPasses();
  PassPipelineRegistration<LowerOptions>(
      ("dist-lower-" + target.getName()).str(),
      ("SPMD tensors to the LLVM dialect, for --target " + target.getName())
          .str(),
      [&target](OpPassManager &passes, const LowerOptions &options) {
        buildLowerPipeline(passes, target, options);
      });
}
