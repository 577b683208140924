//===- FactorChoice.cpp - Which factor of an op an axis shards ------------===//
//
// Where all tensors of an op agree there is nothing to choose. Else every legal
// choice among the contested shardings is tried, and the one that moves the
// fewest bytes taken; the user's fixed placements come before bytes.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/insert/FactorChoice.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/bounds/Bounds.h"
#include "passes/spmd/graph/MovedValues.h"
#include "passes/spmd/graph/PendingReductions.h"
#include "passes/spmd/graph/Windows.h"
#include "passes/spmd/insert/PendingOperands.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A factor with a sharding that some tensor of the op has.
struct Candidate {
  unsigned factor;
  DimShardingAttr sharding;
  unsigned cause;
  /// Number of operands that are sharded like this.
  unsigned operands;
  /// Whether leaving it unsharded may pay: another candidate wants its axes, or
  /// some tensor is sharded otherwise.
  bool isContested = false;
};

/// Bytes moved, after the user's fixed placements that are not kept.
using Cost = std::pair<int64_t, int64_t>;

class Chooser {
public:
  Chooser(Operation *op, const ShardingRule &rule, const MeshLayout &layout,
          const PlacementGraph &graph, const Placements &targets,
          const PlacedValues &values, const ExclusiveSums &exclusive)
      : op(op), rule(rule), layout(layout), graph(graph), targets(targets),
        values(values), exclusive(exclusive), factors(choice.factors),
        causes(choice.causes) {}
  void run();
  FactorChoice take() { return std::move(choice); }

private:
  static constexpr unsigned kNone = PlacementGraph::kNone;

  Cost getCost(ArrayRef<DimShardingAttr> factors) const;
  void findPassed();

  Operation *op;
  const ShardingRule &rule;
  const MeshLayout &layout;
  const PlacementGraph &graph;
  const Placements &targets;
  const PlacedValues &values;
  const ExclusiveSums &exclusive;
  /// Axes of sums that the op could leave pending.
  SmallVector<AxisRefAttr, 4> passed;
  /// The highest cost of moving an operand, where it is smallest.
  SmallVector<int64_t, 4> operandBytes;
  FactorChoice choice;
  SmallVector<DimShardingAttr, 8> &factors;
  SmallVector<unsigned, 8> &causes;
};
} // namespace

Cost Chooser::getCost(ArrayRef<DimShardingAttr> factors) const {
  Cost cost{0, getWindowBytes(op, rule, layout, factors)};
  SmallVector<DimShardingAttr, 4> dims;
  auto add = [&](int64_t moved, Value value) {
    if (moved == 0)
      return;
    unsigned index = graph.getIndex(value);
    cost.first += index != kNone && targets.isPinned(index);
    cost.second += moved;
  };
  for (auto [operand, tensor, bytes] :
       llvm::zip_equal(op->getOperands(), rule.operands, operandBytes)) {
    ShardingAttr from = values.getTyingPlacement(operand);
    if (!rule.joinDims(layout, tensor, factors, dims))
      return {INT64_MAX, INT64_MAX};
    if (!from)
      continue;
    add(graph.isBackward(op)
            ? values.getCostFromCopies(operand, bytes, dims)
            : getMoveCost(layout, cast<RankedTensorType>(operand.getType()),
                          bytes, from.getDims(), {}, dims),
        operand);
  }
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), rule.results)) {
    ShardingAttr to = values.getTarget(result);
    if (!rule.joinDims(layout, tensor, factors, dims))
      return {INT64_MAX, INT64_MAX};
    if (!to)
      continue;
    auto type = cast<RankedTensorType>(result.getType());
    int64_t bytes = getTensorBytes(type);
    int64_t moved = getMoveCost(layout, type, bytes, dims, {}, to.getDims());
    add(moved, result);
    Reduced reduced =
        getReduced(layout, rule, factors, result.getResultNumber());
    cost.second +=
        getMoveCost(layout, type, bytes, dims, reduced.axes, to.getDims()) -
        moved;
  }
  return cost;
}

/// A cotangent stays pending until all contributions are added. Such an
/// addition is not sharded over the axes of the sum, although its result will
/// be scattered over them in the end. An op that adds rows to their owners
/// leaves nothing pending.
void Chooser::findPassed() {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface || !graph.isBackward(op) || op->getNumResults() == 0)
    return;
  PendingOperands pending = findPendingOperands(op, values, std::nullopt,
                                                [](Value) { return false; });
  if (pending.any && op->getNumResults() == 1 &&
      exclusive.settles(op, pending.isPassed,
                        values.getTarget(op->getResult(0))))
    return;
  int64_t resultBytes = 0;
  for (Type type : op->getResultTypes())
    resultBytes += getTensorBytes(type);
  if (pending.any && resultBytes <= pending.bytes &&
      iface.getPartialResult(pending.isPassed, pending.kind) ==
          PartialResult::Partial)
    passed = pending.axes;
}

