//===- RecomputedOps.cpp - What may be computed twice ---------------------===//

#include "passes/memory/RecomputedOps.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/cost/Work.h"

using namespace mlir;
using namespace mlir::dist;

void mlir::dist::forEachRead(Operation *op,
                             function_ref<void(OpOperand &)> visit) {
  op->walk([&](Operation *nested) {
    for (OpOperand &operand : nested->getOpOperands())
      if (!op->isAncestor(operand.get().getParentBlock()->getParentOp()))
        visit(operand);
  });
}

/// Whether the op multiplies what it reads: a contraction, a convolution or an
/// attention.
static bool isProduct(Operation *op) {
  auto rules = dyn_cast<ShardingRuleOpInterface>(op);
  return rules && op->getNumOperands() > 1 &&
         rules.getShardingRule().isContraction;
}

RecomputedOps::RecomputedOps(Block &block, Repeated repeated)
    : block(block), repeated(repeated) {
  bool isBackward = false;
  for (Operation &op : block.without_terminator()) {
    isBackward |= op.hasAttr(kBackwardAttr);
    (isBackward ? backward : forward).push_back(&op);
  }
  inForward.insert_range(forward);
  findModules();
  ofParameters = findOfParameters(block);
  findRepeatable();
  keepWhatLeaves();
}

bool RecomputedOps::isComputed(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && inForward.contains(op) &&
         isa<RankedTensorType>(value.getType()) &&
         !op->hasTrait<OpTrait::ConstantLike>() &&
         !isa<tensor::EmptyOp, LocalConstantOp>(op);
}

/// By the mark that the schedule left; of what placement put there, by the
/// module that it is there for, or by what it is computed from.
void RecomputedOps::findModules() {
  llvm::DenseMap<StringRef, Attribute> marks;
  for (Operation &op : block)
    if (auto mark = op.getAttrOfType<StringAttr>(kCheckpointAttr))
      marks[mark.getValue()] = mark;
  if (marks.empty())
    return;
  auto find = [&](Operation *op) -> Attribute {
    if (Attribute mark = op->getDiscardableAttr(kCheckpointAttr))
      return mark;
    if (auto scope = op->getAttrOfType<StringAttr>(kScopeAttr)) {
      for (StringRef path = scope; !path.empty();
           path = path.contains('.') ? path.rsplit('.').first : "")
        if (Attribute mark = marks.lookup(path))
          return mark;
      return {};
    }
    // No product is put there by placement.
    if (isProduct(op))
      return {};
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp())
        if (Attribute mark = modules.lookup(source))
          return mark;
    return {};
  };
  for (Operation &op : block)
    if (Attribute mark = find(&op))
      modules[&op] = mark;
}

llvm::DenseSet<Value> mlir::dist::findOfParameters(Block &block) {
  auto isParameter = [](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto function =
        argument
            ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
            : FunctionOpInterface();
    return function && argument.getOwner()->isEntryBlock() &&
           function.getArgAttr(argument.getArgNumber(), kParameterAttr);
  };
  llvm::DenseSet<Value> found;
  for (Operation &op : block) {
    bool any = false, all = true;
    forEachRead(&op, [&](OpOperand &operand) {
      Value value = operand.get();
      bool isOne = isParameter(value) || found.contains(value);
      any |= isOne;
      all &= isOne || !isa<RankedTensorType>(value.getType()) ||
             value.getDefiningOp<tensor::EmptyOp>();
    });
    if (any && all)
      found.insert_range(op.getResults());
  }
  return found;
}

/// Whether the op works element by element or only moves data.
bool RecomputedOps::isCheap(Operation *op) const {
  if (isa<AllSliceOp>(op))
    return true;
  if (isa<CollectiveOpInterface>(op))
    return repeated == Repeated::Gathers && isa<AllGatherOp>(op) &&
           ofParameters.contains(op->getResult(0));
  // Parameters are put together once, when they are loaded.
  if (isa<tensor::ConcatOp>(op) &&
      llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>))
    return false;
  if (op->getNumRegions() > 0 && !isa<linalg::LinalgOp, tensor::PadOp>(op))
    return false;
  if (auto nest = dyn_cast<linalg::LinalgOp>(op))
    return nest.getNumReductionLoops() == 0;
  return !isProduct(op);
}

void RecomputedOps::findRepeatable() {
  for (Operation *op : forward)
    if (isPure(op) &&
        (getModule(op) || (repeated != Repeated::Asked && isCheap(op))))
      repeatable.insert(op);
}

/// What a module hands on is not computed again for others, nor from what it
/// was given through others.
void RecomputedOps::keepWhatLeaves() {
  for (Operation *op : forward) {
    Attribute module = getModule(op);
    if (!module || isa<linalg::FillOp>(op))
      continue;
    bool leaves = llvm::any_of(op->getUsers(), [&](Operation *user) {
      Operation *reader = block.findAncestorOpInBlock(*user);
      return getModule(reader) != module &&
             !reader->hasTrait<OpTrait::IsTerminator>();
    });
    // What is kept is what it is a view of.
    while (leaves && getViewSource(op)) {
      op = op->getOperand(0).getDefiningOp();
      leaves = op && inForward.contains(op);
    }
    if (leaves)
      repeatable.erase(op);
  }
}
