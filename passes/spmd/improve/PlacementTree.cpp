//===- PlacementTree.cpp - Ops that can be sharded otherwise --------------===//

#include "passes/spmd/improve/PlacementTree.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "passes/bounds/Bounds.h"
#include "passes/spmd/graph/MovedValues.h"
#include "passes/spmd/graph/PlacementGraph.h"
#include "passes/spmd/graph/Windows.h"

using namespace mlir;
using namespace mlir::dist;

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

/// The number of devices that share an op's work.
static int64_t getDegree(const MeshLayout &layout,
                         ArrayRef<DimShardingAttr> factors) {
  int64_t degree = 1;
  for (DimShardingAttr factor : factors)
    degree *= layout.size(factor.getAllAxes());
  return degree;
}

/// The value before reshards that only served its user.
static Value getSource(Value value, const PlacedProgram &values) {
  while (auto reshard = value.getDefiningOp<ReshardOp>()) {
    if (values.isAskedFor(value))
      break;
    value = reshard.getOperand();
  }
  return value;
}

bool PlacementTree::isMovable(Operation *op) {
  auto [known, isNew] = movable.try_emplace(op, false);
  if (!isNew)
    return known->second;
  auto isKnownTensor = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor.hasStaticShape();
  };
  if (op->getNumResults() != 1 || !isTensor(op->getResult(0)) ||
      isa<ReshardOp, RegionBranchOpInterface, CallOpInterface>(op) ||
      !isa<ShardingRuleOpInterface>(op) || isFreeValue(op->getResult(0)) ||
      !values.hasShardings(op) || values.isAskedFor(op->getResult(0)) ||
      !isKnownTensor(op->getResult(0).getType()) ||
      !llvm::all_of(op->getOperandTypes(), isKnownTensor))
    return false;
  // A parameter that is stored sharded is gathered where it is used.
  for (Value operand : op->getOperands())
    if (isTensor(operand) && values.isStored(getSource(operand, values)))
      return false;
  // Values that its body reads are read whole.
  for (Region &region : op->getRegions())
    if (region
            .walk([](Operation *nested) {
              return llvm::any_of(nested->getOperandTypes(),
                                  llvm::IsaPred<RankedTensorType>)
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            })
            .wasInterrupted())
      return false;
  const ShardingRule &rule = *rules.get(op);
  if (rule.isContraction || !rule.inits.empty() ||
      llvm::any_of(rule.factors, [](const Factor &factor) {
        return factor.kind == FactorKind::Reduction;
      }))
    return false;
  // A sync says which collective its operand gets.
  for (Operation *user : op->getResult(0).getUsers())
    if (auto reshard = dyn_cast<ReshardOp>(user);
        reshard && values.isCollectiveAskedFor(reshard))
      return false;
  return movable[op] = true;
}

Operation *PlacementTree::getParent(Operation *op) {
  Operation *parent = nullptr;
  SmallVector<Value, 4> made{op->getResult(0)};
  while (!made.empty()) {
    Value value = made.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (user->getBlock() != op->getBlock())
        return nullptr;
      if (auto reshard = dyn_cast<ReshardOp>(user)) {
        if (values.isAskedFor(reshard) || made.size() == kMostReshards)
          return nullptr;
        made.push_back(reshard);
        continue;
      }
      if (parent && parent != user)
        return nullptr;
      parent = user;
    }
  }
  return parent && isMovable(parent) ? parent : nullptr;
}

unsigned PlacementTree::addNode(Operation *op) {
  TreeNode node(op);
  inTree.insert(op);
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    node.children.push_back(kNone);
    node.firsts.push_back(number);
    node.sources.push_back({});
    if (!isTensor(operand) || isFreeValue(operand))
      continue;
    Value source = getSource(operand, values);
    Operation *child = source.getDefiningOp();
    if (child && inTree.contains(child)) {
      unsigned index =
          llvm::find_if(
              nodes, [&](const TreeNode &other) { return other.op == child; }) -
          nodes.begin();
      node.firsts.back() =
          llvm::find(node.children, index) - node.children.begin();
      node.children.back() = index;
      continue;
    }
    if (child && child->getBlock() == op->getBlock() && isMovable(child) &&
        getParent(child) == op && nodes.size() < kMostNodes) {
      node.children.back() = addNode(child);
      continue;
    }
    node.sources.back() = source;
    ++sourceUses[source];
  }
  nodes.push_back(std::move(node));
  return nodes.size() - 1;
}

