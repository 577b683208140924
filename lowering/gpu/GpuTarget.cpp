//===- GpuTarget.cpp - NVIDIA's GPUs as a target --------------------------===//
//
// Its passes in their order, and its file: a shared object for the host that
// holds the device's code as text.
//
//===----------------------------------------------------------------------===//

#include "lowering/gpu/GpuTarget.h"
#include "lowering/cpu/CpuTarget.h"
#include "lowering/cpu/Passes.h"
#include "lowering/gpu/DeviceCode.h"
#include "lowering/gpu/KernelEmitter.h"
#include "lowering/gpu/Launch.h"
#include "lowering/gpu/Passes.h"
#include "lowering/gpu/ScatterEmitter.h"
#include "lowering/kernels/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::dist {
#define GEN_PASS_REGISTRATION
#include "lowering/gpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

struct GpuKernels final : KernelTarget {
  GroupLimits groupLimits() const override {
    return {/*maxCellBytes=*/kSharedBytes / 2, /*maxMembers=*/48,
            /*keepsRowsInside=*/false};
  }
  FailureOr<Kernel> emitKernel(OpBuilder &builder, StringRef name,
                               KernelGroup group,
                               SmallVector<Value> &scratch) const override {
    return emitGpuKernel(builder, name, std::move(group), scratch);
  }
  FailureOr<Kernel> emitScatter(OpBuilder &builder, StringRef name,
                                rt::ScatterOp scatter,
                                const BufferAliases &aliases) const override {
    return emitGpuScatter(builder, name, scatter, aliases);
  }
  void emitCall(OpBuilder &builder, Location loc, FunctionOpInterface kernel,
                ValueRange operands) const override {
    func::CallOp::create(builder, loc,
                         cast<func::FuncOp>(kernel.getOperation()), operands);
  }
  /// cuBLASLt's: products of matrices that are worth a launch of their own, and
  /// all whose sums a kernel would round to 16 bits.
  bool isContractionCall(Type in, Type out, ArrayRef<int64_t> sizes,
                         ArrayRef<LoopKind> kinds) const override {
    bool isKnown = isa<FloatType>(in) &&
                   (in.isF32() || in.isF64() || in.isF16() || in.isBF16()) &&
                   (out == in || (out.isF32() && !in.isF64()));
    constexpr int64_t kLeastWork = 32 * 32 * 32;
    int64_t work = 1, m = 1, n = 1;
    for (auto [size, kind] : llvm::zip_equal(sizes, kinds)) {
      work *= size;
      if (kind == LoopKind::M)
        m *= size;
      if (kind == LoopKind::N)
        n *= size;
    }
    return isKnown && m > 1 && n > 1 &&
           (work >= kLeastWork || out.getIntOrFloatBitWidth() < 32);
  }
  /// A sum of 16 bits is rounded once: it must not take several calls.
  bool hasContraction(Type out, ArrayRef<rt::LoopAttr> loops) const override {
    if (out.getIntOrFloatBitWidth() >= 32)
      return true;
    SmallVector<rt::LoopAttr> sums;
    for (rt::LoopAttr loop : loops)
      if (loop.getKind() == LoopKind::K) {
        if (loop.getA() <= 0 || loop.getB() <= 0)
          return false;
        sums.push_back(loop);
      }
    // Each steps over all of the next one, as one loop would.
    llvm::sort(sums, [](rt::LoopAttr x, rt::LoopAttr y) {
      return x.getA() > y.getA();
    });
    for (size_t i = 1; i < sums.size(); ++i) {
      rt::LoopAttr outer = sums[i - 1], inner = sums[i];
      if (outer.getA() != inner.getA() * inner.getExtent() ||
          outer.getB() != inner.getB() * inner.getExtent())
        return false;
    }
    return true;
  }
  bool isConvolutionCall(Type, int64_t) const override { return false; }
};

const KernelTarget &getGpuKernels() {
  static const GpuKernels kernels;
  return kernels;
}

struct GpuTarget final : Target {
  GpuTarget() { registerKernelTarget(getName(), getGpuKernels()); }

  StringRef getName() const override { return "cuda"; }

  int64_t getAlignment() const override { return 256; } // what NCCL wants

  bool hasScatters() const override { return true; }
  bool splitsWholeSums() const override { return true; }

  /// 128 MiB of f32.
  int64_t mostScoresAtOnce() const override { return 32 * 1024 * 1024; }

  void addTensorCalls(OpPassManager &passes) const override {
    passes.addNestedPass<func::FuncOp>(createDistSplitWindows());
  }

  void addKernels(OpPassManager &passes) const override {
    passes.addNestedPass<func::FuncOp>(
        createDistSelectContractions({getName().str()}));
    passes.addPass(createDistFormKernels({getName().str()}));
  }

  /// What is compared with is the CPU's: the two sides share no lowering.
  void addPlainLoops(OpPassManager &passes, int64_t ranks) const override {
    getCpuTarget().addPlainLoops(passes, ranks);
  }

  void addCode(OpPassManager &passes) const override {
    passes.addPass(math::createMathExtendToSupportedTypes());
    passes.addPass(createDistCpuExpandMath());
    passes.addPass(createConvertMathToFuncs());
    passes.addPass(createDistCpuExpandBf16());
    passes.addPass(createDistGpuOutlineKernels());
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(memref::createExpandStridedMetadataPass());
    passes.addPass(createLowerAffinePass());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    passes.addPass(createDistGpuConvertToLLVM());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
  }

  LogicalResult emitProgram(ModuleOp module, StringRef path,
                            const CodegenOptions &options) const override {
    return emitDeviceProgram(module, path, options);
  }

  void registerPasses() const override { registerDistLowerGpuPasses(); }

  void registerTranslations(DialectRegistry &registry) const override {
    registerNVVMDialectTranslation(registry);
  }
};

} // namespace

const Target &mlir::dist::getGpuTarget() {
  static const GpuTarget target;
  return target;
}
