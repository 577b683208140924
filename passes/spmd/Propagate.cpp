//===- Propagate.cpp - Spreads the user's placements over the program -----===//
//
// Works in rounds. In a round every node that a change has reached looks at the
// state the round began with and proposes; then the proposals are applied. So
// the result depends on the distance from the user's word and on nothing else:
// not on the order of ops, nor on the number of devices. Cheap nodes (that move
// data or work elementwise) go first, then contractions, then the rest.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Passes.h"
#include "passes/spmd/ReshardInserter.h"

using namespace mlir;
using namespace mlir::dist;

/// A fixed order of shardings, for ties.
static bool isLess(DimShardingAttr a, DimShardingAttr b) {
  SmallVector<AxisRefAttr> left = a.getAllAxes(), right = b.getAllAxes();
  return std::lexicographical_compare(
      left.begin(), left.end(), right.begin(), right.end(),
      [](AxisRefAttr x, AxisRefAttr y) {
        return std::make_tuple(x.getName(), x.getPre(), x.getSize()) <
               std::make_tuple(y.getName(), y.getPre(), y.getSize());
      });
}

namespace {
/// What the tensors of a node say about one factor.
struct FactorState {
  DimShardingAttr sharding;
  /// Bytes that stay where they are if the factor keeps this sharding, and
  /// whether the user fixed one of them.
  int64_t score = 0;
  bool isPinned = false;
  unsigned cause = PlacementAnalysis::kNone;
  unsigned round = ~0u;
};
} // namespace

void PlacementAnalysis::visit(unsigned index,
                              SmallVectorImpl<Proposal> &proposals) {
  const Node &node = nodes[index];
  const ShardingRule &rule = *node.rule;
  ArrayRef<unsigned> tensors = getLinks(node);
  auto tensorRule = [&](size_t i) -> const TensorRule & {
    return i < rule.operands.size() ? rule.operands[i]
                                    : rule.results[i - rule.operands.size()];
  };
  DimShardingAttr none = layout->none();

  // Collect.
  SmallVector<FactorState, 8> factors(rule.factors.size());
  bool any = false;
  for (auto [i, value] : llvm::enumerate(tensors)) {
    if (value == kNone)
      continue;
    const TensorRule &tensor = tensorRule(i);
    ArrayRef<DimState> states = getDims(value);
    for (auto [dim, list] : llvm::enumerate(tensor.dims)) {
      const DimState &state = states[dim];
      if (state.sharding == none || list.empty())
        continue;
      DimShardingAttr spoken = getSpoken(value, dim);
      if (spoken == none)
        continue;
      SmallVector<DimShardingAttr, 2> parts{spoken};
      if (list.size() > 1) {
        SmallVector<int64_t, 2> sizes;
        for (unsigned factor : list)
          sizes.push_back(rule.factors[factor].size);
        layout->split(spoken, sizes, parts);
      }
      int64_t bytes = getTensorBytes(values[value].getType());
      for (auto [factor, part] : llvm::zip_equal(list, parts)) {
        const Factor &known = rule.factors[factor];
        if (part == none || known.kind == FactorKind::Replicated ||
            (known.evenOnly && !layout->isEven(part, known.size)))
          continue;
        any = true;
        FactorState &have = factors[factor];
        bool better;
        if (!have.sharding || have.sharding == part) {
          better = !have.sharding || state.round < have.round;
          have.sharding = part;
          have.score += bytes;
          have.isPinned |= pinned[value];
        } else if (layout->isPrefix(have.sharding, part)) {
          better = true;
          have.sharding = part;
          have.score += bytes;
          have.isPinned |= pinned[value];
        } else if (layout->isPrefix(part, have.sharding)) {
          better = false;
          have.score += bytes;
          have.isPinned |= pinned[value];
        } else {
          bool isPinnedHere = pinned[value];
          better = std::make_tuple(isPinnedHere, bytes,
                                   isLess(part, have.sharding)) >
                   std::make_tuple(have.isPinned, have.score, false);
          if (better) {
            have.sharding = part;
            have.score = bytes;
            have.isPinned = isPinnedHere;
          }
        }
        if (better) {
          have.cause = state.cause;
          have.round = state.round;
        }
      }
    }
  }
  if (!any)
    return;

  // An axis shards one factor of an op: the one that keeps more bytes in place.
  SmallVector<unsigned, 8> order;
  for (auto [factor, state] : llvm::enumerate(factors))
    if (state.sharding)
      order.push_back(factor);
  if (order.size() > 1) {
    int64_t resultBytes = 0;
    for (Value result : node.op->getResults())
      if (isa<RankedTensorType>(result.getType()))
        resultBytes += getTensorBytes(result.getType());
    for (unsigned factor : order)
      if (rule.factors[factor].kind == FactorKind::Reduction)
        factors[factor].score -= resultBytes;
    llvm::stable_sort(order, [&](unsigned a, unsigned b) {
      return std::make_tuple(factors[a].isPinned, factors[a].score) >
             std::make_tuple(factors[b].isPinned, factors[b].score);
    });
    SmallVector<AxisRefAttr, 4> taken;
    for (unsigned factor : order) {
      SmallVector<AxisRefAttr> axes = factors[factor].sharding.getAllAxes();
      if (anyOverlap(axes, taken)) {
        // What comes before the first contested axis may stay.
        SmallVector<AxisRefAttr, 2> kept;
        if (factors[factor].sharding.getSubDims().size() == 1)
          for (AxisRefAttr axis : axes) {
            if (anyOverlap(axis, taken))
              break;
            kept.push_back(axis);
          }
        if (kept.empty()) {
          factors[factor].sharding = {};
          continue;
        }
        factors[factor].sharding =
            DimShardingAttr::get(layout->getContext(), kept);
        axes.assign(kept.begin(), kept.end());
      }
      taken.append(axes.begin(), axes.end());
    }
  }

  // Propose.
  for (auto [i, value] : llvm::enumerate(tensors)) {
    if (value == kNone)
      continue;
    const TensorRule &tensor = tensorRule(i);
    ArrayRef<DimState> states = getDims(value);
    for (auto [dim, list] : llvm::enumerate(tensor.dims)) {
      DimShardingAttr wanted = none;
      unsigned best = kNone;
      if (list.size() == 1) {
        if (factors[list[0]].sharding) {
          wanted = factors[list[0]].sharding;
          best = list[0];
        }
      } else if (!list.empty()) {
        SmallVector<DimShardingAttr, 2> parts;
        SmallVector<int64_t, 2> sizes;
        for (unsigned factor : list) {
          DimShardingAttr part = factors[factor].sharding;
          parts.push_back(part ? part : none);
          sizes.push_back(rule.factors[factor].size);
          if (part && best == kNone)
            best = factor;
        }
        wanted = layout->join(parts, sizes);
      }
      if (!wanted || wanted == none || best == kNone)
        continue;
      const DimState &state = states[dim];
      if (state.isClosed || wanted == state.sharding ||
          !layout->isPrefix(state.sharding, wanted))
        continue;
      proposals.push_back({value, static_cast<unsigned>(dim), wanted,
                           factors[best].cause, index, factors[best].isPinned,
                           factors[best].score});
    }
  }
}