/// Notes the axes that are elsewhere in one placement than in the other.
void PlacementTree::collectAxes(ShardingAttr from, ShardingAttr to) {
  if (!from || !to || from == to)
    return;
  auto add = [&](ArrayRef<AxisRefAttr> some) {
    axes.insert(some.begin(), some.end());
  };
  for (auto [before, after] : llvm::zip_equal(from.getDims(), to.getDims()))
    if (before != after) {
      // Those that both begin with stay.
      SmallVector<AxisRefAttr> left = before.getAllAxes(),
                               right = after.getAllAxes();
      size_t same = 0;
      if (before.getSubDims().size() == after.getSubDims().size())
        while (same < left.size() && same < right.size() &&
               left[same] == right[same])
          ++same;
      add(ArrayRef(left).drop_front(same));
      add(ArrayRef(right).drop_front(same));
    }
  if (from.getPartialAxes() != to.getPartialAxes()) {
    add(from.getPartialAxes());
    add(to.getPartialAxes());
  }
}

void PlacementTree::collectAxes() {
  for (TreeNode &node : nodes)
    for (auto [operand, source, child] :
         llvm::zip_equal(node.op->getOperands(), node.sources, node.children)) {
      Value from = child == kNone ? source : nodes[child].op->getResult(0);
      if (from)
        collectAxes(values.getPlacement(from), values.getPlacement(operand));
      if (auto reshard = operand.getDefiningOp<ReshardOp>())
        example = reshard;
    }
  Value root = nodes.back().op->getResult(0);
  for (Operation *user : root.getUsers())
    if (auto reshard = dyn_cast<ReshardOp>(user)) {
      collectAxes(values.getPlacement(root), reshard.getSharding());
      example = reshard;
    }
  // Cut as any placement of the tree cuts them.
  SmallVector<AxisRefAttr> list(axes.getArrayRef()), others = list;
  auto note = [&](Value value) {
    if (!isTensor(value))
      return;
    if (ShardingAttr sharding = values.getPlacement(value))
      for (DimShardingAttr dim : sharding.getDims())
        if (dim != layout.none())
          llvm::append_range(others, dim.getAllAxes());
  };
  for (TreeNode &node : nodes) {
    llvm::for_each(node.op->getOperands(), note);
    note(node.op->getResult(0));
  }
  layout.refine(list, others);
  axes.clear();
  axes.insert(list.begin(), list.end());
  // Parts of 3 and of 4 devices of 12 have no common part.
  for (size_t i = 1; i < axes.size(); ++i)
    if (anyOverlap(axes[i], axes.getArrayRef().take_front(i)))
      return axes.clear();
}

void PlacementTree::collectPending() {
  for (auto &[source, count] : sourceUses) {
    ShardingAttr now = values.getPlacement(source);
    if (!now || !now.isPartial())
      continue;
    SmallVector<Attribute> list(now.getPartialAxes());
    pendings.insert({unsigned(now.getPartialKind()),
                     ArrayAttr::get(layout.getContext(), list)});
  }
}

void PlacementTree::addWays(TreeNode &node, const ShardingRule &rule,
                            ArrayRef<DimShardingAttr> factors) {
  SmallVector<DimShardingAttr, 4> dims;
  Operation *op = node.op;
  int64_t bytes = getWindowBytes(op, rule, layout, factors);
  auto add = [&](ArrayRef<bool> passed, ReductionKind kind,
                 ArrayRef<AxisRefAttr> partial) {
    PlacementOption way;
    way.bytes = bytes;
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      way.operands.push_back({});
      way.free.push_back({});
      if (!isTensor(operand))
        continue;
      if (!rule.joinDims(layout, rule.operands[number], factors, dims))
        return;
      if (isFreeValue(operand))
        way.free.back() = values.place(dims);
      else if (!passed.empty() && passed[number])
        way.operands.back() = values.place(dims, kind, partial);
      else
        way.operands.back() = values.place(dims);
    }
    if (!rule.joinDims(layout, rule.results[0], factors, dims))
      return;
    way.result =
        passed.empty() ? values.place(dims) : values.place(dims, kind, partial);
    auto isSame = [&](const PlacementOption &other) {
      return other.result == way.result && other.operands == way.operands;
    };
    if (node.options.size() < kMostWays && llvm::none_of(node.options, isSame))
      node.options.push_back(std::move(way));
  };
  add({}, ReductionKind::Sum, {});
  auto iface = cast<ShardingRuleOpInterface>(op);
  SmallVector<unsigned> tied;
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    if (isTensor(operand) && !isFreeValue(operand))
      tied.push_back(number);
  if (tied.size() > kMostPassed)
    return;
  SmallVector<AxisRefAttr> used;
  for (DimShardingAttr factor : factors)
    llvm::append_range(used, factor.getAllAxes());
  for (auto [kindNumber, list] : pendings) {
    auto kind = ReductionKind(kindNumber);
    SmallVector<AxisRefAttr> partial;
    for (Attribute axis : cast<ArrayAttr>(list))
      partial.push_back(cast<AxisRefAttr>(axis));
    if (anyOverlap(partial, used))
      continue;
    for (unsigned set = 1; set < 1u << tied.size(); ++set) {
      SmallVector<bool> passed(op->getNumOperands(), false);
      for (auto [i, number] : llvm::enumerate(tied))
        passed[number] = set >> i & 1;
      if (iface.getPartialResult(passed, kind) == PartialResult::Partial)
        add(passed, kind, partial);
    }
  }
}

