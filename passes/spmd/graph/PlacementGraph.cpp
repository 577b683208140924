//===- PlacementGraph.cpp - Values of a module and what ties them ---------===//

#include "passes/spmd/graph/PlacementGraph.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::isFreeValue(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<tensor::EmptyOp, tensor::SplatOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return true;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return isa_and_nonnull<tensor::EmptyOp>(
        fill.getDpsInitOperand(0)->get().getDefiningOp());
  return false;
}

/// Whether the op has regions that are not part of the program, but compute an
/// element of its result, or the work of one device.
static bool hasBodyApart(Operation *op) {
  return isa<linalg::LinalgOp, tensor::GenerateOp, tensor::PadOp,
             ManualReshardOp>(op);
}

/// Blocks that branch to each other would each need placements of their own,
/// and reshards where they meet.
static LogicalResult refuseBlocks(Operation *op) {
  for (Region &region : op->getRegions()) {
    if (region.empty() || region.hasOneBlock())
      continue;
    bool hasTensors =
        isa<FunctionOpInterface>(op) ||
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
    for (Block &block : region) {
      hasTensors |=
          llvm::any_of(block.getArgumentTypes(), llvm::IsaPred<TensorType>);
      block.walk([&](Operation *nested) {
        hasTensors |=
            llvm::any_of(nested->getOperandTypes(),
                         llvm::IsaPred<TensorType>) ||
            llvm::any_of(nested->getResultTypes(), llvm::IsaPred<TensorType>);
      });
    }
    if (hasTensors)
      return op->emitOpError()
             << "has " << region.getBlocks().size()
             << " blocks, between which tensors cannot be placed; use scf for "
             << "control flow (--lift-cf-to-scf makes it)";
  }
  return success();
}

/// Visits ops outermost first, without the bodies of linalg ops.
static void walkOps(Operation *root, function_ref<void(Operation *)> visit) {
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    visit(op);
    return hasBodyApart(op) || isa<ScheduleOp>(op) ? WalkResult::skip()
                                                   : WalkResult::advance();
  });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether an optimizer keeps it from step to step.
static bool isOptimizerState(Value value) {
  return isArgumentWith(value, kStateAttr);
}

void PlacementGraph::addValue(Value value, bool isBackward) {
  if (!isa<RankedTensorType>(value.getType()) || isFreeValue(value))
    return;
  indices[value] = values.size();
  values.push_back(value);
  backward.push_back(isBackward || isOptimizerState(value));
}

