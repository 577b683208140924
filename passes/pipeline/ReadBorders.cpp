//===- ReadBorders.cpp - What comes from another stage is kept ------------===//

#include "passes/pipeline/ReadBorders.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/Reads.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The ops of forward that ops of backward do again.
class Originals {
public:
  explicit Originals(Block &block);

  Operation *find(Operation *again) const { return known.lookup(again); }

private:
  /// The value as forward has it.
  Value get(Value value) const;
  bool areSame(Operation *again, Operation *forward) const;

  llvm::DenseMap<Operation *, Operation *> known;
};
} // namespace

Value Originals::get(Value value) const {
  while (auto barrier = value.getDefiningOp<OptimizationBarrierOp>())
    value = barrier.getOperand();
  auto result = dyn_cast<OpResult>(value);
  Operation *forward = result ? find(result.getOwner()) : nullptr;
  return forward ? forward->getResult(result.getResultNumber()) : value;
}

bool Originals::areSame(Operation *again, Operation *forward) const {
  llvm::DenseMap<Value, Value> inside; // of their regions
  return OperationEquivalence::isEquivalentTo(
      again, forward,
      [&](Value a, Value b) {
        auto found = inside.find(a);
        return success(found == inside.end() ? get(a) == get(b)
                                             : found->second == b);
      },
      [&](Value a, Value b) { inside[a] = b; },
      OperationEquivalence::IgnoreLocations |
          OperationEquivalence::IgnoreDiscardableAttrs);
}

Originals::Originals(Block &block) {
  // By name and first operand, as forward has it.
  llvm::DenseMap<std::pair<const void *, Value>, SmallVector<Operation *, 1>>
      forward;
  auto keyOf = [&](Operation *op) {
    return std::pair<const void *, Value>(op->getName().getAsOpaquePointer(),
                                          get(op->getOperand(0)));
  };
  for (Operation &op : block.without_terminator()) {
    if (op.getNumOperands() == 0)
      continue;
    SmallVector<Operation *, 1> &alike = forward[keyOf(&op)];
    if (!op.hasAttr(kRecomputedAttr)) {
      alike.push_back(&op);
      continue;
    }
    auto same = llvm::find_if(
        alike, [&](Operation *other) { return areSame(&op, other); });
    if (same != alike.end())
      known[&op] = *same;
  }
}

/// Whether an op is of another stage than `home`; a light one, if all that read
/// it are.
static bool readsElsewhere(Operation *op, int64_t home,
                           const Originals &originals,
                           const StagePlaces &places) {
  if (isLight(op))
    return !op->use_empty() &&
           llvm::all_of(op->getUsers(), [&](Operation *one) {
             Operation *reader = op->getBlock()->findAncestorOpInBlock(*one);
             return readsElsewhere(reader, home, originals, places);
           });
  if (Operation *forward = originals.find(op))
    op = forward;
  std::optional<int64_t> stage = places.findStage(op);
  return stage && *stage != home;
}

void mlir::dist::readBorders(scf::ForOp loop, const StagePlaces &places) {
  Block &block = *loop.getBody();
  Originals originals(block);
  for (Operation &op : block.without_terminator()) {
    Operation *original = originals.find(&op);
    if (!original || isLight(&op))
      continue;
    int64_t home = places.getStage(original);
    op.replaceUsesWithIf(original->getResults(), [&](OpOperand &use) {
      return readsElsewhere(block.findAncestorOpInBlock(*use.getOwner()), home,
                            originals, places);
    });
  }
}
