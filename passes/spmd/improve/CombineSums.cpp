//===- CombineSums.cpp - Sums that are added are completed together -------===//
//
// Two sums may be pending in the same way and completed in the same way, and
// their results only added to each other, perhaps with more terms. Then their
// parts are added first: one collective instead of two.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/spmd/graph/PlacedProgram.h"
#include "passes/spmd/graph/PlacementGraph.h"
#include "passes/spmd/improve/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Additions, each of which is read by only one of the others, except the root.
struct SumTree {
  Operation *root = nullptr;
  /// Those that add two of all elements, and those that add something to each
  /// that is broadcast, a bias.
  SmallVector<Operation *> joins, biases;
  /// The values that they add, if these have all elements.
  SmallVector<Value> terms;
};

/// Reshards that complete sums, with equal placements before and after.
using Group = SmallVector<ReshardOp, 2>;

class Combiner {
public:
  explicit Combiner(PlacedProgram &values) : values(values) {}

  void run(Operation *root);

private:
  bool read(Operation *root);
  /// A reshard that can be combined with others, or null.
  ReshardOp getCompletion(Value term) const;
  Value combine(const Group &group);
  void rebuild(ArrayRef<Value> terms);
  /// The next of the tree's additions that is free to add something else.
  Operation *takeJoin();
  void place(Operation *join, Value left, Value right);

  PlacedProgram &values;
  SumTree tree;
  /// Where all of the tree is put.
  Operation *end = nullptr;
};
} // namespace

/// The inputs of an addition that have an element wherever the result has; none
/// for other ops.
static SmallVector<OpOperand *, 2> getFullInputs(Operation *op) {
  auto sum = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (!sum || op->getNumResults() != 1 || sum.getNumDpsInputs() != 2 ||
      sum.getNumLoops() != sum.getNumParallelLoops() ||
      !isFreeValue(sum.getDpsInits()[0]))
    return {};
  Block &body = *sum.getBlock();
  Operation &add = body.front();
  // Another order may overflow where this one does not.
  auto integer = dyn_cast<arith::AddIOp>(add);
  if (!isa<arith::AddFOp, arith::AddIOp>(add) ||
      (integer &&
       integer.getOverflowFlags() != arith::IntegerOverflowFlags::none) ||
      add.getNextNode() != body.getTerminator() ||
      body.getTerminator()->getOperand(0) != add.getResult(0) ||
      !llvm::is_contained(add.getOperands(), body.getArgument(0)) ||
      !llvm::is_contained(add.getOperands(), body.getArgument(1)))
    return {};
  SmallVector<OpOperand *, 2> full;
  AffineMap all = sum.getMatchingIndexingMap(sum.getDpsInitOperand(0));
  for (OpOperand *input : sum.getDpsInputOperands())
    if (sum.getMatchingIndexingMap(input) == all &&
        input->get().getType() == op->getResult(0).getType())
      full.push_back(input);
  return full;
}

/// The addition in the same block that is the only reader of `op`'s result.
static Operation *getNextSum(Operation *op) {
  if (!op->getResult(0).hasOneUse())
    return nullptr;
  OpOperand &use = *op->getResult(0).use_begin();
  Operation *user = use.getOwner();
  return user->getBlock() == op->getBlock() &&
                 llvm::is_contained(getFullInputs(user), &use)
             ? user
             : nullptr;
}

bool Combiner::read(Operation *root) {
  tree = SumTree();
  tree.root = root;
  ShardingAttr placement = values.getPlacement(root->getResult(0));
  SmallVector<Operation *> left{root};
  while (!left.empty()) {
    Operation *op = left.pop_back_val();
    SmallVector<OpOperand *, 2> inputs = getFullInputs(op);
    (inputs.size() == 2 ? tree.joins : tree.biases).push_back(op);
    for (OpOperand *input : inputs) {
      Operation *maker = input->get().getDefiningOp();
      bool isWithin = maker && !getFullInputs(maker).empty() &&
                      getNextSum(maker) == op &&
                      !values.isAskedFor(input->get());
      if (isWithin)
        left.push_back(maker);
      else
        tree.terms.push_back(input->get());
      if (values.getPlacement(input->get()) != placement)
        return false;
    }
  }
  return placement && !placement.isPartial() && !tree.joins.empty();
}

ReshardOp Combiner::getCompletion(Value term) const {
  auto reshard = term.getDefiningOp<ReshardOp>();
  bool canBe = reshard && term.hasOneUse() &&
               !values.isReshardAskedFor(reshard) &&
               reshard.getSource().isPartial() &&
               reshard.getSource().getPartialKind() == ReductionKind::Sum &&
               reshard->getBlock() == tree.root->getBlock();
  return canBe ? reshard : ReshardOp();
}

Operation *Combiner::takeJoin() {
  Operation *join = tree.joins.pop_back_val();
  join->moveBefore(end);
  return join;
}

