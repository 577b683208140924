//===- FuseTransposes.cpp - Collectives on the leading dimension ----------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/layout/ApplyLayouts.h"
#include "passes/layout/FoldPairs.h"
#include "passes/layout/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_FUSETRANSPOSESPASS
#include "passes/layout/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Erases ops without users, users before their operands.
static void eraseDead(Operation *function, RewriterBase &rewriter) {
  function->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (isOpTriviallyDead(op))
      rewriter.eraseOp(op);
  });
}

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
      eraseDead(function, rewriter);
    }
  }
};
} // namespace
