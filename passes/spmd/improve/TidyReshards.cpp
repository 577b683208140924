//===- TidyReshards.cpp - Removes useless reshards ------------------------===//

#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "passes/spmd/graph/PlacedProgram.h"
#include "passes/spmd/graph/PlacementGraph.h"
#include "passes/spmd/improve/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

/// Where a function needs a constant whole, its parts are slices of that.
static void sliceWholeConstants(FunctionOpInterface function,
                                PlacedProgram &values) {
  llvm::MapVector<Attribute, SmallVector<Operation *, 2>> constants;
  function.getFunctionBody().walk([&](Operation *op) {
    ElementsAttr elements;
    if (op->hasTrait<OpTrait::ConstantLike>() && values.hasShardings(op) &&
        matchPattern(op, m_Constant(&elements)) &&
        !isa<SplatElementsAttr>(elements))
      constants[elements].push_back(op);
  });
  for (auto &[elements, ops] : constants) {
    auto getPlacement = [&](Operation *op) {
      return values.getPlacement(op->getResult(0));
    };
    auto isWhole = [&](Operation *op) {
      return getPlacement(op).isReplicated();
    };
    auto *found = llvm::find_if(ops, isWhole);
    if (found == ops.end())
      continue;
    Operation *whole = *found;
    Block &body = function.getFunctionBody().front();
    whole->moveBefore(&body, body.begin());
    values.noteChange();
    llvm::SmallDenseMap<Attribute, Value> slices;
    for (Operation *op : ops) {
      if (isWhole(op))
        continue;
      Value &slice = slices[getPlacement(op)];
      OpBuilder builder(function.getContext());
      builder.setInsertionPointAfter(whole);
      if (!slice)
        slice = values.makeReshard(
            builder, op->getLoc(), whole->getResult(0), getPlacement(whole),
            getPlacement(op), "slice of a constant that is needed whole", {});
      op->getResult(0).replaceAllUsesWith(slice);
      values.erase(op);
    }
  }
}

/// A reshard of a reshard that has no other user starts where that one does.
static void skipDetour(ReshardOp reshard, const PlacedProgram &values) {
  while (auto before = reshard.getOperand().getDefiningOp<ReshardOp>()) {
    Value middle = before.getResult();
    if (!middle.hasOneUse() || values.isAskedFor(middle))
      return;
    // An op that completes a reduction belongs to the module that left it
    // pending.
    bool completes =
        before.getSource().isPartial() && !reshard.getSource().isPartial();
    if (completes) {
      reshard.setCauseAttr(before.getCauseAttr());
      if (Attribute scope = before->getAttr(kScopeAttr))
        reshard->setAttr(kScopeAttr, scope);
    }
    reshard.getOperandMutable().assign(before.getOperand());
    reshard.setSourceAttr(before.getSource());
  }
  if (reshard.getSource() == reshard.getSharding())
    reshard.getResult().replaceAllUsesWith(reshard.getOperand());
}

/// Values that only erased ops used are not needed either.
static void eraseUnused(Operation *op, PlacedProgram &values) {
  if (op->use_empty() && op->getNumResults() == 1 &&
      (isFreeValue(op->getResult(0)) || isa<ReshardOp>(op)))
    values.erase(op);
}

static void tidyReshards(FunctionOpInterface function, PlacedProgram &values) {
  // Users before their operands.
  auto visitBackwards = [&](function_ref<void(Operation *)> visit) {
    function->walk<WalkOrder::PostOrder, ReverseIterator>(visit);
  };
  visitBackwards([&](Operation *op) { eraseUnused(op, values); });
  sliceWholeConstants(function, values);
  visitBackwards([&](Operation *op) {
    if (auto reshard = dyn_cast<ReshardOp>(op))
      skipDetour(reshard, values);
    eraseUnused(op, values);
  });
}

namespace mlir::dist {
#define GEN_PASS_DEF_TIDYRESHARDSPASS
#include "passes/spmd/improve/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct TidyReshardsPass
    : mlir::dist::impl::TidyReshardsPassBase<TidyReshardsPass> {
  void runOnOperation() override {
    FailureOr<bool> changed =
        visitPlacedFunctions(getOperation(), tidyReshards);
    if (failed(changed))
      return signalPassFailure();
    getOperation()->walk([&](Operation *op) {
      *changed |= op->removeDiscardableAttr(kAskedForAttr) != nullptr;
    });
    if (!*changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
