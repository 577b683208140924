//===- Spmd.cpp - The pipeline --dist-spmd --------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;

void dist::addFuseTransposes(OpPassManager &pm) {
  pm.addPass(createFuseTransposesPass());
  // Fills and empty tensors that were made anew for several ops.
  pm.addPass(createCSEPass());
  pm.addPass(createVerifySpmdPass());
}

void dist::buildImproveReshardsPipeline(OpPassManager &pm) {
  pm.addPass(createCombineSumsPass());
  pm.addPass(createMoveReshardsPass());
  pm.addPass(createSliceBeforeReshardsPass());
  pm.addPass(createTidyReshardsPass());
}

void dist::buildPlacementPipeline(OpPassManager &pm, StringRef turns,
                                  bool assumeMasks) {
  pm.addPass(createDecomposeSoftmaxPass());
  RecognizeWindowsPassOptions windows;
  windows.assumeMasks = assumeMasks;
  pm.addPass(createRecognizeWindowsPass(windows));
  pm.addPass(createSeparateDimsPass());
  pm.addPass(createPropagatePass());
  pm.addPass(createInsertReshardsPass());
  buildImproveReshardsPipeline(pm);
  if (!turns.empty()) {
    WholeSumsPassOptions options;
    options.axis = turns.str();
    pm.addPass(createWholeSumsPass(options));
  }
  pm.addPass(createPlanRingsPass());
  pm.addPass(createVerifyPlacedPass());
  pm.addPass(createNoteIdlePass());
}

void dist::buildPartitionPipeline(OpPassManager &pm, bool fuseTransposes,
                                  const MachineNames &on) {
  PartitionPassOptions options;
  options.machineName = on.machine;
  options.link = on.link;
  pm.addPass(createPartitionPass(options));
  // Coordinates and slices that several ops asked for.
  pm.addPass(createCSEPass());
  pm.addPass(createRingAttentionPass());
  pm.addPass(createGraphHalosPass());
  pm.addPass(createFuseContractionsPass());
  if (fuseTransposes)
    addFuseTransposes(pm);
  else
    pm.addPass(createVerifySpmdPass());
}

void dist::buildSpmdPipeline(OpPassManager &pm, bool fuseTransposes,
                             StringRef turns, const MachineNames &on,
                             bool assumeMasks) {
  buildPlacementPipeline(pm, turns, assumeMasks);
  buildPartitionPipeline(pm, fuseTransposes, on);
}

void dist::registerSpmdPipeline() {
  PassPipelineRegistration<>(
      "dist-improve-reshards",
      "Fewer and cheaper reshards: combine sums, move reshards, slice before "
      "them, tidy",
      buildImproveReshardsPipeline);
  PassPipelineRegistration<SpmdPipelineOptions>(
      "dist-spmd",
      "From placements to the program of one device: propagate, insert and "
      "improve reshards, partition",
      [](OpPassManager &pm, const SpmdPipelineOptions &options) {
        buildSpmdPipeline(pm, options.fuseTransposes, options.turns,
                          {options.machine, options.link}, options.assumeMasks);
      });
}

void dist::registerAllDistPasses() {
  registerDistPasses();
  registerDistPreparePasses();
  registerDistPropagatePasses();
  registerDistInsertPasses();
  registerDistImprovePasses();
  registerDistPartitionPasses();
  registerDistVerifyPasses();
  registerDistRingsPasses();
  registerDistGraphsPasses();
  registerDistHalosPasses();
  registerDistLayoutPasses();
  registerDistSizesPasses();
  registerDistMemoryPasses();
  registerDistOverlapPasses();
  registerDistPipelinePasses();
  registerSpmdPipeline();
}
