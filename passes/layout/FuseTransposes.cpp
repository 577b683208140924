//===- FuseTransposes.cpp - Collectives on the leading dimension ----------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/layout/ApplyLayouts.h"
#include "passes/layout/FoldPairs.h"
#include "passes/layout/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_FUSETRANSPOSESPASS
#include "passes/layout/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct FuseTransposesPass
    : mlir::dist::impl::FuseTransposesPassBase<FuseTransposesPass> {
  using FuseTransposesPassBase::FuseTransposesPassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      foldInversePairs(function, rewriter);
      StoredValues values = chooseLayouts(function);
      applyLayouts(values, rewriter);
      (void)runRegionDCE(rewriter, function->getRegions());
    }
  }
};
} // namespace
