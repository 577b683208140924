//===- ReshardPlan.cpp - Shortest paths between placements ----------------===//
//
// Dijkstra's algorithm over placements. Axes are cut into atoms, the parts that
// either placement names, so that a move is always of whole atoms; other axes
// are left alone. First every move but a gather must bring some sub-dimension
// closer to the goal; where atoms are few, all moves follow, as far as they may
// still be cheaper. So the work depends on the number of axes, not of devices.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/reshard/ReshardPlan.h"
#include "passes/bounds/Bounds.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>
#include <queue>

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
using Axes = SmallVector<AxisRefAttr, 2>;

struct State {
  SmallVector<Axes, 6> lists; // one a sub-dimension
  Axes partial;
};

class Search {
public:
  Search(const MeshLayout &layout, const CostModel &model,
         const ReshardProblem &problem, int64_t elementBytes)
      : layout(layout), model(model), elementBytes(elementBytes) {
    auto note = [&](ArrayRef<AxisRefAttr> axes) {
      for (AxisRefAttr axis : axes)
        if (!llvm::is_contained(atoms, axis))
          atoms.push_back(axis);
    };
    for (auto [dim, pieces] : llvm::enumerate(problem.from))
      for (auto [index, piece] : llvm::enumerate(pieces)) {
        places.push_back({static_cast<int64_t>(dim),
                          static_cast<int64_t>(index), piece.size, piece.size});
        start.lists.push_back(piece.axes);
        goal.lists.push_back(problem.to[dim][index].axes);
        note(start.lists.back());
        note(goal.lists.back());
      }
    rank = problem.from.size();
    start.partial.assign(problem.partialFrom.begin(),
                         problem.partialFrom.end());
    goal.partial.assign(problem.partialTo.begin(), problem.partialTo.end());
    sortAxes(start.partial);
    sortAxes(goal.partial);
    note(start.partial);
    note(goal.partial);
    // A size that is not known is divided by whatever shards it.
    for (Place &place : places)
      if (ShapedType::isDynamic(place.size))
        place.size = kAssumedSize * layout.size(atoms);
  }

  ReshardPlan run();
  /// Whether the plan found is the cheapest of all, not only of those in which
  /// every move but a gather leads towards the goal.
  bool isExhaustive() const { return !isCut; }

private:
  struct Place {
    int64_t dim, piece;
    int64_t size;     ///< that costs count with
    int64_t realSize; ///< may be unknown
  };
  struct Node {
    State state;
    int64_t cost;
    unsigned steps;
    int parent;
    ReshardStep step;
    bool done = false;
  };

  static void sortAxes(Axes &axes) {
    llvm::sort(axes, [](AxisRefAttr a, AxisRefAttr b) {
      return std::make_tuple(a.getName(), a.getPre()) <
             std::make_tuple(b.getName(), b.getPre());
    });
  }
  std::string key(const State &state) const;
  int64_t extent(int64_t size, ArrayRef<AxisRefAttr> axes) const {
    for (AxisRefAttr axis : axes)
      size = llvm::divideCeil(size, layout.size(axis));
    return size;
  }
  int64_t localBytes(const State &state) const {
    int64_t bytes = elementBytes;
    for (auto [place, list] : llvm::zip_equal(places, state.lists))
      bytes *= extent(place.size, list);
    return bytes;
  }
  /// Whether blocks over `axes` at once are those cut axis by axis: inner
  /// levels must divide evenly, or there is padding between the blocks.
  bool isOneCut(int64_t size, ArrayRef<AxisRefAttr> axes) const {
    if (axes.empty())
      return true;
    size = llvm::divideCeil(size, layout.size(axes.front()));
    for (AxisRefAttr axis : axes.drop_front()) {
      if (size % layout.size(axis) != 0)
        return false;
      size /= layout.size(axis);
    }
    return true;
  }
  /// Whether two lists of axes cut a sub-dimension into the same blocks.
  bool cutAlike(int64_t size, ArrayRef<AxisRefAttr> a,
                ArrayRef<AxisRefAttr> b) const {
    bool sameLevels = llvm::equal(a, b, [&](AxisRefAttr x, AxisRefAttr y) {
      return layout.size(x) == layout.size(y);
    });
    return sameLevels || (layout.size(a) == layout.size(b) &&
                          isOneCut(size, a) && isOneCut(size, b));
  }
  bool isFree(const State &state, AxisRefAttr axis) const {
    if (llvm::is_contained(state.partial, axis))
      return false;
    return llvm::none_of(state.lists, [&](const Axes &list) {
      return llvm::is_contained(list, axis);
    });
  }
  /// The axes that the goal wants next on list `index`; empty where what it
  /// holds now is not how the goal begins.
  ArrayRef<AxisRefAttr> wanted(const State &state, size_t index) const {
    ArrayRef<AxisRefAttr> to = goal.lists[index];
    ArrayRef<AxisRefAttr> now = state.lists[index];
    if (now.size() >= to.size() || to.take_front(now.size()) != now)
      return {};
    return to.drop_front(now.size());
  }

