//===- MoveReshards.cpp - Reshards where values are smallest --------------===//
//
// A reshard should stand where its value is smallest: before ops that repeat,
// pad or widen it, after ops that slice or narrow it. Ops that only move
// elements, or compute them one by one, may be sharded in any way. Here they
// are sharded again, tree by tree, if that sends fewer bytes: dynamic
// programming over the placements of each op of a tree.
//
//===----------------------------------------------------------------------===//

#include "passes/bounds/Bounds.h"
#include "passes/spmd/graph/MoveCost.h"
#include "passes/spmd/improve/Passes.h"
#include "passes/spmd/improve/PlacementTree.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// More than anything that can be sent.
constexpr int64_t kNever = INT64_MAX / 4;

class Mover {
public:
  Mover(PlacementTree &tree, PlacedProgram &values)
      : tree(tree), nodes(tree.getNodes()), layout(values.getLayout()),
        values(values) {}

  /// Places the ops of the tree again if that sends fewer bytes.
  void run();

private:
  static constexpr unsigned kNone = PlacementTree::kNone;

  int64_t getBytes(Value value, ShardingAttr from, ShardingAttr to);
  bool isShared(Value source);
  /// The cost of bringing a value from outside to `wanted`.
  int64_t getSourceBytes(Value source, ShardingAttr wanted);
  /// The cost of bringing the root from `placement` to its users' placements.
  int64_t getUsersBytes(ShardingAttr placement);
  /// Bytes that a choice of placements sends.
  int64_t evaluate(ArrayRef<unsigned> chosen);
  SmallVector<unsigned> choose();
  void rewrite(ArrayRef<unsigned> chosen);
  Value bring(Value source, ShardingAttr wanted, Operation *user,
              ReshardOp instead);

  PlacementTree &tree;
  ArrayRef<TreeNode> nodes;
  const MeshLayout &layout;
  PlacedProgram &values;
  /// The cost of each transfer besides its bytes, in bytes. It is less than in
  /// plans of reshards, since bytes are to be saved here.
  static constexpr int64_t kTransfer = 512;
  int64_t latency = 0;
};
} // namespace

int64_t Mover::getBytes(Value value, ShardingAttr from, ShardingAttr to) {
  if (from == to)
    return 0;
  // To be pending over more axes takes nothing.
  SmallVector<AxisRefAttr, 2> pending(from.getPartialAxes());
  if (from.getPartialKind() == to.getPartialKind())
    llvm::erase_if(pending, [&](AxisRefAttr axis) {
      return llvm::is_contained(to.getPartialAxes(), axis);
    });
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes = getMoveCost(layout, type, getTensorBytes(type),
                              from.getDims(), pending, to.getDims());
  return bytes > 0 ? bytes + latency : 0;
}

/// The users of a value; at most as many as can be visited each time.
static auto getFirstUsers(Value value) {
  auto begin = value.user_begin(), end = begin;
  for (ptrdiff_t i = 0; i < kMostReshardUsers && end != value.user_end(); ++i)
    ++end;
  return llvm::make_range(begin, end);
}

/// Calls `visit` for each copy of a value that others than the tree use, too.
template <typename Visit>
static void visitCopies(Value source, const PlacementTree &tree, Visit visit) {
  for (Operation *user : getFirstUsers(source)) {
    auto copy = dyn_cast<ReshardOp>(user);
    if (copy && copy->getBlock() == source.getParentBlock() &&
        llvm::any_of(copy->getUsers(),
                     [&](Operation *other) { return !tree.contains(other); }))
      visit(copy);
  }
}

/// Whether other trees read it as this one does, as layers read a mask, and its
/// own op can be placed otherwise.
bool Mover::isShared(Value source) {
  Operation *maker = source.getDefiningOp();
  if (!maker || !tree.isMovable(maker))
    return false;
  SmallVector<Operation *> others;
  llvm::SmallDenseSet<OperationName> own;
  for (Operation *user : getFirstUsers(source))
    if (tree.contains(user))
      own.insert(user->getName());
    else if (!isa<ReshardOp>(user))
      others.push_back(user);
  return llvm::any_of(
      others, [&](Operation *user) { return own.contains(user->getName()); });
}

int64_t Mover::getSourceBytes(Value source, ShardingAttr wanted) {
  int64_t least = getBytes(source, values.getPlacement(source), wanted);
  if (least == 0)
    return 0;
  visitCopies(source, tree, [&](ReshardOp copy) {
    if (copy.getSharding() == wanted)
      least = 0;
  });
  // Values that a loop does not change are resharded outside of it.
  if (source.getParentBlock() != nodes.back().op->getBlock() && least != 0)
    return kNever;
  // Others may want it there as well: where all else is equal, it is brought
  // for all of them.
  return least > 1 && isShared(source) ? least - 1 : least;
}

