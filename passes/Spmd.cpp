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

void dist::buildPlacementPipeline(OpPassManager &pm) {
  pm.addPass(createDecomposeSoftmaxPass());
  pm.addPass(createPropagatePass());
  pm.addPass(createInsertReshardsPass());
  pm.addPass(createVerifyPlacedPass());
}

void dist::buildSpmdPipeline(OpPassManager &pm) {
  buildPlacementPipeline(pm);
  pm.addPass(createPartitionPass());
  // Coordinates and slices that several ops asked for.
  pm.addPass(createCSEPass());
  pm.addPass(createVerifySpmdPass());
}

void dist::registerSpmdPipeline() {
  PassPipelineRegistration<>("dist-spmd",
                             "From placements to the program of one device: "
                             "propagate, insert reshards, partition",
                             [](OpPassManager &pm) { buildSpmdPipeline(pm); });
}