  int findGoal();
  int64_t getNanoseconds(const ReshardStep &step) const;
  void add(int from, State state, ReshardStep step);
  void addMovesOfPending(int index);
  void addMovesOfLists(int index);
  void addPermutes(int index);
  /// Orders of axes, all of `from`, that may be appended to list `to`: in the
  /// directed search those that the goal wants there.
  void forEachOrder(const State &state, size_t to, ArrayRef<AxisRefAttr> from,
                    function_ref<void(ArrayRef<AxisRefAttr>)> visit) const;

  const MeshLayout &layout;
  const CostModel &model;
  int64_t elementBytes;
  size_t rank;
  SmallVector<Place, 6> places;
  State start, goal;
  Axes atoms;
  /// Whether moves need not lead to the goal, and what they may cost together.
  bool isDirected = true;
  bool isCut = false;
  int64_t bound = INT64_MAX;
  std::vector<Node> nodes;
  llvm::StringMap<int> known;
  using Entry = std::tuple<int64_t, unsigned, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
};
} // namespace

std::string Search::key(const State &state) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto write = [&](ArrayRef<AxisRefAttr> axes) {
    for (AxisRefAttr axis : axes)
      os << axis.getAsOpaquePointer() << ",";
    os << ";";
  };
  for (const Axes &list : state.lists)
    write(list);
  write(state.partial);
  return text;
}

int64_t Search::getNanoseconds(const ReshardStep &step) const {
  using Kind = ReshardStep::Kind;
  using Traffic = CostModel::Traffic;
  auto get = [&](Traffic traffic, ArrayRef<AxisRefAttr> axes) -> int64_t {
    return std::llround(1e9 * model.getSeconds(traffic, axes, step.bytes));
  };
  switch (step.kind) {
  case Kind::AllSlice:
  case Kind::MakePartial:
    return 0;
  case Kind::AllGather:
  case Kind::ReduceScatter:
    return get(Traffic::Ring, step.axes);
  case Kind::AllReduce:
    return get(Traffic::AllReduce, step.axes);
  case Kind::AllToAll:
    return get(Traffic::Exchange, step.axes);
  case Kind::CollectivePermute: {
    // Whatever axes it is over, devices send one message.
    SmallVector<AxisRefAttr> axes(ArrayRef(step.axes));
    for (AxisRefAttr axis : step.toAxes)
      if (!llvm::is_contained(axes, axis))
        axes.push_back(axis);
    return get(Traffic::Message, axes);
  }
  }
  llvm_unreachable("all kinds of steps are handled");
}

void Search::add(int from, State state, ReshardStep step) {
  sortAxes(state.partial);
  step.cost = getNanoseconds(step);
  int64_t cost = step.cost;
  unsigned steps = 1;
  if (from >= 0) {
    cost += nodes[from].cost;
    steps += nodes[from].steps;
  }
  if (cost > bound)
    return;
  auto [entry, inserted] = known.try_emplace(key(state), nodes.size());
  if (!inserted) {
    Node &old = nodes[entry->second];
    if (old.done || std::tie(old.cost, old.steps) <= std::tie(cost, steps))
      return;
    old.cost = cost;
    old.steps = steps;
    old.parent = from;
    old.step = std::move(step);
  } else {
    nodes.push_back({std::move(state), cost, steps, from, std::move(step)});
  }
  queue.push({cost, steps, entry->second});
}

static ReshardStep makeStep(ReshardStep::Kind kind, ArrayRef<AxisRefAttr> axes,
                            int64_t sent) {
  ReshardStep out;
  out.kind = kind;
  out.axes.assign(axes.begin(), axes.end());
  out.bytes = sent;
  return out;
}

void Search::forEachOrder(
    const State &state, size_t to, ArrayRef<AxisRefAttr> from,
    function_ref<void(ArrayRef<AxisRefAttr>)> visit) const {
  if (isDirected) {
    ArrayRef<AxisRefAttr> next = wanted(state, to);
    for (size_t count = 1; count <= next.size(); ++count)
      if (llvm::is_contained(from, next[count - 1]))
        visit(next.take_front(count));
      else
        return;
    return;
  }
  // All sequences of some of the axes.
  Axes order;
  auto extend = [&](auto &&self) -> void {
    for (AxisRefAttr axis : from) {
      if (llvm::is_contained(order, axis))
        continue;
      order.push_back(axis);
      visit(order);
      self(self);
      order.pop_back();
    }
  };
  extend(extend);
}