void PlacementAnalysis::visitSync(unsigned index,
                                  SmallVectorImpl<Proposal> &proposals) {
  auto sync = cast<SyncOp>(nodes[index].op);
  ArrayRef<unsigned> tensors = getLinks(nodes[index]);
  unsigned from = tensors[0], to = tensors[1];
  if (from == kNone || to == kNone)
    return;
  DimShardingAttr none = layout->none();
  SmallVector<AxisRefAttr> axes = getAxisRefs(sync.getAxes());
  auto type = cast<RankedTensorType>(sync.getOperand().getType());
  // On dimension d, the operand's axes are the result's with `axes` appended on
  // one side or the other.
  std::optional<int64_t> operandHas, resultHas;
  switch (sync.getKind()) {
  case SyncKind::AllGather:
    operandHas = sync.getDim();
    break;
  case SyncKind::ReduceScatter:
  case SyncKind::Scatter:
    resultHas = sync.getDim();
    break;
  case SyncKind::AllToAll:
    operandHas = sync.getDim();
    resultHas = sync.getToDim();
    break;
  case SyncKind::AllReduce:
    break;
  }
  auto propose = [&](unsigned value, int64_t dim, DimShardingAttr wanted,
                     unsigned cause) {
    const DimState &state = getDims(value)[dim];
    if (wanted == none || state.isClosed || wanted == state.sharding ||
        !layout->isPrefix(state.sharding, wanted))
      return;
    proposals.push_back({value, static_cast<unsigned>(dim), wanted, cause,
                         index, false, getTensorBytes(type)});
  };
  auto withAxes = [&](DimShardingAttr dim, int64_t size) {
    if (anyOverlap(dim.getAllAxes(), axes))
      return none; // contradicts: said where reshards are inserted
    DimShardingAttr appended = layout->append(dim, size, axes);
    return appended ? appended : none;
  };
  auto withoutAxes = [&](DimShardingAttr dim, int64_t size) {
    SmallVector<Piece, 2> pieces = layout->pieces(dim, size);
    auto &list = pieces.back().axes;
    layout->refine(list, axes);
    SmallVector<AxisRefAttr> tail(axes);
    layout->refine(tail, list);
    if (list.size() < tail.size() ||
        ArrayRef(list).take_back(tail.size()) != ArrayRef(tail))
      return none;
    list.pop_back_n(tail.size());
    return layout->canonical(pieces);
  };
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t size = type.getDimSize(dim);
    const DimState before = getDims(from)[dim], after = getDims(to)[dim];
    if (operandHas == dim) {
      propose(to, dim, withoutAxes(before.sharding, size), before.cause);
      if (after.sharding != none)
        propose(from, dim, withAxes(after.sharding, size), after.cause);
    } else if (resultHas == dim) {
      if (before.sharding != none)
        propose(to, dim, withAxes(before.sharding, size), before.cause);
      propose(from, dim, withoutAxes(after.sharding, size), after.cause);
    } else {
      propose(to, dim, before.sharding, before.cause);
      propose(from, dim, after.sharding, after.cause);
    }
  }
}

