//===- CpuTarget.cpp - The CPU as a target --------------------------------===//
//
// Its passes in their order, and its file: a shared object.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuTarget.h"
#include "lowering/cpu/CpuKernels.h"
#include "lowering/cpu/ObjectCode.h"
#include "lowering/cpu/Passes.h"
#include "lowering/kernels/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::dist {
#define GEN_PASS_REGISTRATION
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

struct CpuTarget final : Target {
  CpuTarget() { registerKernelTarget(getName(), getCpuKernels()); }

  StringRef getName() const override { return "cpu"; }

  int64_t getAlignment() const override { return 64; } // a line of the cache

  void addTensorCalls(OpPassManager &passes) const override {
    passes.addNestedPass<func::FuncOp>(
        createDistSelectConvolutions({getName().str()}));
    passes.addNestedPass<func::FuncOp>(createDistSplitWindows());
  }

  void addKernels(OpPassManager &passes) const override {
    passes.addPass(createDistExpandAttention({getName().str()}));
    passes.addNestedPass<func::FuncOp>(createDistChooseLayouts());
    passes.addNestedPass<func::FuncOp>(
        createDistSelectContractions({getName().str()}));
    passes.addPass(createDistFormKernels({getName().str()}));
  }

  void addPlainLoops(OpPassManager &passes, int64_t ranks) const override {
    if (ranks > 0)
      passes.addPass(createDistWidenContractions({getName().str(), ranks}));
    passes.addPass(createDistCpuPlainLoops());
  }

  void addCode(OpPassManager &passes) const override {
    // Functions of 16 bits are those of f32, rounded once.
    passes.addPass(math::createMathExtendToSupportedTypes());
    passes.addPass(createDistCpuExpandMath());
    // Integer powers.
    passes.addPass(createConvertMathToFuncs());
    passes.addPass(createDistCpuExpandBf16());
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(memref::createExpandStridedMetadataPass());
    passes.addPass(createLowerAffinePass());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    passes.addPass(createDistCpuConvertToLLVM());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
  }

  LogicalResult emitProgram(ModuleOp module, StringRef path,
                            const CodegenOptions &options) const override {
    return emitSharedObject(module, path, options);
  }

  void registerPasses() const override { registerDistLowerCpuPasses(); }

  void registerTranslations(DialectRegistry &registry) const override {
    registerCodegenTranslations(registry);
  }
};

} // namespace

const Target &mlir::dist::getCpuTarget() {
  static const CpuTarget target;
  return target;
}
