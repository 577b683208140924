//===- SeparateRows.cpp - Rows that were merged with others ---------------===//

#include "passes/halos/SeparateRows.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// New ops take the scope of the op that they replace.
class ScopeKeeper : public RewriterBase::Listener {
public:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    inserted.push_back(op);
  }
  void notifyOperationReplaced(Operation *op, ValueRange) override {
    for (Operation *made : inserted)
      if (Attribute scope = op->getDiscardableAttr(kScopeAttr);
          scope && made->getBlock() == op->getBlock() &&
          !made->hasAttr(kScopeAttr))
        made->setDiscardableAttr(kScopeAttr, scope);
    inserted.clear();
  }
  void notifyOperationErased(Operation *op) override {
    llvm::erase(inserted, op);
  }

private:
  SmallVector<Operation *> inserted;
};
} // namespace

/// Whether the operand of an expansion may be computed on the separate
/// dimensions.
static bool isElementwise(OpOperand *operand) {
  auto made = operand->get().getDefiningOp<linalg::GenericOp>();
  return isa<tensor::ExpandShapeOp>(operand->getOwner()) && made &&
         made->getNumResults() == 1 && made.hasPureTensorSemantics() &&
         made.getNumParallelLoops() == made.getNumLoops() &&
         !made.hasDynamicShape() && !made.hasIndexSemantics();
}

bool mlir::dist::separateRows(ArrayRef<tensor::ExpandShapeOp> merged) {
  if (merged.empty())
    return false;
  MLIRContext *context = merged.front()->getContext();
  RewritePatternSet patterns(context);
  linalg::populateFoldReshapeOpsByExpansionPatterns(patterns, isElementwise);
  tensor::populateBubbleUpExpandShapePatterns(patterns);
  tensor::populateFoldTensorEmptyPatterns(patterns);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  ScopeKeeper keeper;
  GreedyRewriteConfig config;
  config.setListener(&keeper)
      .setStrictness(GreedyRewriteStrictness::ExistingAndNewOps)
      .enableConstantCSE(false)
      .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  SmallVector<Operation *> ops(merged.begin(), merged.end());
  bool isChanged = false;
  // If it ends early, the program is right as it is.
  (void)applyOpPatternsGreedily(ops, std::move(patterns), config, &isChanged);
  return isChanged;
}