/// Whether `value` can hold `sharding` on `dim` beside what it has on the
/// others.
bool PlacementAnalysis::fits(unsigned value, unsigned dim,
                             DimShardingAttr sharding) const {
  SmallVector<AxisRefAttr> axes = sharding.getAllAxes();
  for (auto [other, state] : llvm::enumerate(getDims(value)))
    if (other != dim && state.sharding != layout->none() &&
        anyOverlap(axes, state.sharding.getAllAxes()))
      return false;
  return true;
}

void PlacementAnalysis::enqueueUsers(unsigned value) {
  for (unsigned i = firstUse[value]; i < firstUse[value + 1]; ++i) {
    unsigned node = uses[i];
    if (isPending[node])
      continue;
    isPending[node] = true;
    pending[nodes[node].level].push_back(node);
  }
}

void PlacementAnalysis::apply(SmallVectorImpl<Proposal> &proposals,
                              unsigned round) {
  // The better proposals for a value first; ties by dimension and axes.
  llvm::sort(proposals, [](const Proposal &a, const Proposal &b) {
    if (a.value != b.value)
      return a.value < b.value;
    if (a.isPinned != b.isPinned)
      return a.isPinned;
    if (a.score != b.score)
      return a.score > b.score;
    if (a.dim != b.dim)
      return a.dim < b.dim;
    if (a.sharding != b.sharding)
      return isLess(a.sharding, b.sharding);
    return a.node < b.node;
  });
  for (const Proposal &proposal : proposals) {
    DimState &state = getDims(proposal.value)[proposal.dim];
    if (state.sharding == proposal.sharding ||
        !layout->isPrefix(state.sharding, proposal.sharding) ||
        !fits(proposal.value, proposal.dim, proposal.sharding)) {
      if (remembersLosers &&
          !layout->isPrefix(proposal.sharding, state.sharding)) {
        auto &lost = losers[{proposal.value, proposal.dim}];
        if (llvm::none_of(lost, [&](const Proposal &other) {
              return other.sharding == proposal.sharding &&
                     other.cause == proposal.cause;
            }))
          lost.push_back(proposal);
      }
      continue;
    }
    state.sharding = proposal.sharding;
    state.cause = proposal.cause;
    state.node = proposal.node;
    state.round = round;
    enqueueUsers(proposal.value);
  }
  proposals.clear();
}