/// Ops with the attribute, ops in these, and readers of their results. Values
/// that a loop has kept of an iteration do not count: they are placed as in
/// forward.
bool PlacementGraph::computesBackward(Operation *op) const {
  if (isa<FunctionOpInterface>(op))
    return false;
  if (isa<tensor::ExtractSliceOp>(op) &&
      isa_and_nonnull<scf::ForOp>(op->getOperand(0).getDefiningOp()) &&
      isa<scf::ForOp>(op->getParentOp())) {
    unsigned all = getIndex(op->getOperand(0));
    return all != kNone && backward[all];
  }
  return isa<FollowOp>(op) || op->hasAttr(kBackwardAttr) ||
         isBackward(op->getParentOp()) ||
         llvm::any_of(op->getOperands(), [&](Value operand) {
           unsigned value = getIndex(operand);
           return value != kNone && backward[value];
         });
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void PlacementGraph::addNode(Operation *op, const ShardingRule *rule,
                             ArrayRef<unsigned> tensors, uint8_t level) {
  if (isa<FollowOp>(op))
    level = kFollows;
  else if (llvm::any_of(op->getOperands(), isOptimizerState))
    level = kState;
  else if (isBackward(op))
    level += kBackward;
  nodes.push_back({op, rule, static_cast<unsigned>(links.size()), level});
  links.insert(links.end(), tensors.begin(), tensors.end());
}

void PlacementGraph::addEdge(Operation *op, ArrayRef<Value> group) {
  SmallVector<unsigned, 4> tensors;
  for (Value value : group)
    tensors.push_back(getIndex(value));
  auto type = cast<RankedTensorType>(group.front().getType());
  std::unique_ptr<ShardingRule> &rule = edgeRules[{type, group.size()}];
  if (!rule) {
    rule = std::make_unique<ShardingRule>();
    TensorRule tensor;
    for (int64_t size : type.getShape())
      tensor.dims.push_back({rule->addFactor(size)});
    rule->operands.assign(group.size(), tensor);
  }
  addNode(op, rule.get(), tensors, 0);
}

/// All values that flow to one input of a branching op have one placement.
void PlacementGraph::addBranch(Operation *op) {
  RegionBranchInverseSuccessorMapping mapping;
  cast<RegionBranchOpInterface>(op).getSuccessorInputOperandMapping(mapping);
  // In order of the inputs, not of the map.
  auto add = [&](Value input) {
    auto found = mapping.find(input);
    if (found == mapping.end() || getIndex(input) == kNone)
      return;
    SmallVector<Value, 4> group{input};
    for (OpOperand *operand : found->second)
      if (operand->get().getType() == input.getType())
        group.push_back(operand->get());
    addEdge(op, group);
  };
  for (Region &region : op->getRegions())
    for (Value argument : region.getArguments())
      add(argument);
  for (Value result : op->getResults())
    add(result);
}

void PlacementGraph::addCall(Operation *op, SymbolTableCollection &symbols) {
  auto call = cast<CallOpInterface>(op);
  auto callee = dyn_cast_or_null<FunctionOpInterface>(
      call.resolveCallableInTable(&symbols));
  if (!callee || callee.isExternal())
    return;
  for (auto [operand, argument] :
       llvm::zip_equal(call.getArgOperands(), callee.getArguments()))
    if (getIndex(argument) != kNone && operand.getType() == argument.getType())
      addEdge(op, {operand, argument});
  for (Block &block : callee.getFunctionBody())
    if (block.mightHaveTerminator())
      for (auto [yielded, result] :
           llvm::zip(block.getTerminator()->getOperands(), op->getResults()))
        if (getIndex(result) != kNone)
          addEdge(op, {yielded, result});
}

void PlacementGraph::addOp(Operation *op, SymbolTableCollection &symbols) {
  if (isa<RegionBranchOpInterface>(op))
    return addBranch(op);
  if (isa<CallOpInterface>(op))
    return addCall(op, symbols);
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op)) {
    if (getIndex(constraint.getOperand()) != kNone)
      addEdge(op, {constraint.getOperand(), constraint.getResult()});
    return;
  }
  if (auto follow = dyn_cast<FollowOp>(op)) {
    SmallVector<Value, 4> group{follow.getLeader(), follow.getResult()};
    if (!follow.getMoved())
      group.push_back(follow.getOperand());
    return addEdge(op, group);
  }
  // A manual reshard itself tells the placements of its operand and result.
  if (op->hasTrait<OpTrait::IsTerminator>() ||
      isa<ScheduleOp, MeshOp, ManualReshardOp>(op) ||
      isa<FunctionOpInterface>(op))
    return;
  SmallVector<unsigned, 8> tensors;
  bool any = false;
  auto add = [&](Value value) {
    tensors.push_back(isa<RankedTensorType>(value.getType()) ? getIndex(value)
                                                             : kNone);
    any |= tensors.back() != kNone;
  };
  llvm::for_each(op->getOperands(), add);
  llvm::for_each(op->getResults(), add);
  if (!any)
    return;
  const ShardingRule *rule = getRule(op);
  bool hasReduction = llvm::any_of(rule->factors, [](const Factor &factor) {
    return factor.kind == FactorKind::Reduction;
  });
  addNode(op, rule, tensors, rule->isContraction ? 1 : hasReduction ? 2 : 0);
}

void PlacementGraph::buildUses() {
  firstUse.assign(values.size() + 1, 0);
  for (const Node &node : nodes)
    for (unsigned value : getLinks(node))
      if (value != kNone)
        ++firstUse[value + 1];
  for (size_t i = 1; i < firstUse.size(); ++i)
    firstUse[i] += firstUse[i - 1];
  uses.resize(firstUse.back());
  std::vector<unsigned> next(firstUse.begin(), firstUse.end() - 1);
  for (auto [index, node] : llvm::enumerate(nodes))
    for (unsigned value : getLinks(node))
      if (value != kNone)
        uses[next[value]++] = index;
}

LogicalResult PlacementGraph::build(Operation *module) {
  bool isRefused = false;
  walkOps(module, [&](Operation *op) {
    if (!isRefused && !hasBodyApart(op))
      isRefused = failed(refuseBlocks(op));
    bool isBackwardOp = computesBackward(op);
    if (isBackwardOp)
      backwardOps.insert(op);
    for (Value result : op->getResults())
      addValue(result, isBackwardOp);
    if (hasBodyApart(op))
      return;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          addValue(argument, isBackwardOp);
  });
  if (isRefused)
    return failure();
  // Values that only backward reads.
  for (auto [index, value] : llvm::enumerate(values))
    if (isa<BlockArgument>(value) && !value.use_empty() &&
        llvm::all_of(value.getUsers(),
                     [&](Operation *user) { return isBackward(user); }))
      backward[index] = true;
  SymbolTableCollection symbols;
  walkOps(module, [&](Operation *op) { addOp(op, symbols); });
  rules.forgetSizes();
  buildUses();
  return success();
}
