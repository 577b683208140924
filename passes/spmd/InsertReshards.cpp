//===- InsertReshards.cpp - Makes every disagreement an explicit reshard
//----===//
//
// Ops are visited in program order. Each decides which factor every axis
// shards, so that the fewest bytes move; operands that lie otherwise are
// resharded before it, results that are meant to lie otherwise after it.
// Pending reductions travel on through ops that commute with them and are
// completed where one does not.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Passes.h"
#include "passes/spmd/PlacementAnalysis.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
constexpr unsigned kNone = PlacementAnalysis::kNone;

/// A factor with a sharding that some tensor of the op has.
struct Candidate {
  unsigned factor;
  DimShardingAttr sharding;
  unsigned cause;
  /// Whether leaving it unsharded may pay: another candidate wants its axes, or
  /// some tensor lies otherwise.
  bool isContested = false;
};

/// Bytes moved, after the user's fixed placements that are not kept.
using Cost = std::pair<int64_t, int64_t>;

class Inserter {
public:
  explicit Inserter(PlacementAnalysis &analysis)
      : analysis(analysis), layout(*analysis.getLayout()),
        context(layout.getContext()),
        shardingsName(StringAttr::get(context, kShardingsAttr)) {}

  LogicalResult run(Operation *module);

private:
  LogicalResult visitBlock(Block &block);
  LogicalResult visitOp(Operation *op);
  LogicalResult visitGeneral(Operation *op);
  LogicalResult visitSync(SyncOp sync);
  void visitConstraint(ShardingConstraintOp constraint);
  LogicalResult visitBranch(RegionBranchOpInterface branch);
  LogicalResult visitReturn(Operation *op, FunctionOpInterface function);
  LogicalResult visitCall(CallOpInterface call);
  void replicateCaptures(Operation *op);

  void chooseFactors(Operation *op, const ShardingRule &rule,
                     SmallVectorImpl<DimShardingAttr> &factors,
                     SmallVectorImpl<unsigned> &causes);
  Cost getCost(Operation *op, const ShardingRule &rule,
               ArrayRef<DimShardingAttr> factors);
  int64_t getMoveCost(int64_t bytes, ArrayRef<DimShardingAttr> from,
                      ArrayRef<AxisRefAttr> partial,
                      ArrayRef<DimShardingAttr> to) const;
  bool joinDims(const ShardingRule &rule, const TensorRule &tensor,
                ArrayRef<DimShardingAttr> factors,
                SmallVectorImpl<DimShardingAttr> &out) const;

  /// Where a value lies now; null for values that are made where they are used.
  ShardingAttr getPlacement(Value value);
  ShardingAttr getTarget(Value value);
  ShardingAttr place(ArrayRef<DimShardingAttr> dims,
                     ReductionKind kind = ReductionKind::Sum,
                     ArrayRef<AxisRefAttr> partial = {}) const {
    return ShardingAttr::get(context, layout.getName(), dims, kind, partial);
  }
  ShardingAttr replicated(Value value) const {
    return ShardingAttr::getReplicated(
        layout.getName(), cast<RankedTensorType>(value.getType()).getRank());
  }
  /// `value` placed as `wanted`, for `user`: itself, or a reshard of it.
  Value getAs(Value value, ShardingAttr wanted, Operation *user,
              function_ref<std::string()> cause);
  Value makeFree(Value value, ShardingAttr wanted);
  void setShardings(Operation *op, ArrayRef<Attribute> shardings);
  std::string getCauseText(unsigned cause) const;

  PlacementAnalysis &analysis;
  const MeshLayout &layout;
  MLIRContext *context;
  StringAttr shardingsName;
  /// Placements that differ from what the analysis means, and of new values.
  llvm::DenseMap<Value, ShardingAttr> placements;
  /// Who caused the pending reduction of a value.
  llvm::DenseMap<Value, unsigned> partialCauses;
  /// Reshards made so far.
  llvm::DenseMap<std::pair<Value, Attribute>, Value> versions;
};
} // namespace

