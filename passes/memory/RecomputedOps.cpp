//===- RecomputedOps.cpp - What may be computed twice ---------------------===//

#include "passes/memory/RecomputedOps.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "dialects/dist/Utils/Reads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/cost/Work.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

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
  keepWhatIsCompared();
}

bool RecomputedOps::isComputed(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && inForward.contains(op) &&
         isa<RankedTensorType>(value.getType()) &&
         !op->hasTrait<OpTrait::ConstantLike>() &&
         !isa<tensor::EmptyOp, LocalConstantOp>(op);
}

/// From the mark that the schedule left. For ops that placement inserted: from
/// the module that they serve, or from their operands.
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
    if (isContraction(op))
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
  llvm::DenseSet<Value> found;
  for (Operation &op : block) {
    bool any = false, all = true;
    visitReads(&op, [&](OpOperand &operand) {
      Value value = operand.get();
      bool isOne =
          isArgumentWith(value, kParameterAttr) || found.contains(value);
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
  return !isContraction(op);
}

void RecomputedOps::findRepeatable() {
  for (Operation *op : forward)
    if (isPure(op) &&
        (getModule(op) || (repeated != Repeated::Asked && isCheap(op))))
      repeatable.insert(op);
}

/// Outputs of a module are not recomputed for other modules, nor inputs that it
/// got through other modules.
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
    if (leaves)
      keep(op->getResult(0));
  }
}

/// A view keeps its source. Backward may move values.
void RecomputedOps::keep(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && op->getBlock() == &block && !inForward.contains(op) &&
         op->getNumOperands() > 0 &&
         (getViewSource(op) || isa<CollectiveOpInterface, AllSliceOp>(op)))
    op = op->getOperand(0).getDefiningOp();
  while (op && inForward.contains(op) && getViewSource(op))
    op = op->getOperand(0).getDefiningOp();
  if (op)
    repeatable.erase(op);
}

/// The tensors that a scalar within the op is computed of.
static SmallVector<Value> findTensors(Value scalar, Operation *op) {
  SmallVector<Value> tensors;
  llvm::SetVector<Value> reached;
  reached.insert(scalar);
  for (unsigned next = 0; next < reached.size(); ++next) {
    Value value = reached[next];
    if (isa<RankedTensorType>(value.getType())) {
      tensors.push_back(value);
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(value);
    auto nest = dyn_cast<linalg::LinalgOp>(op);
    if (argument && nest && argument.getOwner() == nest.getBlock())
      tensors.push_back(nest.getMatchingOpOperand(argument)->get());
    else if (Operation *maker = value.getDefiningOp();
             maker && op->isProperAncestor(maker))
      reached.insert(maker->operand_begin(), maker->operand_end());
  }
  return tensors;
}

/// Backward may compare a value with another one for equality, as an extreme
/// with the elements. Then neither may be recomputed: another kernel may round
/// otherwise, since it may fuse a product and a sum.
void RecomputedOps::keepWhatIsCompared() {
  auto isEquality = [](arith::CmpFPredicate predicate) {
    return llvm::is_contained(
        {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UEQ,
         arith::CmpFPredicate::ONE, arith::CmpFPredicate::UNE},
        predicate);
  };
  for (Operation &op : block)
    op.walk([&](arith::CmpFOp comparison) {
      if (!isEquality(comparison.getPredicate()))
        return;
      SmallVector<Value> left = findTensors(comparison.getLhs(), &op),
                         right = findTensors(comparison.getRhs(), &op);
      auto isConstant = [&](Value value) {
        Operation *maker = value.getDefiningOp();
        return maker && (maker->hasTrait<OpTrait::ConstantLike>() ||
                         isa<linalg::FillOp>(maker));
      };
      // x == x asks whether it is a number.
      if (left == right || llvm::all_of(left, isConstant) ||
          llvm::all_of(right, isConstant))
        return;
      llvm::for_each(left, [&](Value value) { keep(value); });
      llvm::for_each(right, [&](Value value) { keep(value); });
    });
}
