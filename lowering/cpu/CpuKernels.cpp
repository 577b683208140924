//===- CpuKernels.cpp - What the CPU says of its kernels ------------------===//
//
// The CPU's policies, and the passes that form its kernels, among them
// --dist-cpu-select-convolutions, --dist-cpu-select-contractions and
// --dist-cpu-form-kernels.
//
//===----------------------------------------------------------------------===//

#include "lowering/buffers/ContractionMatch.h"
#include "lowering/cpu/KernelEmitter.h"
#include "lowering/cpu/Passes.h"
#include "lowering/kernels/ExpandAttention.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCPUCHOOSELAYOUTS
#define GEN_PASS_DEF_DISTCPUEXPANDATTENTION
#define GEN_PASS_DEF_DISTCPUFORMKERNELS
#define GEN_PASS_DEF_DISTCPUSELECTCONTRACTIONS
#define GEN_PASS_DEF_DISTCPUSELECTCONVOLUTIONS
#define GEN_PASS_DEF_DISTCPUSPLITWINDOWS
#define GEN_PASS_DEF_DISTCPUWIDENCONTRACTIONS
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Pairs of types that dist_contract takes.
static bool isSupported(Type in, Type out) {
  if (in.isF32())
    return out.isF32();
  if (in.isBF16())
    return out == in || out.isF32();
  return false;
}

/// Whether a call pays: a product of matrices, not of a matrix and a vector,
/// which reads everything once and does well as a loop.
static bool isWorthwhile(ArrayRef<int64_t> sizes, ArrayRef<LoopKind> kinds,
                         const Machine &machine) {
  int64_t work = 1, m = 1, n = 1;
  for (auto [size, kind] : llvm::zip_equal(sizes, kinds)) {
    work *= size;
    if (kind == LoopKind::M)
      m *= size;
    if (kind == LoopKind::N)
      n *= size;
  }
  return m > 1 && n > 1 && work >= machine.minContractionWork;
}

namespace {

struct CpuKernels : KernelTarget {
  GroupLimits groupLimits() const override {
    // A cell should stay in the second-level cache, together with the data that
    // is read and written. Kernels are compiled as a whole: beyond so many
    // members they gain nothing.
    return {/*maxCellBytes=*/machine.l2Bytes / 4, /*maxMembers=*/48,
            /*keepsRowsInside=*/true};
  }

  FailureOr<Kernel> emitKernel(OpBuilder &builder, StringRef name,
                               KernelGroup group,
                               SmallVector<Value> &scratch) const override {
    return emitCpuKernel(builder, name, std::move(group), machine, scratch);
  }

  void emitCall(OpBuilder &builder, Location loc, FunctionOpInterface kernel,
                ValueRange operands) const override {
    func::CallOp::create(builder, loc,
                         cast<func::FuncOp>(kernel.getOperation()), operands);
  }

  bool isContractionCall(Type in, Type out, ArrayRef<int64_t> sizes,
                         ArrayRef<LoopKind> kinds) const override {
    return isSupported(in, out) && isWorthwhile(sizes, kinds, machine);
  }

  bool isConvolutionCall(Type element, int64_t work) const override {
    return element.isF32() && work >= machine.minContractionWork;
  }

private:
  Machine machine;
};

struct ExpandAttention
    : dist::impl::DistCpuExpandAttentionBase<ExpandAttention> {
  void runOnOperation() override {
    // The scores of a tile, together with the data that its products read and
    // write.
    Machine machine;
    int64_t scores = machine.l2Bytes / 2 / sizeof(float);
    AttentionTiles tiles;
    tiles.keys = 512;
    tiles.queries = scores / tiles.keys;
    tiles.fewestQueries = 16;
    tiles.keyUnit = 32;
    tiles.granule = 16;
    tiles.perTile = machine.attentionTile;
    tiles.perRow = machine.attentionRow;
    tiles.perProduct = machine.multiplyAdd;
    tiles.perScore = machine.attentionScore;
    tiles.perMask = machine.attentionMask;
    tiles.hasProducts = isSupported;
    if (failed(expandAttentions(getOperation(), tiles)))
      return signalPassFailure();
  }
};

struct SelectContractions
    : dist::impl::DistCpuSelectContractionsBase<SelectContractions> {
  void runOnOperation() override {
    if (failed(selectContractions(getOperation(), CpuKernels())))
      return signalPassFailure();
  }
};

struct SelectConvolutions
    : dist::impl::DistCpuSelectConvolutionsBase<SelectConvolutions> {
  void runOnOperation() override {
    selectConvolutions(getOperation(), CpuKernels());
  }
};

struct SplitWindows : dist::impl::DistCpuSplitWindowsBase<SplitWindows> {
  void runOnOperation() override { splitWindows(getOperation()); }
};

struct ChooseLayouts : dist::impl::DistCpuChooseLayoutsBase<ChooseLayouts> {
  void runOnOperation() override { chooseLayouts(getOperation()); }
};

struct WidenContractions
    : dist::impl::DistCpuWidenContractionsBase<WidenContractions> {
  using Base = dist::impl::DistCpuWidenContractionsBase<WidenContractions>;
  using Base::Base;
  void runOnOperation() override {
    widenContractions(getOperation(), CpuKernels(), ranks);
  }
};

struct FormKernels : dist::impl::DistCpuFormKernelsBase<FormKernels> {
  void runOnOperation() override {
    if (failed(formKernels(getOperation(), CpuKernels())))
      return signalPassFailure();
  }
};

} // namespace