static int64_t getBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (!tensor.hasStaticShape() ||
      !tensor.getElementType().isIntOrIndexOrFloat())
    return 0;
  int64_t width =
      tensor.getElementType().isIndex() ? 64 : tensor.getElementTypeBitWidth();
  return tensor.getNumElements() * llvm::divideCeil(width, 8);
}

static std::string nameOf(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto scope = op->getAttrOfType<StringAttr>(kScopeAttr))
    text += " (" + scope.str() + ")";
  return text;
}

static std::string print(ArrayRef<AxisRefAttr> axes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(axes, os, [&](AxisRefAttr axis) {
    os << "\"" << axis.getName() << "\"";
    if (axis.isSubAxis())
      os << "(" << axis.getPre() << ")" << axis.getSize();
  });
  return text;
}

std::string Inserter::getCauseText(unsigned cause) const {
  return cause < analysis.getCauses().size() ? analysis.getCauses()[cause]
                                             : std::string();
}

//===----------------------------------------------------------------------===//
// Placements of values
//===----------------------------------------------------------------------===//

ShardingAttr Inserter::getPlacement(Value value) {
  auto found = placements.find(value);
  if (found != placements.end())
    return found->second;
  return getTarget(value);
}

ShardingAttr Inserter::getTarget(Value value) {
  unsigned index = analysis.getIndex(value);
  return index == kNone ? ShardingAttr() : analysis.getSharding(index);
}

void Inserter::setShardings(Operation *op, ArrayRef<Attribute> shardings) {
  op->setDiscardableAttr(shardingsName, ArrayAttr::get(context, shardings));
}

Value Inserter::makeFree(Value value, ShardingAttr wanted) {
  // Pending is free as well: partition makes all but the first device neutral.
  Value &version = versions[{value, wanted}];
  if (version)
    return version;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  ElementsAttr elements;
  bool isSplat =
      !matchPattern(value, m_Constant(&elements)) || elements.isSplat();
  if (!isSplat && !wanted.isReplicated()) {
    Value whole = makeFree(value, replicated(value));
    auto reshard = ReshardOp::create(
        builder, op->getLoc(), whole.getType(), whole, replicated(value),
        wanted, builder.getStringAttr("slice of a constant"));
    setShardings(reshard, wanted);
    placements[reshard] = wanted;
    return versions[{value, wanted}] = reshard;
  }
  // The op itself serves its first user.
  if (!op->hasAttr(shardingsName)) {
    setShardings(op, wanted);
    if (auto fill = dyn_cast<linalg::FillOp>(op)) {
      Value made = makeFree(fill.getDpsInitOperand(0)->get(), wanted);
      fill.getDpsInitOperand(0)->set(made);
    }
    placements[value] = wanted;
    return versions[{value, wanted}] = value;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Value made = makeFree(fill.getDpsInitOperand(0)->get(), wanted);
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op);
    cast<linalg::FillOp>(copy).getDpsInitOperand(0)->set(made);
    // The copy of the empty tensor must come first.
    setShardings(copy, wanted);
    placements[copy->getResult(0)] = wanted;
    return versions[{value, wanted}] = copy->getResult(0);
  }
  Operation *copy = builder.clone(*op);
  setShardings(copy, wanted);
  placements[copy->getResult(0)] = wanted;
  return versions[{value, wanted}] = copy->getResult(0);
}

Value Inserter::getAs(Value value, ShardingAttr wanted, Operation *user,
                      function_ref<std::string()> cause) {
  if (isFreeValue(value) && !wanted.isPartial())
    return makeFree(value, wanted);
  if (isFreeValue(value))
    value = makeFree(value, wanted.withoutPartial());
  ShardingAttr from = getPlacement(value);
  if (from == wanted)
    return value;
  Value &version = versions[{value, wanted}];
  if (version)
    return version;
  // In the block where the value is: later users see it, and loops do not
  // repeat it.
  Block *home = value.getParentBlock();
  Operation *before = home->findAncestorOpInBlock(*user);
  OpBuilder builder(before);
  auto reshard =
      ReshardOp::create(builder, user->getLoc(), value.getType(), value, from,
                        wanted, builder.getStringAttr(cause()));
  setShardings(reshard, wanted);
  if (auto scope = user->getAttr(kScopeAttr))
    reshard->setAttr(kScopeAttr, scope);
  placements[reshard] = wanted;
  return versions[{value, wanted}] = reshard;
}