void Combiner::place(Operation *join, Value left, Value right) {
  ShardingAttr placement = values.getPlacement(left);
  auto sum = cast<linalg::LinalgOp>(join);
  sum.getDpsInputOperand(0)->set(left);
  sum.getDpsInputOperand(1)->set(right);
  OpOperand *init = sum.getDpsInitOperand(0);
  if (values.getPlacement(init->get()) != placement.withoutPartial())
    init->set(values.makeFree(init->get(), placement.withoutPartial()));
  values.setShardings(join, {placement});
}

/// The module that two are in: "h.0" of "h.0.attn.o_proj" and "h.0.mlp".
static Attribute getCommonScope(Attribute a, Attribute b) {
  auto first = dyn_cast_or_null<StringAttr>(a);
  auto second = dyn_cast_or_null<StringAttr>(b);
  if (!first || !second || first == second)
    return a && b ? a : Attribute();
  SmallVector<StringRef> left, right;
  first.getValue().split(left, '.');
  second.getValue().split(right, '.');
  size_t same = 0;
  while (same < left.size() && same < right.size() && left[same] == right[same])
    ++same;
  return StringAttr::get(a.getContext(),
                         llvm::join(ArrayRef(left).take_front(same), "."));
}

/// The sum of a group, completed by one reshard.
Value Combiner::combine(const Group &group) {
  ReshardOp first = group.front();
  Value sum = first.getOperand();
  Attribute scope = first->getAttr(kScopeAttr);
  bool isAskedFor = false;
  llvm::SmallSetVector<StringRef, 2> causes;
  for (ReshardOp reshard : group) {
    isAskedFor |= values.isAskedFor(reshard);
    if (StringAttr cause = reshard.getCauseAttr())
      causes.insert(cause.getValue());
    scope = getCommonScope(scope, reshard->getAttr(kScopeAttr));
    if (reshard == first)
      continue;
    Operation *join = takeJoin();
    place(join, sum, reshard.getOperand());
    sum = join->getResult(0);
  }
  OpBuilder builder(end);
  Value whole = values.makeReshard(builder, first.getLoc(), sum,
                                   first.getSource(), first.getSharding(),
                                   llvm::join(causes, "; and "), scope);
  if (isAskedFor)
    values.setAskedFor(whole.getDefiningOp(), kAskedForCollective);
  return whole;
}

/// Adds up the terms in their order by the additions that are left, biases
/// last.
void Combiner::rebuild(ArrayRef<Value> terms) {
  Value sum = terms.front();
  for (Value term : terms.drop_front()) {
    Operation *join = takeJoin();
    place(join, sum, term);
    sum = join->getResult(0);
  }
  for (Operation *bias : tree.biases) {
    getFullInputs(bias).front()->set(sum);
    bias->moveBefore(end);
    sum = bias->getResult(0);
  }
}

void Combiner::run(Operation *root) {
  if (!read(root))
    return;
  llvm::MapVector<std::pair<Attribute, Attribute>, Group> groups;
  auto getKey = [](ReshardOp reshard) {
    return std::make_pair(Attribute(reshard.getSource()),
                          Attribute(reshard.getSharding()));
  };
  for (Value term : tree.terms)
    if (ReshardOp reshard = getCompletion(term))
      groups[getKey(reshard)].push_back(reshard);
  groups.remove_if([](const auto &entry) { return entry.second.size() < 2; });
  if (groups.empty())
    return;
  end = root->getNextNode();
  // Readers of the root read the last addition.
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : root->getResult(0).getUses())
    uses.push_back(&use);
  SmallVector<Value> terms;
  for (Value term : tree.terms) {
    ReshardOp reshard = getCompletion(term);
    if (!reshard || !groups.count(getKey(reshard)))
      terms.push_back(term);
  }
  SmallVector<ReshardOp> replaced;
  for (auto &[key, group] : groups) {
    terms.push_back(combine(group));
    replaced.append(group.begin(), group.end());
  }
  rebuild(terms);
  Value sum = end->getPrevNode()->getResult(0);
  for (OpOperand *use : uses)
    use->set(sum);
  for (ReshardOp reshard : replaced)
    values.erase(reshard);
}

static void combineSums(FunctionOpInterface function, PlacedProgram &values) {
  SmallVector<Operation *> roots;
  function->walk([&](Operation *op) {
    if (!getFullInputs(op).empty() && !getNextSum(op))
      roots.push_back(op);
  });
  Combiner combiner(values);
  for (Operation *root : roots)
    combiner.run(root);
}

namespace mlir::dist {
#define GEN_PASS_DEF_COMBINESUMSPASS
#include "passes/spmd/improve/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct CombineSumsPass
    : mlir::dist::impl::CombineSumsPassBase<CombineSumsPass> {
  void runOnOperation() override {
    FailureOr<bool> changed = visitPlacedFunctions(getOperation(), combineSums);
    if (failed(changed))
      return signalPassFailure();
    if (!*changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
