//===- CpuKernels.cpp - What the CPU says of its kernels ------------------===//

#include "lowering/cpu/CpuKernels.h"
#include "lowering/cpu/KernelEmitter.h"

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

struct CpuKernels final : KernelTarget {
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

  AttentionTiles attentionTiles() const override {
    // The scores of a tile, together with the data that its products read and
    // write.
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
    return tiles;
  }

private:
  Machine machine;
};
} // namespace

const KernelTarget &mlir::dist::getCpuKernels() {
  static const CpuKernels kernels;
  return kernels;
}