//===----------------------------------------------------------------------===//
// Choosing factors
//===----------------------------------------------------------------------===//

bool Inserter::joinDims(const ShardingRule &rule, const TensorRule &tensor,
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
int64_t Inserter::getMoveCost(int64_t bytes, ArrayRef<DimShardingAttr> from,
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

Cost Inserter::getCost(Operation *op, const ShardingRule &rule,
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
    ShardingAttr from = isa<RankedTensorType>(operand.getType())
                            ? getPlacement(operand)
                            : ShardingAttr();
    if (!from)
      continue;
    if (!joinDims(rule, tensor, factors, dims))
      return {INT64_MAX, INT64_MAX};
    add(getMoveCost(getBytes(operand.getType()), from.getDims(), {}, dims),
        operand);
  }
  SmallVector<AxisRefAttr, 2> partial;
  for (auto [factor, sharding] : llvm::zip_equal(rule.factors, factors))
    if (factor.kind == FactorKind::Reduction)
      llvm::append_range(partial, sharding.getAllAxes());
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), rule.results)) {
    ShardingAttr to = getTarget(result);
    if (!to)
      continue;
    if (!joinDims(rule, tensor, factors, dims))
      return {INT64_MAX, INT64_MAX};
    int64_t bytes = getBytes(result.getType());
    add(getMoveCost(bytes, dims, {}, to.getDims()), result);
    cost.second += getMoveCost(0, dims, {}, to.getDims());
    for (AxisRefAttr axis : partial) {
      SmallVector<AxisRefAttr, 4> goal;
      for (DimShardingAttr dim : to.getDims())
        llvm::append_range(goal, dim.getAllAxes());
      cost.second += anyOverlap(axis, goal) ? bytes : 2 * bytes;
    }
  }
  return cost;
}

void Inserter::chooseFactors(Operation *op, const ShardingRule &rule,
                             SmallVectorImpl<DimShardingAttr> &factors,
                             SmallVectorImpl<unsigned> &causes) {
  DimShardingAttr none = layout.none();
  factors.assign(rule.factors.size(), none);
  causes.assign(rule.factors.size(), kNone);
  SmallVector<Candidate, 8> candidates;
  bool isContested = false;
  auto collect = [&](Value value, const TensorRule &tensor,
                     ShardingAttr sharding) {
    if (!sharding)
      return;
    unsigned index = analysis.getIndex(value);
    for (auto [dim, list] : llvm::enumerate(tensor.dims)) {
      DimShardingAttr whole = sharding.getDims()[dim];
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
        bool isKnown = false;
        for (const Candidate &known : candidates)
          isKnown |= known.factor == factor && known.sharding == part;
        if (isKnown)
          continue;
        unsigned cause =
            index == kNone ? kNone : analysis.getDims(index)[dim].cause;
        candidates.push_back({factor, part, cause});
      }
    }
  };
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), rule.operands))
    if (isa<RankedTensorType>(operand.getType()))
      collect(operand, tensor, getPlacement(operand));
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    if (isa<RankedTensorType>(result.getType()))
      collect(result, tensor, getTarget(result));
  if (candidates.empty())
    return;

  for (size_t i = 0; i < candidates.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (candidates[i].factor == candidates[j].factor ||
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
    // Factors of a merged dimension that do not divide evenly cannot be joined.
    for (auto [operand, tensor] :
         llvm::zip_equal(op->getOperands(), rule.operands))
      for (const auto &list : tensor.dims)
        if (list.size() > 1 && llvm::is_contained(list, candidate.factor) &&
            !layout.isEven(candidate.sharding,
                           rule.factors[candidate.factor].size))
          candidate.isContested = true;
  }
  for (const Candidate &candidate : candidates)
    isContested |= candidate.isContested;
  if (!isContested)
    return;

  // Try every choice among the contested ones.
  SmallVector<Candidate, 8> open;
  for (const Candidate &candidate : candidates)
    if (candidate.isContested) {
      factors[candidate.factor] = none;
      causes[candidate.factor] = kNone;
      if (open.size() < 10)
        open.push_back(candidate);
    }
  SmallVector<DimShardingAttr, 8> best;
  SmallVector<unsigned, 8> bestCauses;
  Cost bestCost{INT64_MAX, INT64_MAX};
  unsigned bestCount = 0;
  SmallVector<DimShardingAttr, 8> base(factors.begin(), factors.end());
  SmallVector<unsigned, 8> baseCauses(causes.begin(), causes.end());
  for (unsigned subset = 0; subset < (1u << open.size()); ++subset) {
    factors.assign(base.begin(), base.end());
    causes.assign(baseCauses.begin(), baseCauses.end());
    SmallVector<AxisRefAttr, 4> used;
    for (DimShardingAttr sharding : factors)
      llvm::append_range(used, sharding.getAllAxes());
    bool isLegal = true;
    for (auto [i, candidate] : llvm::enumerate(open)) {
      if (!(subset >> i & 1))
        continue;
      SmallVector<AxisRefAttr> axes = candidate.sharding.getAllAxes();
      if (factors[candidate.factor] != none || anyOverlap(axes, used)) {
        isLegal = false;
        break;
      }
      used.append(axes.begin(), axes.end());
      take(candidate);
    }
    if (!isLegal)
      continue;
    Cost cost = getCost(op, rule, factors);
    if (cost.first == INT64_MAX)
      continue;
    // Work done twice is no gain: of equal costs the more sharded.
    unsigned count = llvm::popcount(subset);
    if (best.empty() || cost < bestCost ||
        (cost == bestCost && count > bestCount)) {
      best.assign(factors.begin(), factors.end());
      bestCauses.assign(causes.begin(), causes.end());
      bestCost = cost;
      bestCount = count;
    }
  }
  if (best.empty()) {
    factors.assign(rule.factors.size(), none);
    causes.assign(rule.factors.size(), kNone);
    return;
  }
  factors.assign(best.begin(), best.end());
  causes.assign(bestCauses.begin(), bestCauses.end());
}