int64_t Mover::getUsersBytes(ShardingAttr placement) {
  Value root = tree.getRoot();
  ShardingAttr now = values.getPlacement(root);
  int64_t sum = 0;
  SmallVector<ShardingAttr> copies{placement};
  auto want = [&](ShardingAttr wanted) {
    if (llvm::is_contained(copies, wanted))
      return;
    int64_t least = kNever;
    for (ShardingAttr copy : copies)
      least = std::min(least, getBytes(root, copy, wanted));
    sum = std::min(sum + least, kNever);
    copies.push_back(wanted);
  };
  for (Operation *user : root.getUsers())
    if (auto reshard = dyn_cast<ReshardOp>(user))
      want(reshard.getSharding());
    else
      want(now);
  return sum;
}

int64_t Mover::evaluate(ArrayRef<unsigned> chosen) {
  int64_t sum = 0;
  llvm::SmallDenseSet<std::pair<Value, Attribute>> brought;
  for (auto [node, number] : llvm::zip_equal(nodes, chosen)) {
    const PlacementOption &way = node.options[number];
    sum = std::min(sum + way.bytes, kNever);
    for (auto [operand, wanted] : llvm::enumerate(way.operands)) {
      if (!wanted)
        continue;
      if (unsigned child = node.children[operand]; child != kNone) {
        Value made = nodes[child].op->getResult(0);
        if (brought.insert({made, wanted}).second)
          sum += getBytes(made, nodes[child].options[chosen[child]].result,
                          wanted);
      } else if (Value source = node.sources[operand];
                 brought.insert({source, wanted}).second)
        sum += getSourceBytes(source, wanted);
      sum = std::min(sum, kNever);
    }
  }
  return std::min(
      sum + getUsersBytes(nodes.back().options[chosen.back()].result), kNever);
}

/// `source` placed as `wanted`, before `user`, in the block where it is
/// computed: loops do not repeat it.
Value Mover::bring(Value source, ShardingAttr wanted, Operation *user,
                   ReshardOp instead) {
  if (values.getPlacement(source) == wanted)
    return source;
  Block *home = source.getParentBlock();
  user = home->findAncestorOpInBlock(*user);
  for (Operation *other : getFirstUsers(source))
    if (auto copy = dyn_cast<ReshardOp>(other);
        copy && copy.getSharding() == wanted && copy->getBlock() == home) {
      if (user->isBeforeInBlock(copy))
        copy->moveBefore(user);
      return copy;
    }
  OpBuilder builder(user);
  if (!instead)
    instead = tree.getExample();
  return values.makeReshard(builder, instead.getLoc(), source,
                            values.getPlacement(source), wanted,
                            instead.getCause(), instead->getAttr(kScopeAttr));
}

static void eraseUnused(Value value, PlacedProgram &values) {
  while (auto reshard = value.getDefiningOp<ReshardOp>()) {
    if (!reshard->use_empty())
      return;
    value = reshard.getOperand();
    values.erase(reshard);
  }
}

void Mover::rewrite(ArrayRef<unsigned> chosen) {
  Value root = tree.getRoot();
  ReshardOp example = tree.getExample();
  ShardingAttr before = values.getPlacement(root);
  ShardingAttr after = nodes.back().options[chosen.back()].result;
  // Reshards whose cause others take are erased last.
  SmallVector<Value> replaced;
  for (auto [node, number] : llvm::zip_equal(nodes, chosen)) {
    const PlacementOption &way = node.options[number];
    Operation *op = node.op;
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned at = operand.getOperandNumber();
      Value old = operand.get();
      if (way.free[at] && values.getPlacement(old) != way.free[at])
        operand.set(values.makeFree(old, way.free[at]));
      if (!way.operands[at])
        continue;
      Value source = node.children[at] == kNone
                         ? node.sources[at]
                         : nodes[node.children[at]].op->getResult(0);
      Value ready =
          bring(source, way.operands[at], op, old.getDefiningOp<ReshardOp>());
      if (ready != old) {
        operand.set(ready);
        replaced.push_back(old);
      }
    }
    values.setShardings(op, {way.result});
    // The root's are seen to below.
    if (op->getResult(0) != root)
      for (Operation *user : op->getResult(0).getUsers())
        if (auto reshard = dyn_cast<ReshardOp>(user))
          reshard.setSourceAttr(way.result);
  }
  if (before != after) {
    SmallVector<ReshardOp> reshards;
    SmallPtrSet<Operation *, 4> kept;
    for (Operation *user : root.getUsers())
      if (auto reshard = dyn_cast<ReshardOp>(user)) {
        reshards.push_back(reshard);
        kept.insert(reshard);
      }
    bool isUsed = llvm::any_of(
        root.getUsers(), [&](Operation *user) { return !kept.contains(user); });
    if (isUsed) {
      OpBuilder builder(root.getContext());
      builder.setInsertionPointAfterValue(root);
      Value old =
          values.makeReshard(builder, example.getLoc(), root, after, before,
                             example.getCause(), example->getAttr(kScopeAttr));
      kept.insert(old.getDefiningOp());
      root.replaceAllUsesExcept(old, kept);
    }
    for (ReshardOp reshard : reshards) {
      reshard.setSourceAttr(after);
      if (reshard.getSharding() != after)
        continue;
      reshard.getResult().replaceAllUsesWith(root);
      replaced.push_back(reshard);
    }
  }
  llvm::SmallDenseSet<Value> seen;
  for (Value old : replaced)
    if (seen.insert(old).second)
      eraseUnused(old, values);
}

