//===- FactorChoice.cpp - Which factor of an op an axis shards ------------===//
//
// Where all tensors of an op agree there is nothing to choose. Else every legal
// choice among the contested shardings is tried, and the one that moves the
// fewest bytes taken; the user's fixed placements come before bytes.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/ReshardInserter.h"

using namespace mlir;
using namespace mlir::dist;

/// Choices are tried one by one. How many are legal grows with the number of
/// axes, not of candidates, so that this many occur in no program known.
static constexpr unsigned kMaxChoices = 1 << 14;

bool ReshardInserter::joinDims(const ShardingRule &rule,
                               const TensorRule &tensor,
                               ArrayRef<DimShardingAttr> factors,
                               SmallVectorImpl<DimShardingAttr> &out) const {
  out.clear();
  for (const auto &list : tensor.dims) {
    if (list.empty()) {
      out.push_back(layout.none());
      continue;
    }
    if (list.size() == 1) {
      out.push_back(factors[list[0]]);
      continue;
    }
    SmallVector<DimShardingAttr, 2> parts;
    SmallVector<int64_t, 2> sizes;
    for (unsigned factor : list) {
      parts.push_back(factors[factor]);
      sizes.push_back(rule.factors[factor].size);
    }
    DimShardingAttr joined = layout.join(parts, sizes);
    if (!joined)
      return false;
    out.push_back(joined);
  }
  return true;
}

/// Bytes sent, in the limit of many devices: so that the choice does not depend
/// on their number. Gathers and scatters send the tensor once, reductions
/// twice, a moved axis next to nothing, and slices nothing.
int64_t ReshardInserter::getMoveCost(int64_t bytes,
                                     ArrayRef<DimShardingAttr> from,
                                     ArrayRef<AxisRefAttr> partial,
                                     ArrayRef<DimShardingAttr> to) const {
  int64_t cost = 0;
  SmallVector<AxisRefAttr, 4> goal;
  for (DimShardingAttr dim : to)
    if (dim != layout.none())
      llvm::append_range(goal, dim.getAllAxes());
  for (auto [before, after] : llvm::zip_equal(from, to)) {
    if (before == after || layout.isPrefix(before, after))
      continue;
    SmallVector<AxisRefAttr> kept = after.getAllAxes();
    for (AxisRefAttr axis : before.getAllAxes())
      if (!llvm::is_contained(kept, axis))
        cost += anyOverlap(axis, goal) ? bytes / 8 : bytes;
      else if (before.getSubDims().size() != after.getSubDims().size())
        cost += bytes;
  }
  for (AxisRefAttr axis : partial)
    cost += anyOverlap(axis, goal) ? bytes : 2 * bytes;
  return cost;
}

Cost ReshardInserter::getCost(Operation *op, const ShardingRule &rule,
                              ArrayRef<DimShardingAttr> factors) {
  Cost cost{0, 0};
  SmallVector<DimShardingAttr, 4> dims;
  auto add = [&](int64_t moved, Value value) {
    if (moved == 0)
      return;
    unsigned index = analysis.getIndex(value);
    cost.first += index != kNone && analysis.isPinned(index);
    cost.second += moved;
  };
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), rule.operands)) {
    ShardingAttr from = getTie(operand);
    if (!joinDims(rule, tensor, factors, dims))
      return {INT64_MAX, INT64_MAX};
    if (!from)
      continue;
    add(getMoveCost(getTensorBytes(operand.getType()), from.getDims(), {},
                    dims),
        operand);
  }
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), rule.results)) {
    ShardingAttr to = getTarget(result);
    if (!joinDims(rule, tensor, factors, dims))
      return {INT64_MAX, INT64_MAX};
    if (!to)
      continue;
    int64_t bytes = getTensorBytes(result.getType());
    add(getMoveCost(bytes, dims, {}, to.getDims()), result);
    for (AxisRefAttr axis :
         getReduced(layout, rule, factors, result.getResultNumber()).axes) {
      SmallVector<AxisRefAttr, 4> goal;
      for (DimShardingAttr dim : to.getDims())
        llvm::append_range(goal, dim.getAllAxes());
      cost.second += anyOverlap(axis, goal) ? bytes : 2 * bytes;
    }
  }
  return cost;
}

