//===- Propagation.cpp - Spreads placements over the graph ----------------===//
//
// Works in rounds. In a round, every node that a change has reached looks at
// the state at the beginning of the round and proposes shardings. Then the
// proposals are applied. So the result depends only on the distance from the
// annotations: neither on the order of ops, nor on the number of devices.
//
// Cheap nodes (that move data or work elementwise) go first, then contractions,
// then the rest, then operands that cheap nodes only add to a larger tensor
// (masks, biases). Backward comes last, in the same way, and follows the
// placements found so far.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/propagate/Propagation.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "llvm/ADT/SmallBitVector.h"

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
  /// Bytes that stay in place if the factor keeps this sharding, and whether
  /// the user fixed one of them; and bytes of a value that the op reads. The
  /// op's own result can be moved or reduced to its target.
  int64_t score = 0;
  bool isPinned = false, isReadPinned = false;
  unsigned cause = PlacementGraph::kNone;
  unsigned round = ~0u;
};
} // namespace

namespace {
class Propagation {
public:
  Propagation(const PlacementGraph &graph, const MeshLayout &layout,
              Placements &placements, LostProposals *lost)
      : graph(graph), layout(layout), placements(placements), lost(lost),
        isPending(graph.getNodes().size(), false),
        isDeferred(graph.getNodes().size(), false) {}

  void run();

private:
  static constexpr unsigned kNone = PlacementGraph::kNone;
  using DimState = Placements::DimState;
  using Node = PlacementGraph::Node;

  /// Whether the node may say where the value is.
  bool mayPlace(const Node &node, unsigned value) const {
    return node.level < PlacementGraph::kFollows || graph.isBackward(value);
  }
  /// Nodes wait in two lists a level, the second for what they defer.
  static constexpr unsigned kLists = 2 * PlacementGraph::kLevels;
  static unsigned getList(const Node &node) { return 2 * node.level; }
  /// What nodes defer comes after the contractions and the rest.
  static unsigned getDeferredList(const Node &node) {
    bool isBackward = node.level >= PlacementGraph::kBackward;
    return 2 * ((isBackward ? PlacementGraph::kBackward : 0) + 2) + 1;
  }
  static bool isCheap(const Node &node) {
    return node.level == 0 || node.level == PlacementGraph::kBackward;
  }
  bool isMinor(const Node &node, size_t operand) const;
  bool isPulled(const Node &node, size_t operand, unsigned factor) const;
  void defer(unsigned node);
  /// `isWhole`: what minor operands say counts, too.
  void visit(unsigned node, bool isWhole, SmallVectorImpl<Proposal> &proposals);
  void visitSync(unsigned node, SmallVectorImpl<Proposal> &proposals);
  void apply(SmallVectorImpl<Proposal> &proposals, unsigned round);
  void enqueueUsers(unsigned value);

  const PlacementGraph &graph;
  const MeshLayout &layout;
  Placements &placements;
  LostProposals *lost;
  /// Nodes to visit next, by list.
  std::vector<unsigned> pending[kLists];
  std::vector<bool> isPending, isDeferred;
};
} // namespace

/// Whether another operand of the node has all its loops and more, so that it
/// is repeated along these. The sharding of a mask tells little about the
/// scores that it is added to, and moving it costs less. An operand that the
/// user fixed is not minor.
bool Propagation::isMinor(const Node &node, size_t operand) const {
  ArrayRef<TensorRule> operands = node.rule->operands;
  ArrayRef<unsigned> tensors = graph.getLinks(node);
  if (operand >= operands.size() || operands.size() < 2 ||
      placements.isPinned(tensors[operand]) ||
      placements.isSplitParameter(tensors[operand]) ||
      llvm::any_of(placements.getDims(tensors[operand]),
                   [&](const DimState &state) {
                     return state.sharding != layout.none() && state.round == 0;
                   }))
    return false;
  auto getLoops = [&](size_t number) {
    llvm::SmallBitVector loops(node.rule->factors.size());
    for (const auto &dim : operands[number].dims)
      for (unsigned factor : dim)
        loops.set(factor);
    return loops;
  };
  llvm::SmallBitVector own = getLoops(operand);
  for (size_t other = 0; other < operands.size(); ++other)
    if (other != operand && tensors[other] != kNone) {
      llvm::SmallBitVector loops = getLoops(other);
      if (loops.count() > own.count() && !own.test(loops))
        return true;
    }
  return false;
}

