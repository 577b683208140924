//===- Passes.cpp - From loops to kernels ---------------------------------===//
//
// The passes that ask a target's policies, and those that need none.
//
//===----------------------------------------------------------------------===//

#include "lowering/kernels/Passes.h"
#include "dialects/dist/IR/Dist.h"
#include "lowering/kernels/KernelTarget.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <map>
#include <string>

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCHOOSELAYOUTS
#define GEN_PASS_DEF_DISTEXPANDATTENTION
#define GEN_PASS_DEF_DISTFORMKERNELS
#define GEN_PASS_DEF_DISTSELECTCONTRACTIONS
#define GEN_PASS_DEF_DISTSELECTCONVOLUTIONS
#define GEN_PASS_DEF_DISTSPLITWINDOWS
#define GEN_PASS_DEF_DISTWIDENCONTRACTIONS
#include "lowering/kernels/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

static std::map<std::string, const KernelTarget *> &getKernelTargets() {
  static std::map<std::string, const KernelTarget *> targets;
  return targets;
}

void mlir::dist::registerKernelTarget(StringRef name,
                                      const KernelTarget &target) {
  getKernelTargets()[name.str()] = &target;
}

/// Null after an error.
static const KernelTarget *findTarget(Operation *op, const std::string &name) {
  auto found = getKernelTargets().find(name);
  if (found != getKernelTargets().end())
    return found->second;
  InFlightDiagnostic error = op->emitError() << "target=" << name
                                             << ": not in this build; known is";
  for (const auto &[known, target] : getKernelTargets())
    error << " " << known;
  return nullptr;
}

namespace {

struct SelectConvolutions
    : dist::impl::DistSelectConvolutionsBase<SelectConvolutions> {
  using Base::Base;
  void runOnOperation() override {
    const KernelTarget *found = findTarget(getOperation(), target);
    if (!found)
      return signalPassFailure();
    selectConvolutions(getOperation(), *found);
  }
};

struct SplitWindows : dist::impl::DistSplitWindowsBase<SplitWindows> {
  void runOnOperation() override { splitWindows(getOperation()); }
};

struct ChooseLayouts : dist::impl::DistChooseLayoutsBase<ChooseLayouts> {
  void runOnOperation() override { chooseLayouts(getOperation()); }
};

struct ExpandAttention : dist::impl::DistExpandAttentionBase<ExpandAttention> {
  using Base::Base;
  void runOnOperation() override {
    const KernelTarget *found = findTarget(getOperation(), target);
    if (!found)
      return signalPassFailure();
    AttentionTiles tiles = found->attentionTiles();
    if (tiles.queries == 0) {
      getOperation().emitError("target ")
          << target << " has no tiles of attention";
      return signalPassFailure();
    }
    if (failed(expandAttentions(getOperation(), tiles)))
      return signalPassFailure();
  }
};

struct SelectContractions
    : dist::impl::DistSelectContractionsBase<SelectContractions> {
  using Base::Base;
  void runOnOperation() override {
    const KernelTarget *found = findTarget(getOperation(), target);
    if (!found || failed(selectContractions(getOperation(), *found)))
      return signalPassFailure();
  }
};

struct FormKernels : dist::impl::DistFormKernelsBase<FormKernels> {
  using Base::Base;
  void runOnOperation() override {
    const KernelTarget *found = findTarget(getOperation(), target);
    if (!found || failed(formKernels(getOperation(), *found)))
      return signalPassFailure();
  }
};

struct WidenContractions
    : dist::impl::DistWidenContractionsBase<WidenContractions> {
  using Base::Base;
  void runOnOperation() override {
    const KernelTarget *found = findTarget(getOperation(), target);
    if (!found)
      return signalPassFailure();
    widenContractions(getOperation(), *found, ranks);
  }
};

} // namespace