/// A pending reduction: reduce all of it, or scatter it as the target needs.
void Search::addMovesOfPending(int index) {
  using Kind = ReshardStep::Kind;
  const State state = nodes[index].state;
  int64_t bytes = localBytes(state);
  Axes pending;
  for (AxisRefAttr axis : state.partial)
    if (!llvm::is_contained(goal.partial, axis))
      pending.push_back(axis);
  auto without = [&](ArrayRef<AxisRefAttr> group) {
    State next = state;
    llvm::erase_if(next.partial,
                   [&](AxisRefAttr a) { return llvm::is_contained(group, a); });
    return next;
  };
  // Some axes may be scattered and the rest reduced, so every subset counts.
  for (unsigned subset = 1;
       subset < (1u << std::min<size_t>(pending.size(), 4)); ++subset) {
    Axes group;
    for (auto [i, axis] : llvm::enumerate(pending))
      if (i >= 4 || (subset >> i & 1))
        group.push_back(axis);
    int64_t p = layout.size(group);
    add(index, without(group),
        makeStep(Kind::AllReduce, group, 2 * (p - 1) * bytes / p));
  }
  for (size_t to = 0; to < places.size(); ++to) {
    int64_t block = extent(places[to].size, state.lists[to]);
    forEachOrder(state, to, pending, [&](ArrayRef<AxisRefAttr> group) {
      if (!isOneCut(block, group))
        return;
      State after = without(group);
      after.lists[to].append(group.begin(), group.end());
      ReshardStep out = makeStep(Kind::ReduceScatter, group,
                                 (layout.size(group) - 1) * localBytes(after));
      out.dimTo = places[to].dim;
      out.pieceTo = places[to].piece;
      add(index, std::move(after), std::move(out));
    });
  }
  for (AxisRefAttr axis : goal.partial)
    if (isFree(state, axis)) {
      State next = state;
      next.partial.push_back(axis);
      add(index, std::move(next), makeStep(Kind::MakePartial, axis, 0));
    }
}

void Search::addMovesOfLists(int index) {
  using Kind = ReshardStep::Kind;
  const State state = nodes[index].state;
  int64_t bytes = localBytes(state);
  Axes free;
  for (AxisRefAttr axis : atoms)
    if (isFree(state, axis))
      free.push_back(axis);
  for (size_t to = 0; to < places.size(); ++to) {
    int64_t block = extent(places[to].size, state.lists[to]);
    forEachOrder(state, to, free, [&](ArrayRef<AxisRefAttr> group) {
      if (!isOneCut(block, group))
        return;
      State after = state;
      after.lists[to].append(group.begin(), group.end());
      ReshardStep out = makeStep(Kind::AllSlice, group, 0);
      out.dimTo = places[to].dim;
      out.pieceTo = places[to].piece;
      add(index, std::move(after), std::move(out));
    });
  }
  for (size_t from = 0; from < places.size(); ++from) {
    const Axes &list = state.lists[from];
    for (size_t count = 1; count <= list.size(); ++count) {
      ArrayRef<AxisRefAttr> group = ArrayRef(list).take_back(count);
      ArrayRef<AxisRefAttr> kept = ArrayRef(list).drop_back(count);
      if (!isOneCut(extent(places[from].size, kept), group))
        continue;
      int64_t p = layout.size(group);
      State next = state;
      next.lists[from].pop_back_n(count);
      ReshardStep gather = makeStep(Kind::AllGather, group, (p - 1) * bytes);
      gather.dimFrom = places[from].dim;
      gather.pieceFrom = places[from].piece;
      add(index, next, std::move(gather));
      for (size_t to = 0; to < places.size(); ++to) {
        int64_t block = extent(places[to].size, next.lists[to]);
        if (to == from || !isOneCut(block, group) ||
            (isDirected && wanted(next, to).take_front(count) != group))
          continue;
        State moved = next;
        moved.lists[to].append(group.begin(), group.end());
        // The blocks that are sent have their final size on `to`.
        int64_t padded = bytes / std::max<int64_t>(block, 1) *
                         extent(places[to].size, moved.lists[to]) * p;
        ReshardStep out = makeStep(Kind::AllToAll, group, (p - 1) * padded / p);
        out.dimFrom = places[from].dim;
        out.pieceFrom = places[from].piece;
        out.dimTo = places[to].dim;
        out.pieceTo = places[to].piece;
        add(index, std::move(moved), std::move(out));
      }
    }
  }
}