/// Whether a factor that a contraction sums over is propagated to an operand
/// from the other one only, which is not a parameter. Values tell less about
/// the placement of attention's weights than queries do, which reach them
/// through a softmax.
bool Propagation::isPulled(const Node &node, size_t operand,
                           unsigned factor) const {
  return !isCheap(node) && operand < node.rule->operands.size() &&
         node.rule->factors[factor].kind == FactorKind::Reduction &&
         llvm::none_of(
             llvm::enumerate(graph.getLinks(node)),
             [&](auto entry) {
               auto [other, value] = entry;
               return other < node.rule->operands.size() && other != operand &&
                      value != kNone &&
                      (placements.isSplitParameter(value) ||
                       placements.isPinned(value));
             });
}

void Propagation::defer(unsigned node) {
  if (isDeferred[node])
    return;
  isDeferred[node] = true;
  pending[getDeferredList(graph.getNodes()[node])].push_back(node);
}

void Propagation::visit(unsigned index, bool isWhole,
                        SmallVectorImpl<Proposal> &proposals) {
  const Node &node = graph.getNodes()[index];
  const ShardingRule &rule = *node.rule;
  ArrayRef<unsigned> tensors = graph.getLinks(node);
  auto tensorRule = [&](size_t i) -> const TensorRule & {
    return i < rule.operands.size() ? rule.operands[i]
                                    : rule.results[i - rule.operands.size()];
  };
  DimShardingAttr none = layout.none();
  bool follows = isa<FollowOp>(node.op);

  // Collect.
  SmallVector<FactorState, 8> factors(rule.factors.size());
  bool any = false;
  for (auto [i, value] : llvm::enumerate(tensors)) {
    if (value == kNone)
      continue;
    const TensorRule &tensor = tensorRule(i);
    ArrayRef<DimState> states = placements.getDims(value);
    if (!isWhole && isCheap(node) &&
        llvm::any_of(
            states,
            [&](const DimState &state) { return state.sharding != none; }) &&
        isMinor(node, i)) {
      defer(index);
      continue;
    }
    for (auto [dim, list] : llvm::enumerate(tensor.dims)) {
      const DimState &state = states[dim];
      if (state.sharding == none || list.empty())
        continue;
      // What follows a parameter is stored as it is.
      DimShardingAttr said =
          follows ? state.sharding : placements.getShardingForUse(value, dim);
      if (said == none)
        continue;
      int64_t bytes = getTensorBytes(graph.getType(value));
      bool isRead = i < rule.operands.size();
      bool isPinnedHere = placements.isPinned(value) ||
                          (isRead && placements.isSplitParameter(value));
      auto pin = [&](FactorState &factor) {
        factor.isPinned |= isPinnedHere;
        factor.isReadPinned |= isPinnedHere && isRead;
      };
      for (auto [factor, part] :
           llvm::zip_equal(list, rule.splitDim(layout, list, said))) {
        const Factor &known = rule.factors[factor];
        if (part == none || known.kind == FactorKind::Replicated ||
            !known.accepts(layout, part))
          continue;
        any = true;
        FactorState &have = factors[factor];
        bool better;
        if (!have.sharding || have.sharding == part) {
          better = !have.sharding || state.round < have.round;
          have.sharding = part;
          have.score += bytes;
          pin(have);
        } else if (layout.isPrefix(have.sharding, part)) {
          better = true;
          have.sharding = part;
          have.score += bytes;
          pin(have);
        } else if (layout.isPrefix(part, have.sharding)) {
          better = false;
          have.score += bytes;
          pin(have);
        } else {
          better = std::make_tuple(isPinnedHere, bytes,
                                   isLess(part, have.sharding)) >
                   std::make_tuple(have.isPinned, have.score, false);
          if (better) {
            have.sharding = part;
            have.score = bytes;
            have.isPinned = have.isReadPinned = false;
            pin(have);
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
      auto rank = [](const FactorState &factor) {
        return std::make_tuple(factor.isReadPinned, factor.isPinned,
                               factor.score);
      };
      return rank(factors[a]) > rank(factors[b]);
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
            DimShardingAttr::get(layout.getContext(), kept);
        axes.assign(kept.begin(), kept.end());
      }
      taken.append(axes.begin(), axes.end());
    }
  }

  // Propose.
  for (auto [i, value] : llvm::enumerate(tensors)) {
    if (value == kNone || (follows && i == 0) || !mayPlace(node, value))
      continue;
    const TensorRule &tensor = tensorRule(i);
    ArrayRef<DimState> states = placements.getDims(value);
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
        wanted = layout.join(parts, sizes);
      }
      if (!wanted || wanted == none || best == kNone)
        continue;
      const DimState &state = states[dim];
      if (state.isClosed || wanted == state.sharding ||
          !layout.isPrefix(state.sharding, wanted))
        continue;
      if (!isWhole && isPulled(node, i, best)) {
        defer(index);
        continue;
      }
      proposals.push_back({value, static_cast<unsigned>(dim), wanted,
                           factors[best].cause, index, factors[best].isPinned,
                           factors[best].score});
    }
  }
}

