//===- FormAttention.cpp - The op in the place of what it is --------------===//

#include "passes/attention/FormAttention.h"
#include "dialects/dist/Utils/DeadOps.h"
#include "passes/attention/AdjointMatch.h"
#include "passes/loops/JointTurn.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
class AttentionForming {
public:
  AttentionForming(int64_t minScores, WithAdjoints adjoints, bool withFactors,
                   AcceptAttention accept,
                   function_ref<void(Block &)> beforeParting)
      : minScores(minScores), adjoints(adjoints), withFactors(withFactors),
        accept(accept), beforeParting(beforeParting) {}

  /// For attentions in the block; `onlyWithAdjoints`: no others.
  int64_t form(Block &block, bool onlyWithAdjoints);
  /// For those in loops whose adjoints are in others.
  int64_t formAcrossLoops(Block &block);

private:
  bool hasNeededWeights(scf::ForOp loop);

  int64_t minScores;
  WithAdjoints adjoints;
  bool withFactors;
  AcceptAttention accept;
  function_ref<void(Block &)> beforeParting;
};
} // namespace

static SmallVector<Operation *> findProducts(Block &block) {
  SmallVector<Operation *> products;
  block.walk([&](linalg::LinalgOp op) {
    if (succeeded(matchProduct(op)))
      products.push_back(op);
  });
  return products;
}

int64_t AttentionForming::form(Block &block, bool onlyWithAdjoints) {
  int64_t formed = 0;
  DenseSet<Operation *> erased;
  for (Operation *op : findProducts(block))
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
        hasAdjoint = adjoints != WithAdjoints::No && succeeded(adjoint.match());
        if (!hasAdjoint)
          continue;
      } else if (onlyWithAdjoints) {
        continue;
      }
      AttentionOp made = attention.write(/*forAdjoint=*/hasAdjoint);
      if (failed(accept(made, attention))) {
        erased.insert_range(eraseDead(made.getOperation()));
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

/// Whether a loop has an attention whose weights something else reads.
bool AttentionForming::hasNeededWeights(scf::ForOp loop) {
  return llvm::any_of(findProducts(*loop.getBody()), [&](Operation *op) {
    return llvm::any_of(ArrayRef{0u, 1u}, [&](unsigned weights) {
      AttentionMatch attention(*matchProduct(cast<linalg::LinalgOp>(op)),
                               weights);
      return succeeded(attention.match(minScores, withFactors)) &&
             !attention.isOnlyUsedHere();
    });
  });
}

int64_t AttentionForming::formAcrossLoops(Block &block) {
  int64_t formed = 0;
  llvm::SmallPtrSet<Operation *, 4> erased;
  for (scf::ForOp loop : llvm::to_vector(block.getOps<scf::ForOp>())) {
    if (erased.contains(loop) || !hasNeededWeights(loop))
      continue;
    scf::ForOp backward = JointTurn::findBackward(loop);
    if (!backward)
      continue;
    JointTurn turn(loop, backward);
    int64_t found = formAcrossLoops(turn.getBlock()) +
                    form(turn.getBlock(), /*onlyWithAdjoints=*/true);
    if (found == 0) {
      turn.discard();
      continue;
    }
    erased.insert(backward);
    if (beforeParting)
      beforeParting(turn.getBlock());
    turn.part();
    formed += found;
  }
  for (Operation &op : block)
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        formed += formAcrossLoops(inner);
  return formed;
}

int64_t mlir::dist::formAttentions(ModuleOp module, int64_t minScores,
                                   WithAdjoints adjoints, bool withFactors,
                                   AcceptAttention accept,
                                   function_ref<void(Block &)> beforeParting) {
  AttentionForming forming(minScores, adjoints, withFactors, accept,
                           beforeParting);
  int64_t formed = 0;
  if (adjoints != WithAdjoints::No)
    formed += forming.formAcrossLoops(*module.getBody());
  if (adjoints != WithAdjoints::OnlyAcrossLoops)
    formed += forming.form(*module.getBody(), /*onlyWithAdjoints=*/false);
  return formed;
}