void ReshardInserter::chooseFactors(Operation *op, const ShardingRule &rule,
                                    SmallVectorImpl<DimShardingAttr> &factors,
                                    SmallVectorImpl<unsigned> &causes) {
  DimShardingAttr none = layout.none();
  factors.assign(rule.factors.size(), none);
  causes.assign(rule.factors.size(), kNone);
  SmallVector<Candidate, 8> candidates;
  bool isContested = false;
  auto collect = [&](Value value, const TensorRule &tensor,
                     ShardingAttr sharding, bool isOperand) {
    if (!sharding)
      return;
    unsigned index = analysis.getIndex(value);
    for (auto [dim, list] : llvm::enumerate(tensor.dims)) {
      DimShardingAttr whole = sharding.getDims()[dim];
      if (isOperand && index != kNone && !analysis.getStoredAxes(index).empty())
        whole = analysis.getSpoken(index, dim);
      if (whole == none || list.empty())
        continue;
      SmallVector<DimShardingAttr, 2> parts{whole};
      if (list.size() > 1) {
        SmallVector<int64_t, 2> sizes;
        for (unsigned factor : list)
          sizes.push_back(rule.factors[factor].size);
        layout.split(whole, sizes, parts);
      }
      for (auto [factor, part] : llvm::zip_equal(list, parts)) {
        if (part == none || rule.factors[factor].kind == FactorKind::Replicated)
          continue;
        bool isEvenOnly = rule.factors[factor].evenOnly ||
                          (rule.factors[factor].kind == FactorKind::Reduction &&
                           !rule.masksPadding);
        if (isEvenOnly && !layout.isEven(part, rule.factors[factor].size))
          continue;
        unsigned cause =
            index == kNone ? kNone : analysis.getDims(index)[dim].cause;
        bool isKnown = false;
        for (Candidate &known : candidates)
          if (known.factor == factor && known.sharding == part) {
            isKnown = true;
            known.operands += isOperand;
            // A directive says more than the parameter that it placed.
            if (index != kNone && analysis.isPinned(index))
              known.cause = cause;
          }
        if (isKnown)
          continue;
        candidates.push_back({factor, part, cause, isOperand});
      }
    }
  };
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), rule.operands))
    collect(operand, tensor, getTie(operand), true);
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    if (isa<RankedTensorType>(result.getType()))
      collect(result, tensor, getTarget(result), false);
  if (candidates.empty())
    return;

  // Where all operands are sharded alike along a reduction, the result is left
  // pending, whatever placement it is wanted in: completing it brings it there.
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate reduction = candidates[i];
    if (rule.factors[reduction.factor].kind != FactorKind::Reduction)
      continue;
    unsigned operands = 0;
    for (auto [operand, tensor] :
         llvm::zip_equal(op->getOperands(), rule.operands))
      for (const auto &list : tensor.dims)
        operands += llvm::is_contained(list, reduction.factor) &&
                    getTie(operand) != nullptr;
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
    ShardingAttr to = getTarget(value);
    if (!to || !joinDims(rule, tensor, factors, dims))
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
      if (isa<RankedTensorType>(result.getType()) && getTarget(result) &&
          disagrees(result, tensor, candidate.factor))
        candidate.isContested = true;
    // Factors of a merged dimension cannot always be joined.
    for (auto [operand, tensor] :
         llvm::zip_equal(op->getOperands(), rule.operands))
      for (const auto &list : tensor.dims)
        if (list.size() > 1 && llvm::is_contained(list, candidate.factor) &&
            !joinDims(rule, tensor, factors, dims))
          candidate.isContested = true;
  }
  for (const Candidate &candidate : candidates)
    isContested |= candidate.isContested;
  if (!isContested)
    return;

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
    Cost cost = getCost(op, rule, factors);
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
    if (choices == kMaxChoices)
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
  if (choices == kMaxChoices)
    op->emitRemark() << open.size()
                     << " shardings compete here; of the ways to "
                     << "choose among them the first " << kMaxChoices
                     << " were compared, and there may be a cheaper one";
  if (best.empty()) {
    factors.assign(rule.factors.size(), none);
    causes.assign(rule.factors.size(), kNone);
    return;
  }
  factors.assign(best.begin(), best.end());
  causes.assign(bestCauses.begin(), bestCauses.end());
}