void Propagation::visitSync(unsigned index,
                            SmallVectorImpl<Proposal> &proposals) {
  auto sync = cast<SyncOp>(graph.getNodes()[index].op);
  ArrayRef<unsigned> tensors = graph.getLinks(graph.getNodes()[index]);
  unsigned from = tensors[0], to = tensors[1];
  if (from == kNone || to == kNone)
    return;
  DimShardingAttr none = layout.none();
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
  case SyncKind::Halo:
  case SyncKind::Function: // of directives alone
    break;
  }
  if (sync.getMode() == SyncMode::BwdPost) // nothing happens to the value
    operandHas = resultHas = std::nullopt;
  auto propose = [&](unsigned value, int64_t dim, DimShardingAttr wanted,
                     unsigned cause) {
    const DimState &state = placements.getDims(value)[dim];
    if (!mayPlace(graph.getNodes()[index], value))
      return;
    if (wanted == none || state.isClosed || wanted == state.sharding ||
        !layout.isPrefix(state.sharding, wanted))
      return;
    proposals.push_back({value, static_cast<unsigned>(dim), wanted, cause,
                         index, false, getTensorBytes(type)});
  };
  auto withAxes = [&](DimShardingAttr dim, int64_t size) {
    if (anyOverlap(dim.getAllAxes(), axes))
      return none; // contradicts: said where reshards are inserted
    DimShardingAttr appended = layout.append(dim, size, axes, sync.getGroups());
    return appended ? appended : none;
  };
  auto withoutAxes = [&](DimShardingAttr dim, int64_t size) {
    SmallVector<Piece, 2> pieces = layout.pieces(dim, size);
    auto &list = pieces.back().axes;
    layout.refine(list, axes);
    SmallVector<AxisRefAttr> tail(axes);
    layout.refine(tail, list);
    if (list.size() < tail.size() ||
        ArrayRef(list).take_back(tail.size()) != ArrayRef(tail))
      return none;
    list.pop_back_n(tail.size());
    return layout.canonical(pieces);
  };
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t size = type.getDimSize(dim);
    const DimState before = placements.getDims(from)[dim],
                   after = placements.getDims(to)[dim];
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

void Propagation::enqueueUsers(unsigned value) {
  for (unsigned node : graph.getUses(value)) {
    if (isPending[node])
      continue;
    isPending[node] = true;
    pending[getList(graph.getNodes()[node])].push_back(node);
  }
}

void Propagation::apply(SmallVectorImpl<Proposal> &proposals, unsigned round) {
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
    DimState &state = placements.getDims(proposal.value)[proposal.dim];
    if (state.sharding == proposal.sharding ||
        !layout.isPrefix(state.sharding, proposal.sharding) ||
        !placements.fits(proposal.value, proposal.dim, proposal.sharding)) {
      if (lost && !layout.isPrefix(proposal.sharding, state.sharding)) {
        auto &others = (*lost)[{proposal.value, proposal.dim}];
        if (llvm::none_of(others, [&](const Proposal &other) {
              return other.sharding == proposal.sharding &&
                     other.cause == proposal.cause;
            }))
          others.push_back(proposal);
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

void Propagation::run() {
  placements.reopen();
  SmallVector<Proposal, 16> proposals;
  for (unsigned value = 0, e = graph.getValues().size(); value < e; ++value)
    if (llvm::any_of(placements.getDims(value), [&](const DimState &state) {
          return state.sharding != layout.none();
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
    bool isWhole = (next - std::begin(pending)) % 2 == 1;
    ++round;
    for (unsigned node : frontier)
      (isWhole ? isDeferred : isPending)[node] = false;
    for (unsigned node : frontier) {
      if (isa<SyncOp>(graph.getNodes()[node].op))
        visitSync(node, proposals);
      else
        visit(node, isWhole, proposals);
    }
    apply(proposals, round);
  }
  placements.finalize();
}

void mlir::dist::propagate(const PlacementGraph &graph,
                           const MeshLayout &layout, Placements &placements,
                           LostProposals *lost) {
  Propagation(graph, layout, placements, lost).run();
}