//===----------------------------------------------------------------------===//
// Ops in general
//===----------------------------------------------------------------------===//

/// Whether accumulating onto `value` under `kind` adds nothing.
static bool isNeutral(Value value, ReductionKind kind) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    value = fill.getInputs()[0];
  if (value.getDefiningOp<tensor::EmptyOp>())
    return false;
  TypedAttr attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return false;
  if (auto elements = dyn_cast<SplatElementsAttr>(attr))
    attr = cast<TypedAttr>(elements.getSplatValue<Attribute>());
  if (auto number = dyn_cast<FloatAttr>(attr)) {
    APFloat x = number.getValue();
    switch (kind) {
    case ReductionKind::Sum:
      return x.isZero();
    case ReductionKind::Prod:
      return x.isExactlyValue(1.0);
    case ReductionKind::Max:
      return x.isInfinity() && x.isNegative();
    case ReductionKind::Min:
      return x.isInfinity() && !x.isNegative();
    default:
      return false;
    }
  }
  if (auto number = dyn_cast<IntegerAttr>(attr)) {
    APInt x = number.getValue();
    switch (kind) {
    case ReductionKind::Sum:
    case ReductionKind::Or:
      return x.isZero();
    case ReductionKind::Prod:
      return x.isOne();
    case ReductionKind::Max:
      return x.isMinSignedValue();
    case ReductionKind::Min:
      return x.isMaxSignedValue();
    case ReductionKind::And:
      return x.isAllOnes();
    }
  }
  return false;
}

