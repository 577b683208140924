//===- TidyReshards.cpp - What is left over goes --------------------------===//

#include "passes/spmd/improve/TidyReshards.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

/// The placement that the only result of an op was given.
static ShardingAttr getPlacementOf(Operation *op) {
  return cast<ShardingAttr>(op->getAttrOfType<ArrayAttr>(kShardingsAttr)[0]);
}

/// Where a function needs a constant whole, its parts are slices of that.
static void sliceWholeConstants(FunctionOpInterface function,
                                PlacedValues &values) {
  llvm::MapVector<Attribute, SmallVector<Operation *, 2>> constants;
  function.getFunctionBody().walk([&](Operation *op) {
    ElementsAttr elements;
    if (op->hasTrait<OpTrait::ConstantLike>() && values.hasShardings(op) &&
        matchPattern(op, m_Constant(&elements)) &&
        !isa<SplatElementsAttr>(elements))
      constants[elements].push_back(op);
  });
  for (auto &[elements, ops] : constants) {
    auto isWhole = [](Operation *op) {
      return getPlacementOf(op).isReplicated();
    };
    auto *found = llvm::find_if(ops, isWhole);
    if (found == ops.end())
      continue;
    Operation *whole = *found;
    Block &body = function.getFunctionBody().front();
    whole->moveBefore(&body, body.begin());
    llvm::SmallDenseMap<Attribute, Value> slices;
    for (Operation *op : ops) {
      if (isWhole(op))
        continue;
      Value &slice = slices[getPlacementOf(op)];
      OpBuilder builder(function.getContext());
      builder.setInsertionPointAfter(whole);
      if (!slice)
        slice = values.makeReshard(
            builder, op->getLoc(), whole->getResult(0), getPlacementOf(whole),
            getPlacementOf(op), "slice of a constant that is needed whole", {});
      op->getResult(0).replaceAllUsesWith(slice);
      values.erase(op);
    }
  }
}

/// A reshard of a reshard that has no other user starts where that one does.
static void skipDetour(ReshardOp reshard, const PlacedValues &values) {
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
static void eraseUnused(Operation *op, PlacedValues &values) {
  if (op->use_empty() && op->getNumResults() == 1 &&
      (isFreeValue(op->getResult(0)) || isa<ReshardOp>(op)))
    values.erase(op);
}

void mlir::dist::tidyReshards(FunctionOpInterface function,
                              PlacedValues &values) {
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
