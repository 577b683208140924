//===- Pipeline.cpp - From tensors to the LLVM dialect --------------------===//
//
// --dist-lower-cpu: the passes in their order.
//
//===----------------------------------------------------------------------===//

#include "lowering/buffers/Passes.h"
#include "lowering/cpu/Passes.h"
#include "lowering/rt/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

namespace mlir::dist {
#define GEN_PASS_REGISTRATION
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Kernels in one arena, computed in place and fused.
static void addKernels(OpPassManager &pm) {
  pm.addPass(createDistBufferize());
  pm.addNestedPass<func::FuncOp>(createDistCarryInPlace());
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createDistCpuSelectContractions());
  pm.addPass(createDistCpuFormKernels());
  pm.addPass(createDistPlanMemory());
}

/// Each op alone, on buffers that are its own.
static void addPlainLoops(OpPassManager &pm) {
  pm.addPass(createDistBufferizePlainly());
  pm.addNestedPass<func::FuncOp>(createDistCarryInPlace());
  pm.addPass(createDistCpuPlainLoops());
  DistPlanMemoryOptions memory;
  memory.sharing = false;
  pm.addPass(createDistPlanMemory(memory));
}

void mlir::dist::buildLowerCpuPipeline(OpPassManager &pm,
                                       const LowerCpuOptions &options) {
  // Tensors.
  pm.addPass(createSelectEntryPass());
  pm.addPass(createInlinerPass());
  pm.addPass(createSymbolDCEPass());
  pm.addPass(createDistLowerConstants());
  pm.addPass(createDistLowerCollectives());
  pm.addNestedPass<func::FuncOp>(createDistDecomposeOps());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Buffers.
  if (options.plain)
    addPlainLoops(pm);
  else
    addKernels(pm);
  // Loops and scalars.
  pm.addPass(createDistCpuExpandMath());
  pm.addPass(math::createMathExtendToSupportedTypes());
  pm.addPass(createDistCpuExpandBf16());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createDistCpuConvertToLLVM());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void mlir::dist::registerLowerCpuPasses() {
  registerDistRtPasses();
  registerDistBufferPasses();
  registerDistLowerCpuPasses();
  PassPipelineRegistration<LowerCpuOptions>(
      "dist-lower-cpu", "SPMD tensors to the LLVM dialect for the CPU",
      buildLowerCpuPipeline);
}