LogicalResult Inserter::visitGeneral(Operation *op) {
  const ShardingRule &rule = *analysis.getRule(op);
  SmallVector<DimShardingAttr, 8> factors;
  SmallVector<unsigned, 8> causes;
  chooseFactors(op, rule, factors, causes);

  SmallVector<AxisRefAttr, 4> used, reduced;
  ReductionKind kind = ReductionKind::Sum;
  unsigned reducedCause = kNone;
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    SmallVector<AxisRefAttr> axes = factors[index].getAllAxes();
    used.append(axes.begin(), axes.end());
    if (factor.kind != FactorKind::Reduction || axes.empty())
      continue;
    reduced.append(axes.begin(), axes.end());
    kind = factor.reduction;
    reducedCause = causes[index];
  }

  // Do the reductions that operands still owe pass through?
  SmallVector<AxisRefAttr, 4> passed;
  SmallVector<bool, 8> isPassed(op->getNumOperands(), false);
  unsigned passedCause = kNone;
  bool anyPartial = false;
  int64_t partialBytes = 0, resultBytes = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    ShardingAttr now = getPlacement(operand.get());
    if (!now || !now.isPartial())
      continue;
    if (!anyPartial) {
      passed.assign(now.getPartialAxes().begin(), now.getPartialAxes().end());
      if (reduced.empty())
        kind = now.getPartialKind();
      auto found = partialCauses.find(operand.get());
      passedCause = found == partialCauses.end() ? kNone : found->second;
    }
    anyPartial = true;
    if (now.getPartialKind() == kind &&
        now.getPartialAxes() == ArrayRef(passed)) {
      isPassed[operand.getOperandNumber()] = true;
      partialBytes += getBytes(operand.get().getType());
    }
  }
  for (Value result : op->getResults())
    if (isa<RankedTensorType>(result.getType()))
      resultBytes += getBytes(result.getType());
  if (anyPartial) {
    auto iface = dyn_cast<ShardingRuleOpInterface>(op);
    bool ok = iface && op->getNumResults() && !anyOverlap(passed, used) &&
              llvm::is_contained(isPassed, true) &&
              resultBytes <= partialBytes &&
              iface.getPartialResult(isPassed, kind) == PartialResult::Partial;
    if (!ok) {
      passed.clear();
      isPassed.assign(isPassed.size(), false);
      passedCause = kNone;
    }
  }
  SmallVector<AxisRefAttr, 4> partial(passed);
  partial.append(reduced.begin(), reduced.end());
  llvm::sort(partial, [](AxisRefAttr a, AxisRefAttr b) {
    return std::make_tuple(a.getName(), a.getPre()) <
           std::make_tuple(b.getName(), b.getPre());
  });
  layout.coalesce(partial);

  // Bring the operands into place.
  SmallVector<DimShardingAttr, 4> dims;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    if (!joinDims(rule, rule.operands[number], factors, dims))
      return op->emitOpError() << "cannot be sharded as its operands are";
    bool isInit = llvm::is_contained(rule.inits, number);
    ArrayRef<AxisRefAttr> wantedPartial;
    if (isInit && !partial.empty() && !isNeutral(value, kind))
      wantedPartial = partial;
    else if (isPassed[number])
      wantedPartial = passed;
    ShardingAttr wanted = place(dims, kind, wantedPartial);
    if (wantedPartial.empty())
      wanted = wanted.withoutPartial();
    ShardingAttr now = getPlacement(value);
    Value ready = getAs(value, wanted, op, [&]() -> std::string {
      unsigned cause = kNone;
      std::string text;
      if (now && now.isPartial() && !isPassed[number]) {
        auto found = partialCauses.find(value);
        cause = found == partialCauses.end() ? kNone : found->second;
        Operation *source = value.getDefiningOp();
        text = "completes the " +
               stringifyReductionKind(now.getPartialKind()).str() + " over " +
               print(now.getPartialAxes()) + " that " +
               (source ? nameOf(source) : "an argument") +
               " left pending, for " + nameOf(op);
      } else {
        SmallVector<AxisRefAttr> axes;
        for (DimShardingAttr dim : now ? now.getDims() : wanted.getDims())
          llvm::append_range(axes, dim.getAllAxes());
        for (auto [factor, sharding] : llvm::enumerate(factors))
          if (cause == kNone && sharding != layout.none() &&
              anyOverlap(axes, sharding.getAllAxes()))
            cause = causes[factor];
        text = "moves operand " + std::to_string(number) + " for " + nameOf(op);
        if (!used.empty())
          text += ", which is sharded over " + print(used);
      }
      std::string because = getCauseText(cause);
      return because.empty() ? text : because + ": " + text;
    });
    operand.set(ready);
  }
  replicateCaptures(op);

  // Where the results lie, and where they should.
  SmallVector<Attribute, 2> shardings;
  bool changed = false;
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), rule.results)) {
    if (!isa<RankedTensorType>(result.getType())) {
      shardings.push_back(UnitAttr::get(context));
      continue;
    }
    if (!joinDims(rule, tensor, factors, dims))
      return op->emitOpError() << "cannot be sharded as its results are";
    ShardingAttr natural = place(dims, kind, partial);
    if (partial.empty())
      natural = natural.withoutPartial();
    ShardingAttr target = getTarget(result);
    if (!target) // made where it is used, but not by a free op
      target = natural.withoutPartial();
    shardings.push_back(natural);
    if (natural == target)
      continue;
    changed = true;
    placements[result] = natural;
    if (natural.isPartial())
      partialCauses[result] =
          reducedCause != kNone ? reducedCause : passedCause;
    if (natural.withoutPartial() == target)
      continue; // pending: whoever needs it whole completes it
    OpBuilder builder(context);
    builder.setInsertionPointAfter(op);
    unsigned cause = natural.isPartial() ? partialCauses[result] : kNone;
    if (unsigned index = analysis.getIndex(result); cause == kNone)
      for (const auto &state : analysis.getDims(index))
        if (cause == kNone && state.sharding != layout.none())
          cause = state.cause;
    std::string text = natural.isPartial()
                           ? "completes the " +
                                 stringifyReductionKind(kind).str() + " over " +
                                 print(partial) + " of " + nameOf(op)
                           : "moves the result of " + nameOf(op);
    std::string because = getCauseText(cause);
    auto reshard = ReshardOp::create(
        builder, op->getLoc(), result.getType(), result, natural, target,
        builder.getStringAttr(because.empty() ? text : because + ": " + text));
    if (auto scope = op->getAttr(kScopeAttr))
      reshard->setAttr(kScopeAttr, scope);
    setShardings(reshard, target);
    placements[reshard] = target;
    versions[{result, target}] = reshard;
    result.replaceAllUsesExcept(reshard, reshard);
  }
  if (op->getNumResults() && (changed || !op->hasAttr(shardingsName)))
    setShardings(op, shardings);
  return success();
}

