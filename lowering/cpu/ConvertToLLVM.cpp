//===- ConvertToLLVM.cpp - The LLVM dialect, with dist_main ---------------===//
//
// --dist-cpu-convert-to-llvm: host and kernels are one program.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/LoopHints.h"
#include "lowering/cpu/Passes.h"
#include "lowering/host/HostToLLVM.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCPUCONVERTTOLLVM
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// The loop annotations of kernels are moved to their branches.
static void annotateLoops(ModuleOp module) {
  module.walk([](LLVM::BrOp branch) {
    if (auto annotation = dyn_cast_or_null<LLVM::LoopAnnotationAttr>(
            branch->removeDiscardableAttr(kLoopAnnotationAttr)))
      branch.setLoopAnnotationAttr(annotation);
  });
  module.walk([](LLVM::CondBrOp branch) {
    if (auto annotation = dyn_cast_or_null<LLVM::LoopAnnotationAttr>(
            branch->removeDiscardableAttr(kLoopAnnotationAttr)))
      branch.setLoopAnnotationAttr(annotation);
  });
}

namespace {

struct ConvertToLLVM : dist::impl::DistCpuConvertToLLVMBase<ConvertToLLVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    rt::RuntimeSymbols symbols(module);
    FailureOr<LLVM::LLVMFuncOp> program = convertHostToLLVM(module, symbols);
    if (failed(program))
      return signalPassFailure();
    annotateLoops(module);
    fuseProducts(module);
    if (failed(makeEntryPoint(module, *program)))
      signalPassFailure();
  }
};

} // namespace