void PlacementAnalysis::propagate() {
  settled.clear();
  // Syncs place their results wherever they are.
  SmallVector<Proposal, 16> proposals;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    auto sync = dyn_cast<SyncOp>(node.op);
    unsigned to = sync ? getLinks(node)[1] : kNone;
    if (to == kNone)
      continue;
    causes.push_back(sync.getCause()
                         ? sync.getCause()->str()
                         : "dist.sync " +
                               stringifySyncMode(sync.getMode()).str() + " " +
                               stringifySyncKind(sync.getKind()).str());
    std::optional<int64_t> dim =
        sync.getKind() == SyncKind::AllToAll ? sync.getToDim() : sync.getDim();
    if (!dim || sync.getKind() == SyncKind::AllGather)
      continue;
    DimState &state = getDims(to)[*dim];
    int64_t size =
        cast<RankedTensorType>(values[to].getType()).getDimSize(*dim);
    Piece piece{size, {}};
    for (AxisRefAttr axis : getAxisRefs(sync.getAxes()))
      piece.axes.push_back(axis);
    DimShardingAttr sharding = layout->canonical(piece);
    if (state.sharding == layout->none() && fits(to, *dim, sharding)) {
      state.sharding = sharding;
      state.cause = causes.size() - 1;
    }
  }
  for (unsigned value = 0, e = values.size(); value < e; ++value)
    if (llvm::any_of(getDims(value), [&](const DimState &state) {
          return state.sharding != layout->none();
        }))
      enqueueUsers(value);

  unsigned round = 0;
  std::vector<unsigned> frontier;
  while (true) {
    auto *next = llvm::find_if(pending, [](const std::vector<unsigned> &list) {
      return !list.empty();
    });
    if (next == std::end(pending))
      break;
    frontier.clear();
    frontier.swap(*next);
    ++round;
    for (unsigned node : frontier)
      isPending[node] = false;
    for (unsigned node : frontier) {
      if (isa<SyncOp>(nodes[node].op))
        visitSync(node, proposals);
      else
        visit(node, proposals);
    }
    apply(proposals, round);
  }
  settled.resize(values.size());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace mlir::dist {
#define GEN_PASS_DEF_PROPAGATEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct PropagatePass : mlir::dist::impl::PropagatePassBase<PropagatePass> {
  using PropagatePassBase::PropagatePassBase;

  /// Says which ops every device will compute in full.
  LogicalResult reportUnruled(const PlacementAnalysis &analysis) {
    for (Operation *op : analysis.getUnruledOps()) {
      if (strict) {
        op->emitError() << "'" << op->getName()
                        << "' has no sharding rule (its dialect can implement "
                        << "ShardingRuleOpInterface), and replication is not "
                        << "allowed here";
        return failure();
      }
      op->emitWarning() << "'" << op->getName()
                        << "' has no sharding rule: it runs replicated";
    }
    return success();
  }

  void runOnOperation() override {
    auto &analysis = getAnalysis<PlacementAnalysis>();
    if (failed(analysis.getStatus()))
      return signalPassFailure();
    markAnalysesPreserved<PlacementAnalysis>();
    if (!analysis.getLayout())
      return;
    if (failed(reportUnruled(analysis)))
      return signalPassFailure();
    analysis.propagate();
    writePlacements(getOperation(), analysis);
  }

  static void writePlacements(Operation *module, PlacementAnalysis &analysis) {
    MLIRContext *context = module->getContext();
    auto name = StringAttr::get(context, kShardingsAttr);
    auto unit = UnitAttr::get(context);
    SmallVector<Attribute, 2> shardings;
    module->walk([&](Operation *op) {
      if (auto function = dyn_cast<FunctionOpInterface>(op)) {
        // One attribute holds those of all arguments: it is built once.
        SmallVector<DictionaryAttr> attrs;
        function.getAllArgAttrs(attrs);
        attrs.resize(function.getNumArguments(), DictionaryAttr::get(context));
        for (BlockArgument argument : function.getArguments())
          if (unsigned value = analysis.getIndex(argument);
              value != PlacementAnalysis::kNone) {
            DictionaryAttr &dict = attrs[argument.getArgNumber()];
            NamedAttrList list(dict ? dict : DictionaryAttr::get(context));
            list.set(kShardingAttr, analysis.getSharding(value));
            if (auto axes = analysis.getStoredAxes(value); !axes.empty())
              list.set(kStoredAttr,
                       ArrayAttr::get(context, SmallVector<Attribute>(
                                                   axes.begin(), axes.end())));
            dict = list.getDictionary(context);
          }
        function.setAllArgAttrs(attrs);
        return;
      }
      shardings.clear();
      bool any = false;
      for (Value result : op->getResults()) {
        unsigned value = analysis.getIndex(result);
        any |= value != PlacementAnalysis::kNone;
        shardings.push_back(value == PlacementAnalysis::kNone
                                ? Attribute(unit)
                                : analysis.getSharding(value));
      }
      if (any)
        op->setDiscardableAttr(name, ArrayAttr::get(context, shardings));
    });
  }
};
} // namespace