/// Tensors that the body of an op reads from outside are needed whole.
void Inserter::replicateCaptures(Operation *op) {
  if (op->getNumRegions() == 0)
    return;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *nested) {
      for (OpOperand &operand : nested->getOpOperands()) {
        Value value = operand.get();
        if (!isa<RankedTensorType>(value.getType()) ||
            op->isAncestor(value.getParentBlock()->getParentOp()))
          continue;
        operand.set(getAs(value, replicated(value), op, [&] {
          return "the body of " + nameOf(op) + " reads it at any index";
        }));
      }
    });
}

//===----------------------------------------------------------------------===//
// The user's word
//===----------------------------------------------------------------------===//

void Inserter::visitConstraint(ShardingConstraintOp constraint) {
  ShardingAttr wanted = getTarget(constraint.getResult());
  Value ready = getAs(constraint.getOperand(), wanted, constraint, [&] {
    return constraint.getCause() ? constraint.getCause()->str()
                                 : std::string("dist.sharding_constraint");
  });
  constraint.getResult().replaceAllUsesWith(ready);
  constraint.erase();
}

LogicalResult Inserter::visitSync(SyncOp sync) {
  Value operand = sync.getOperand();
  if (isFreeValue(operand))
    operand = makeFree(operand, replicated(operand));
  ShardingAttr now = getPlacement(operand);
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<AxisRefAttr> axes = getAxisRefs(sync.getAxes());
  StringRef kind = stringifySyncKind(sync.getKind());
  auto contradict = [&](const Twine &wanted) -> LogicalResult {
    InFlightDiagnostic error = sync.emitOpError()
                               << "'" << kind << "' over " << print(axes)
                               << " needs a value that is " << wanted.str()
                               << ", but here it is " << now;
    if (Operation *source = operand.getDefiningOp())
      error.attachNote(source->getLoc()) << "the value is made here";
    return error;
  };
  SmallVector<DimShardingAttr, 4> dims(now.getDims());
  SmallVector<AxisRefAttr, 2> partial(now.getPartialAxes());
  bool needsPartial = sync.getKind() == SyncKind::AllReduce ||
                      sync.getKind() == SyncKind::ReduceScatter;
  if (needsPartial) {
    layout.refine(partial, axes);
    SmallVector<AxisRefAttr> atoms(axes);
    layout.refine(atoms, partial);
    for (AxisRefAttr axis : atoms) {
      auto *found = llvm::find(partial, axis);
      if (found == partial.end())
        return contradict("partial over them");
      partial.erase(found);
    }
    layout.coalesce(partial);
  }
  if (sync.getKind() == SyncKind::AllGather ||
      sync.getKind() == SyncKind::AllToAll) {
    int64_t dim = *sync.getDim();
    SmallVector<Piece, 2> pieces =
        layout.pieces(dims[dim], type.getDimSize(dim));
    auto &list = pieces.back().axes;
    SmallVector<AxisRefAttr> atoms(axes);
    layout.refine(list, atoms);
    layout.refine(atoms, list);
    if (list.size() < atoms.size() ||
        ArrayRef(list).take_back(atoms.size()) != ArrayRef(atoms))
      return contradict("sharded over them on dimension " + Twine(dim));
    list.pop_back_n(atoms.size());
    dims[dim] = layout.canonical(pieces);
  }
  if (sync.getKind() != SyncKind::AllGather &&
      sync.getKind() != SyncKind::AllReduce) {
    int64_t dim = sync.getKind() == SyncKind::AllToAll ? *sync.getToDim()
                                                       : *sync.getDim();
    for (DimShardingAttr other : dims)
      if (anyOverlap(axes, other.getAllAxes()))
        return contradict("not sharded over them");
    if (sync.getKind() == SyncKind::Scatter && anyOverlap(axes, partial))
      return contradict("not partial over them");
    SmallVector<Piece, 2> pieces =
        layout.pieces(dims[dim], type.getDimSize(dim));
    pieces.back().axes.append(axes.begin(), axes.end());
    dims[dim] = layout.canonical(pieces);
  }
  ShardingAttr wanted = place(dims, now.getPartialKind(), partial);
  if (partial.empty())
    wanted = wanted.withoutPartial();
  Value ready = getAs(operand, wanted, sync, [&] {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "dist.sync " << stringifySyncMode(sync.getMode()) << " " << kind;
    if (sync.getDim())
      os << " dim " << *sync.getDim();
    os << " over " << print(axes);
    FileLineColLoc file;
    sync.getLoc()->walk([&](Location part) {
      file = dyn_cast<FileLineColLoc>(part);
      return file ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (file)
      os << " (" << file.getFilename().getValue() << ":" << file.getLine()
         << ")";
    return text;
  });
  sync.getResult().replaceAllUsesWith(ready);
  sync.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

LogicalResult Inserter::visitBranch(RegionBranchOpInterface branch) {
  RegionBranchSuccessorMapping mapping;
  branch.getSuccessorOperandInputMapping(mapping);
  // Operands in order, so that the result is the same every time.
  SmallVector<OpOperand *> operands;
  for (OpOperand &operand : branch->getOpOperands())
    operands.push_back(&operand);
  auto bring = [&](OpOperand &operand) {
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()))
      return;
    auto found = mapping.find(&operand);
    ShardingAttr wanted = replicated(value);
    if (found != mapping.end() && !found->second.empty() &&
        found->second.front().getType() == value.getType())
      if (ShardingAttr target = getTarget(found->second.front()))
        wanted = target;
    operand.set(getAs(value, wanted, operand.getOwner(),
                      [&] { return "enters " + nameOf(branch); }));
  };
  for (OpOperand *operand : operands)
    bring(*operand);
  for (Region &region : branch->getRegions())
    for (Block &block : region) {
      if (failed(visitBlock(block)))
        return failure();
      if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
        for (OpOperand &operand : block.back().getOpOperands())
          bring(operand);
    }
  return success();
}

LogicalResult Inserter::visitCall(CallOpInterface call) {
  auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
  for (auto [index, operand] : llvm::enumerate(call.getArgOperandsMutable())) {
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    ShardingAttr wanted = replicated(value);
    if (callee && !callee.isExternal())
      wanted = getTarget(callee.getArgument(index));
    operand.set(getAs(value, wanted, call,
                      [&] { return "is an argument of " + nameOf(call); }));
  }
  return success();
}

LogicalResult Inserter::visitReturn(Operation *op,
                                    FunctionOpInterface function) {
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    auto asked =
        function.getResultAttrOfType<ShardingAttr>(number, kShardingAttr);
    ShardingAttr wanted;
    if (asked) {
      SmallVector<DimShardingAttr, 4> dims;
      auto type = cast<RankedTensorType>(value.getType());
      ShardingAttr now = getPlacement(value);
      for (auto [dim, size] :
           llvm::zip_equal(asked.getDims(), type.getShape())) {
        DimShardingAttr fixed = layout.canonical(dim, size);
        // An open dimension may keep what it has.
        size_t index = dims.size();
        if (dim.getIsOpen() && now &&
            layout.isPrefix(fixed, now.getDims()[index]))
          fixed = now.getDims()[index];
        dims.push_back(fixed);
      }
      wanted = place(dims);
    } else {
      ShardingAttr now = getPlacement(value);
      wanted = now ? now.withoutPartial() : replicated(value);
    }
    operand.set(getAs(value, wanted, op, [&] {
      std::string name = "result " + std::to_string(number);
      if (auto given =
              function.getResultAttrOfType<StringAttr>(number, kOutputAttr))
        name = "output '" + given.str() + "'";
      return (asked ? "the sharding of " : "completes ") + name;
    }));
    function.setResultAttr(number, kShardingAttr, wanted);
  }
  return success();
}

