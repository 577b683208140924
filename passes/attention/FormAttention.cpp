//===- FormAttention.cpp - The op in the place of what it is --------------===//

#include "passes/attention/FormAttention.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/attention/AdjointMatch.h"

using namespace mlir;
using namespace mlir::dist;

DenseSet<Operation *> mlir::dist::eraseDead(ArrayRef<Operation *> ops) {
  DenseSet<Operation *> erased;
  llvm::SmallSetVector<Operation *, 16> chain(ops.begin(), ops.end());
  while (!chain.empty()) {
    Operation *done = chain.pop_back_val();
    if (!isOpTriviallyDead(done))
      continue;
    for (Value operand : done->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        chain.insert(maker);
    erased.insert(done);
    done->erase();
  }
  return erased;
}

/// Erases an op, and what was made for it alone.
static void eraseWith(AttentionOp op, DenseSet<Operation *> &erased) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  used.insert_range(op->getOperands());
  SmallVector<Operation *> makers;
  for (Value value : used)
    if (Operation *maker = value.getDefiningOp())
      makers.push_back(maker);
  op.erase();
  erased.insert_range(eraseDead(makers));
}

int64_t mlir::dist::formAttentions(ModuleOp module, int64_t minScores,
                                   WithAdjoints adjoints, bool withFactors,
                                   AcceptAttention accept) {
  SmallVector<Operation *> products;
  module.walk([&](linalg::LinalgOp op) {
    if (succeeded(matchProduct(op)))
      products.push_back(op);
  });
  int64_t formed = 0;
  DenseSet<Operation *> erased;
  for (Operation *op : products)
    for (unsigned weights : {0u, 1u}) {
      if (erased.contains(op))
        break;
      AttentionMatch attention(*matchProduct(cast<linalg::LinalgOp>(op)),
                               weights);
      if (failed(attention.match(minScores, withFactors)))
        continue;
      AdjointMatch adjoint(attention);
      bool hasAdjoint = false;
      if (!attention.isOnlyUsedHere()) {
        hasAdjoint =
            adjoints == WithAdjoints::Yes && succeeded(adjoint.match());
        if (!hasAdjoint)
          continue;
      }
      AttentionOp made = attention.write(/*forAdjoint=*/hasAdjoint);
      if (failed(accept(made, attention))) {
        eraseWith(made, erased);
        break;
      }
      SmallVector<Operation *> replaced = {op};
      if (hasAdjoint)
        adjoint.replace(made, replaced);
      attention.replaceWith(made);
      erased.insert_range(eraseDead(replaced));
      ++formed;
      break;
    }
  return formed;
}
