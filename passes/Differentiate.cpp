//===- Differentiate.cpp - Gradients: level 0 or 1 to the same ------------===//

#include "passes/differentiate/Differentiate.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTDIFFERENTIATEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;

namespace {
struct DistDifferentiatePass
    : dist::impl::DistDifferentiatePassBase<DistDifferentiatePass> {
  using DistDifferentiatePassBase::DistDifferentiatePassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    DistDifferentiatePassBase::getDependentDialects(registry);
    dist::registerAdjoints(registry);
  }

  void runOnOperation() override {
    std::vector<std::string> names(wrt.begin(), wrt.end());
    if (failed(dist::differentiate(getOperation(),
                                   {function, of, cotangent, names})))
      signalPassFailure();
  }
};
} // namespace