/// Device orders: lists that make the same blocks, over other axes.
void Search::addPermutes(int index) {
  const State state = nodes[index].state;
  int64_t bytes = localBytes(state);
  auto addTo = [&](const State &permuted) {
    ReshardStep permute =
        makeStep(ReshardStep::Kind::CollectivePermute, {}, bytes);
    for (size_t list = 0; list < places.size(); ++list) {
      ArrayRef<AxisRefAttr> from = state.lists[list];
      ArrayRef<AxisRefAttr> to = permuted.lists[list];
      while (!from.empty() && !to.empty() && from.front() == to.front()) {
        from = from.drop_front();
        to = to.drop_front();
      }
      permute.axes.append(from.begin(), from.end());
      permute.toAxes.append(to.begin(), to.end());
    }
    if (!permute.axes.empty() &&
        llvm::all_of(permute.toAxes, [&](AxisRefAttr a) {
          return isFree(state, a) || llvm::is_contained(permute.axes, a);
        }))
      add(index, permuted, std::move(permute));
  };
  if (isDirected) {
    // All lists at once whose number of blocks is right already.
    State permuted = state;
    for (size_t list = 0; list < places.size(); ++list)
      if (cutAlike(places[list].size, state.lists[list], goal.lists[list]))
        permuted.lists[list] = goal.lists[list];
    addTo(permuted);
    return;
  }
  // Every way to fill the lists that may change.
  State permuted = state;
  for (Axes &list : permuted.lists)
    list.clear();
  auto fill = [&](auto &&self, size_t list) -> void {
    if (list == places.size())
      return addTo(permuted);
    int64_t missing =
        layout.size(state.lists[list]) / layout.size(permuted.lists[list]);
    if (missing == 1) {
      if (cutAlike(places[list].size, state.lists[list], permuted.lists[list]))
        self(self, list + 1);
      return;
    }
    for (AxisRefAttr axis : atoms) {
      if (missing % layout.size(axis) != 0 || !isFree(permuted, axis))
        continue;
      permuted.lists[list].push_back(axis);
      self(self, list);
      permuted.lists[list].pop_back();
    }
  };
  fill(fill, 0);
}

int Search::findGoal() {
  nodes.clear();
  known.clear();
  queue = {};
  add(-1, start, ReshardStep());
  std::string end = key(goal);
  while (!queue.empty()) {
    auto [cost, steps, index] = queue.top();
    queue.pop();
    if (nodes[index].done || nodes[index].cost != cost ||
        nodes[index].steps != steps)
      continue;
    nodes[index].done = true;
    if (key(nodes[index].state) == end)
      return index;
    addMovesOfPending(index);
    addMovesOfLists(index);
    addPermutes(index);
  }
  return -1;
}

ReshardPlan Search::run() {
  int found = findGoal();
  // Slices alone cannot be bettered.
  if (found >= 0 && nodes[found].cost > 0) {
    isCut = atoms.size() > kFewAtoms;
    if (!isCut) {
      isDirected = false;
      bound = nodes[found].cost;
      found = findGoal();
    }
  }
  ReshardPlan plan;
  for (int node = found; node >= 0 && nodes[node].parent >= 0;
       node = nodes[node].parent) {
    ReshardStep step = nodes[node].step;
    step.after.resize(rank);
    for (auto [place, list] : llvm::zip_equal(places, nodes[node].state.lists))
      step.after[place.dim].push_back({place.realSize, list});
    plan.push_back(std::move(step));
  }
  return ReshardPlan(llvm::reverse(plan));
}

//===----------------------------------------------------------------------===//
// The planner
//===----------------------------------------------------------------------===//

bool ReshardPlanner::addLegs(RankedTensorType type, ShardingAttr from,
                             ShardingAttr to, ReshardRoute &route) const {
  ReshardProblem problem = getReshardProblem(layout, type, from, to);
  if (ShardingAttr waypoint = problem.waypoint)
    return waypoint != from && waypoint != to &&
           addLegs(type, from, waypoint, route) &&
           addLegs(type, waypoint, to, route);
  Search search(layout, model, problem, getElementBytes(type.getElementType()));
  ReshardPlan plan = search.run();
  route.isCheapest &= search.isExhaustive();
  if (plan.empty() && from != to && !problem.isSolved())
    return false;
  route.legs.push_back({std::move(problem), std::move(plan)});
  return true;
}

const ReshardRoute *ReshardPlanner::get(RankedTensorType type,
                                        ShardingAttr from, ShardingAttr to) {
  auto [entry, isNew] = routes.try_emplace(Key{type, from, to});
  if (isNew) {
    ReshardRoute route;
    if (addLegs(type, from, to, route))
      entry->second = std::make_unique<ReshardRoute>(std::move(route));
  }
  return entry->second.get();
}

int64_t ReshardPlanner::getCost(RankedTensorType type, ShardingAttr from,
                                ShardingAttr to) {
  const ReshardRoute *route = get(type, from, to);
  if (!route)
    return -1;
  int64_t cost = 0;
  for (const ReshardLeg &leg : route->legs)
    for (const ReshardStep &step : leg.steps)
      cost += step.cost;
  return cost;
}