/// Whether the pending slices of a sharded value are, together, as large as the
/// whole: then gathering that once sends less. Looks at a bounded number of
/// users.
static bool isSlicedUp(Operation *op) {
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  if (!slice)
    return false;
  int64_t whole = getTensorBytes(slice.getSourceType()), left = whole;
  unsigned seen = 0;
  auto count = [&](Value value) {
    for (Operation *user : value.getUsers()) {
      // So many slices are of the whole, rather than of a few rows.
      if (++seen > kMostSliceUsers)
        return true;
      auto other = dyn_cast<tensor::ExtractSliceOp>(user);
      // The largest part is kept by moving it on, without anything pending.
      if (!other || 2 * getTensorBytes(other.getType()) > whole)
        continue;
      if ((left -= 2 * getTensorBytes(other.getType())) <= 0)
        return true;
    }
    return false;
  };
  if (count(slice.getSource()))
    return true;
  // Those before it may read the whole already.
  for (Operation *user : slice.getSource().getUsers())
    if (auto copy = dyn_cast<ReshardOp>(user); copy && count(copy.getResult()))
      return true;
  return false;
}

void Chooser::run() {
  DimShardingAttr none = layout.none();
  factors.assign(rule.factors.size(), none);
  causes.assign(rule.factors.size(), kNone);
  SmallVector<Candidate, 8> candidates;
  bool isContested = false;
  auto collect = [&](Value value, const TensorRule &tensor,
                     ShardingAttr sharding, bool isOperand) {
    if (!sharding)
      return;
    unsigned index = graph.getIndex(value);
    for (auto [dim, list] : llvm::enumerate(tensor.dims)) {
      DimShardingAttr whole = sharding.getDims()[dim];
      if (isOperand && index != kNone && !targets.getStoredAxes(index).empty())
        whole = targets.getShardingForUse(index, dim);
      if (whole == none || list.empty())
        continue;
      for (auto [factor, part] :
           llvm::zip_equal(list, rule.splitDim(layout, list, whole))) {
        FactorKind kind = rule.factors[factor].kind;
        if (part == none || kind == FactorKind::Replicated ||
            (kind == FactorKind::Reduction && isSlicedUp(op)))
          continue;
        bool isEvenOnly = kind == FactorKind::Reduction && !rule.masksPadding;
        if ((isEvenOnly && !layout.isEven(part, rule.factors[factor].size)) ||
            !rule.factors[factor].accepts(layout, part))
          continue;
        unsigned cause =
            index == kNone ? kNone : targets.getDims(index)[dim].cause;
        bool isKnown = false;
        for (Candidate &known : candidates)
          if (known.factor == factor && known.sharding == part) {
            isKnown = true;
            known.operands += isOperand;
            // A directive says more than the parameter that it placed.
            if (index != kNone && targets.isPinned(index))
              known.cause = cause;
          }
        if (isKnown)
          continue;
        candidates.push_back({factor, part, cause, isOperand});
      }
    }
  };
  findPassed();
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), rule.operands)) {
    ShardingAttr tie = values.getTyingPlacement(operand);
    collect(operand, tensor,
            tie && !passed.empty() ? values.getPlacement(operand) : tie, true);
  }
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    if (isa<RankedTensorType>(result.getType()))
      collect(result, tensor, values.getTarget(result), false);
  llvm::erase_if(candidates, [&](const Candidate &candidate) {
    return candidate.operands == 0 &&
           anyOverlap(candidate.sharding.getAllAxes(), passed);
  });
  if (candidates.empty())
    return;

  // If all operands are sharded alike along a reduction, the result is left
  // pending, whatever its target: completing it leads there.
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate reduction = candidates[i];
    if (rule.factors[reduction.factor].kind != FactorKind::Reduction)
      continue;
    unsigned operands = 0;
    for (auto [operand, tensor] :
         llvm::zip_equal(op->getOperands(), rule.operands))
      for (const auto &list : tensor.dims)
        operands += llvm::is_contained(list, reduction.factor) &&
                    values.getTyingPlacement(operand) != nullptr;
    if (reduction.operands < 2 || reduction.operands != operands)
      continue;
    SmallVector<AxisRefAttr> axes = reduction.sharding.getAllAxes();
    llvm::erase_if(candidates, [&](const Candidate &other) {
      return other.operands == 0 &&
             anyOverlap(axes, other.sharding.getAllAxes());
    });
    i = llvm::find_if(candidates,
                      [&](const Candidate &other) {
                        return other.factor == reduction.factor &&
                               other.sharding == reduction.sharding;
                      }) -
        candidates.begin();
  }

  for (size_t i = 0; i < candidates.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (candidates[i].factor == candidates[j].factor ||
          areKindsApart(rule, candidates[i].factor, candidates[j].factor) ||
          anyOverlap(candidates[i].sharding.getAllAxes(),
                     candidates[j].sharding.getAllAxes()))
        candidates[i].isContested = candidates[j].isContested = true;
  auto take = [&](const Candidate &candidate) {
    factors[candidate.factor] = candidate.sharding;
    causes[candidate.factor] = candidate.cause;
  };
  for (const Candidate &candidate : candidates)
    if (!candidate.isContested)
      take(candidate);
  SmallVector<DimShardingAttr, 4> dims;
  auto disagrees = [&](Value value, const TensorRule &tensor, unsigned factor) {
    ShardingAttr to = values.getTarget(value);
    if (!to || !rule.joinDims(layout, tensor, factors, dims))
      return true;
    for (auto [dim, list] : llvm::enumerate(tensor.dims))
      if (llvm::is_contained(list, factor) && dims[dim] != to.getDims()[dim] &&
          !layout.isPrefix(dims[dim], to.getDims()[dim]))
        return true;
    return false;
  };
  for (Candidate &candidate : candidates) {
    if (candidate.isContested)
      continue;
    for (auto [result, tensor] :
         llvm::zip_equal(op->getResults(), rule.results))
      if (isa<RankedTensorType>(result.getType()) && values.getTarget(result) &&
          disagrees(result, tensor, candidate.factor))
        candidate.isContested = true;
    // Factors of a merged dimension cannot always be joined.
    for (auto [operand, tensor] :
         llvm::zip_equal(op->getOperands(), rule.operands))
      for (const auto &list : tensor.dims)
        if (list.size() > 1 && llvm::is_contained(list, candidate.factor) &&
            !rule.joinDims(layout, tensor, factors, dims))
          candidate.isContested = true;
  }
  for (const Candidate &candidate : candidates)
    isContested |= candidate.isContested;
  if (!isContested)
    return;

  operandBytes.clear();
  for (Value operand : op->getOperands())
    operandBytes.push_back(getLeastBytes(operand));

  // Try every choice among the contested ones: those that share no axis, no
  // factor, and reduce each result in one way.
  SmallVector<Candidate, 8> open;
  for (const Candidate &candidate : candidates)
    if (candidate.isContested) {
      factors[candidate.factor] = none;
      causes[candidate.factor] = kNone;
      open.push_back(candidate);
    }
  SmallVector<AxisRefAttr, 4> used;
  for (DimShardingAttr sharding : factors)
    llvm::append_range(used, sharding.getAllAxes());
  SmallVector<DimShardingAttr, 8> best;
  SmallVector<unsigned, 8> bestCauses, chosen;
  Cost bestCost{INT64_MAX, INT64_MAX};
  unsigned bestCount = 0, choices = 0;
  auto judge = [&] {
    Cost cost = getCost(factors);
    if (cost.first == INT64_MAX)
      return;
    // Work done twice is no gain: of equal costs the more sharded.
    unsigned count = chosen.size();
    if (best.empty() || cost < bestCost ||
        (cost == bestCost && count > bestCount)) {
      best.assign(factors.begin(), factors.end());
      bestCauses.assign(causes.begin(), causes.end());
      bestCost = cost;
      bestCount = count;
    }
  };
  auto choose = [&](auto &&self, size_t left) -> void {
    if (choices == kMostChoices)
      return;
    if (left == 0) {
      ++choices;
      return judge();
    }
    const Candidate &candidate = open[left - 1];
    self(self, left - 1);
    SmallVector<AxisRefAttr> axes = candidate.sharding.getAllAxes();
    if (factors[candidate.factor] != none || anyOverlap(axes, used) ||
        llvm::any_of(chosen, [&](unsigned factor) {
          return areKindsApart(rule, factor, candidate.factor);
        }))
      return;
    size_t before = used.size();
    used.append(axes.begin(), axes.end());
    chosen.push_back(candidate.factor);
    take(candidate);
    self(self, left - 1);
    factors[candidate.factor] = none;
    causes[candidate.factor] = kNone;
    chosen.pop_back();
    used.truncate(before);
  };
  choose(choose, open.size());
  if (choices == kMostChoices)
    op->emitRemark() << open.size()
                     << " shardings compete here; of the ways to "
                     << "choose among them the first " << kMostChoices
                     << " were compared, and there may be a cheaper one";
  if (best.empty()) {
    factors.assign(rule.factors.size(), none);
    causes.assign(rule.factors.size(), kNone);
    return;
  }
  factors.assign(best.begin(), best.end());
  causes.assign(bestCauses.begin(), bestCauses.end());
}

FactorChoice mlir::dist::chooseFactors(Operation *op, const ShardingRule &rule,
                                       const MeshLayout &layout,
                                       const PlacementGraph &graph,
                                       const Placements &targets,
                                       const PlacedValues &values,
                                       const ExclusiveSums &exclusive) {
  Chooser chooser(op, rule, layout, graph, targets, values, exclusive);
  chooser.run();
  return chooser.take();
}