LogicalResult Inserter::visitOp(Operation *op) {
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op)) {
    visitConstraint(constraint);
    return success();
  }
  if (auto sync = dyn_cast<SyncOp>(op))
    return visitSync(sync);
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    auto function = dyn_cast<FunctionOpInterface>(op->getParentOp());
    return function ? visitReturn(op, function) : success();
  }
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    return visitBranch(branch);
  if (auto call = dyn_cast<CallOpInterface>(op))
    return visitCall(call);
  if (op->getNumResults() == 1 && isFreeValue(op->getResult(0)))
    return success();
  bool hasTensors =
      llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) ||
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
  return hasTensors ? visitGeneral(op) : success();
}

LogicalResult Inserter::visitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(visitOp(&op)))
      return failure();
  return success();
}

LogicalResult Inserter::run(Operation *module) {
  SmallVector<Operation *> functions;
  for (Operation &op : module->getRegion(0).getOps())
    if (auto function = dyn_cast<FunctionOpInterface>(op);
        function && !function.isExternal())
      functions.push_back(function);
  for (Operation *op : functions) {
    auto function = cast<FunctionOpInterface>(op);
    if (!function.getFunctionBody().hasOneBlock())
      return op->emitOpError()
             << "has " << function.getFunctionBody().getBlocks().size()
             << " blocks; use scf for control flow";
    if (failed(visitBlock(function.getFunctionBody().front())))
      return failure();
    // What was only made for others is not needed itself.
    function.getFunctionBody().walk<WalkOrder::PostOrder, ReverseIterator>(
        [&](Operation *nested) {
          if (nested->use_empty() && nested->getNumResults() == 1 &&
              isFreeValue(nested->getResult(0)))
            nested->erase();
        });
  }
  return success();
}

namespace mlir::dist {
#define GEN_PASS_DEF_INSERTRESHARDSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct InsertReshardsPass
    : mlir::dist::impl::InsertReshardsPassBase<InsertReshardsPass> {
  void runOnOperation() override {
    auto &analysis = getAnalysis<PlacementAnalysis>();
    if (failed(analysis.getStatus()))
      return signalPassFailure();
    if (!analysis.getLayout())
      return;
    if (failed(Inserter(analysis).run(getOperation())))
      signalPassFailure();
  }
};
} // namespace