/// All placements of an op that differ in the axes that move. False where the
/// way that it has cannot be read.
bool PlacementTree::makeWays(TreeNode &node) {
  Operation *op = node.op;
  const ShardingRule &rule = *rules.get(op);
  Value result = op->getResult(0);
  PlacementOption now;
  now.result = values.getPlacement(result);
  SmallVector<DimShardingAttr, 8> factors(rule.factors.size(), layout.none());
  auto read = [&](const TensorRule &tensor, ShardingAttr sharding) {
    for (auto [list, dim] : llvm::zip_equal(tensor.dims, sharding.getDims()))
      for (auto [factor, part] :
           llvm::zip_equal(list, rule.splitDim(layout, list, dim)))
        if (part != layout.none())
          factors[factor] = part;
  };
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    now.operands.push_back({});
    now.free.push_back({});
    if (!isTensor(operand))
      continue;
    ShardingAttr sharding = values.getPlacement(operand);
    if (!sharding)
      return false;
    (isFreeValue(operand) ? now.free : now.operands).back() = sharding;
    read(rule.operands[number], sharding);
  }
  read(rule.results[0], now.result);
  now.bytes = getWindowBytes(op, rule, layout, factors);
  node.options.push_back(now);
  // The parts of each factor that stay.
  SmallVector<SmallVector<AxisRefAttr>> lists;
  for (DimShardingAttr factor : factors) {
    if (factor.getSubDims().size() > 1)
      return true;
    SmallVector<AxisRefAttr> list = factor.getAllAxes();
    layout.refine(list, axes.getArrayRef());
    llvm::erase_if(list, [&](AxisRefAttr axis) { return axes.contains(axis); });
    if (anyOverlap(list, axes.getArrayRef()))
      return true;
    lists.push_back(std::move(list));
  }
  // Repeating an op's work is worth a transfer if that work is small.
  bool isCheap =
      getMoved(op) || isa<tensor::ConcatOp, tensor::ExtractSliceOp>(op);
  int64_t degree = isCheap ? 0 : getDegree(layout, factors);
  auto assign = [&](auto &&self, size_t next) -> void {
    if (node.options.size() >= kMostWays)
      return;
    if (next < axes.size()) {
      self(self, next + 1);
      for (auto [list, factor] : llvm::zip_equal(lists, rule.factors)) {
        if (factor.kind != FactorKind::Parallel)
          continue;
        for (size_t at : {list.size(), size_t(0)}) {
          list.insert(list.begin() + at, axes[next]);
          self(self, next + 1);
          list.erase(list.begin() + at);
          if (list.empty())
            break;
        }
      }
      return;
    }
    SmallVector<DimShardingAttr, 8> made;
    for (auto [list, factor] : llvm::zip_equal(lists, rule.factors)) {
      DimShardingAttr dim = layout.canonical(
          DimShardingAttr::get(layout.getContext(), ArrayRef(list),
                               /*isOpen=*/false),
          factor.size);
      if (!dim || !factor.accepts(layout, dim))
        return;
      made.push_back(dim);
    }
    if (getDegree(layout, made) >= degree)
      addWays(node, rule, made);
  };
  assign(assign, 0);
  return true;
}

bool PlacementTree::read(Operation *root) {
  nodes.clear();
  inTree.clear();
  axes.clear();
  pendings.clear();
  sourceUses.clear();
  example = nullptr;
  addNode(root);
  for (TreeNode &node : nodes)
    for (Operation *user : node.op->getResult(0).getUsers())
      if (isa<ReshardOp>(user))
        inTree.insert(user);
  collectAxes();
  if (!example || axes.empty() || axes.size() > kMostAxes)
    return false;
  collectPending();
  return llvm::all_of(nodes, [&](TreeNode &node) { return makeWays(node); });
}
