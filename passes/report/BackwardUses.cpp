//===- BackwardUses.cpp - What is kept of forward, and what is not --------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Gradients.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/cost/Work.h"
#include "passes/report/Report.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

void BackwardUse::add(const BackwardUse &other) {
  keptBytes += other.keptBytes;
  sparedBytes += other.sparedBytes;
  addedFlops += other.addedFlops;
  addedBytes += other.addedBytes;
  addedBytesSent += other.addedBytesSent;
}

/// The value whose memory `value` is.
static Value getMemory(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    Value source = getViewSource(op);
    if (!source)
      break;
    value = source;
  }
  return value;
}

static bool isRecomputed(Operation *op) { return op->hasAttr(kRecomputedAttr); }

namespace {
class BackwardUses {
public:
  explicit BackwardUses(Block &block) : block(block) {}

  std::vector<BackwardUse> find();

private:
  BackwardUse &of(Operation *op) {
    auto scope = op->getAttrOfType<StringAttr>(kScopeAttr);
    StringRef path = scope ? scope.getValue() : StringRef();
    BackwardUse &use = uses[path];
    use.scope = path.str();
    return use;
  }
  void countKept(Operation *op);
  void countAdded(Operation *op);

  Block &block;
  llvm::DenseSet<Operation *> forward;
  llvm::DenseSet<Value> kept;
  llvm::MapVector<StringRef, BackwardUse> uses;
};
} // namespace

/// The values of forward that backward's `op` reads.
void BackwardUses::countKept(Operation *op) {
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        continue;
      Value memory = getMemory(operand);
      Operation *source = memory.getDefiningOp();
      if (!source || !forward.contains(source) ||
          source->hasTrait<OpTrait::ConstantLike>() ||
          isa<tensor::EmptyOp, LocalConstantOp>(source) ||
          !kept.insert(memory).second)
        continue;
      of(source).keptBytes += getTensorBytes(memory.getType());
    }
  });
}

void BackwardUses::countAdded(Operation *op) {
  BackwardUse &use = of(op);
  use.addedFlops += countFlops(op);
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    if (MeshOp mesh = lookupMesh(op, collective.getMeshAttr()))
      use.addedBytesSent += collective.getBytesSentPerRank(
          getGroupSize(getAxisRefs(collective.getAxes()), mesh.getAxes()));
  for (OpResult result : op->getResults()) {
    if (getMemory(result) != result || isa<tensor::EmptyOp>(op))
      continue;
    int64_t bytes = getTensorBytes(result.getType());
    use.addedBytes += bytes;
    if (!llvm::all_of(result.getUsers(), [&](Operation *user) {
          return isRecomputed(block.findAncestorOpInBlock(*user));
        }))
      use.sparedBytes += bytes;
  }
}

std::vector<BackwardUse> BackwardUses::find() {
  bool isBackward = false;
  for (Operation &op : block.without_terminator()) {
    isBackward |= op.hasAttr(kBackwardAttr);
    if (!isBackward) {
      forward.insert(&op);
      continue;
    }
    countKept(&op);
    if (isRecomputed(&op))
      countAdded(&op);
  }
  std::vector<BackwardUse> found;
  for (auto &[scope, use] : uses)
    found.push_back(std::move(use));
  return found;
}

std::vector<BackwardUse> mlir::dist::getBackwardUses(Block &block) {
  return BackwardUses(block).find();
}