/// By dynamic programming from the leaves to the root: the least cost of each
/// placement of an op, including the ops that it depends on.
SmallVector<unsigned> Mover::choose() {
  SmallVector<unsigned> chosen(nodes.size(), 0);
  /// By op and option: its cost, and the options of the children.
  SmallVector<SmallVector<int64_t>, 0> costs(nodes.size());
  SmallVector<SmallVector<SmallVector<unsigned, 4>, 0>, 0> picked(nodes.size());
  for (auto [index, node] : llvm::enumerate(nodes))
    for (const PlacementOption &way : node.options) {
      int64_t cost = way.bytes;
      SmallVector<unsigned, 4> picks(node.children.size(), 0);
      for (auto [operand, wanted] : llvm::enumerate(way.operands)) {
        if (!wanted)
          continue;
        int64_t least = kNever;
        if (unsigned first = node.firsts[operand]; first != operand) {
          // Counted with the first; or else as a cost to avoid.
          picks[operand] = picks[first];
          least = way.operands[first] == wanted ? 0 : kNever;
        } else if (unsigned child = node.children[operand]; child != kNone) {
          for (auto [number, made] : llvm::enumerate(nodes[child].options)) {
            int64_t sum = costs[child][number];
            if (sum < least)
              sum +=
                  getBytes(nodes[child].op->getResult(0), made.result, wanted);
            if (sum < least) {
              least = sum;
              picks[operand] = number;
            }
          }
        } else {
          Value source = node.sources[operand];
          least = getSourceBytes(source, wanted);
          // Shared by all users that want it so.
          if (least < kNever)
            least /= tree.getUses(source);
        }
        cost = std::min(cost + least, kNever);
      }
      costs[index].push_back(cost);
      picked[index].push_back(std::move(picks));
    }
  int64_t least = kNever;
  for (auto [number, way] : llvm::enumerate(nodes.back().options)) {
    int64_t sum = costs.back()[number];
    if (sum < least)
      sum += getUsersBytes(way.result);
    if (sum < least) {
      least = sum;
      chosen.back() = number;
    }
  }
  for (size_t i = nodes.size(); i-- > 0;)
    for (auto [operand, child] : llvm::enumerate(nodes[i].children))
      if (child != kNone)
        chosen[child] = picked[i][chosen[i]][operand];
  return chosen;
}

void Mover::run() {
  // Few bytes are sent by few transfers.
  latency = kTransfer;
  SmallVector<unsigned> first(nodes.size(), 0);
  int64_t now = evaluate(first);
  if (now == 0)
    return;
  SmallVector<unsigned> chosen = choose();
  if (evaluate(chosen) >= now)
    return;
  latency = 0;
  if (evaluate(chosen) < evaluate(first))
    rewrite(chosen);
}

static void moveReshards(FunctionOpInterface function, RuleCache &rules,
                         PlacedProgram &values) {
  PlacementTree tree(rules, values);
  SmallVector<Operation *> roots;
  function->walk([&](Operation *op) {
    if (tree.isMovable(op) && !tree.getParent(op))
      roots.push_back(op);
  });
  auto move = [&](Operation *root) {
    if (tree.read(root))
      Mover(tree, values).run();
  };
  llvm::for_each(roots, move);
  // A reshard of a value that all readers want may be done at the value.
  for (Operation *root : roots)
    if (!root->use_empty() &&
        llvm::all_of(root->getUsers(), llvm::IsaPred<ReshardOp>))
      move(root);
}

namespace mlir::dist {
#define GEN_PASS_DEF_MOVERESHARDSPASS
#include "passes/spmd/improve/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct MoveReshardsPass
    : mlir::dist::impl::MoveReshardsPassBase<MoveReshardsPass> {
  void runOnOperation() override {
    RuleCache rules;
    auto visit = [&](FunctionOpInterface function, PlacedProgram &values) {
      moveReshards(function, rules, values);
    };
    FailureOr<bool> changed = visitPlacedFunctions(getOperation(), visit);
    if (failed(changed))
      return signalPassFailure();
    if (!*changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
