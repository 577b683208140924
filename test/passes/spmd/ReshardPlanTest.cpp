//===- ReshardPlanTest.cpp - Plans against exhaustive search --------------===//
//
// On small meshes, at sizes that they divide and that they do not, from every
// placement of a small and of a large tensor to every other, pending ones
// included: the planner's way must cost no more than the cheapest of all
// sequences of collectives over the axes that either names, found here by
// trying every collective in every state, towards the goal or not.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "passes/spmd/reshard/ReshardPlan.h"
#include <gtest/gtest.h>
#include <map>
#include <queue>
#include <set>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Axes by number, major to minor, of each of two dimensions; and a set of axes
/// over which the value is pending.
struct Place {
  std::vector<int> lists[2];
  std::set<int> pending;
  bool operator<(const Place &other) const {
    return std::tie(lists[0], lists[1], pending) <
           std::tie(other.lists[0], other.lists[1], other.pending);
  }
  bool isFree(int axis) const {
    return !pending.count(axis) && !llvm::is_contained(lists[0], axis) &&
           !llvm::is_contained(lists[1], axis);
  }
};

/// Of a collective, in ns, where nothing is known of the machine.
constexpr int64_t kLatency = 20'000;

class Exhaustive {
public:
  Exhaustive(std::vector<int64_t> sizes, ArrayRef<int64_t> shape)
      : sizes(std::move(sizes)), shape(shape) {}

  std::vector<Place> getPlaces(bool mayPend) const;
  /// The least cost from one placement to each that is pending over `owed`,
  /// by steps over some of the axes that complete nothing that is owed anyway.
  std::map<Place, int64_t> search(const Place &from, std::set<int> axes,
                                  std::set<int> owed);

private:
  int64_t count(const std::vector<int> &axes) const {
    int64_t out = 1;
    for (int axis : axes)
      out *= sizes[axis];
    return out;
  }
  /// Size of the blocks that a dimension is cut into, level by level.
  int64_t extent(int64_t size, const std::vector<int> &axes) const {
    for (int axis : axes)
      size = llvm::divideCeil(size, sizes[axis]);
    return size;
  }
  /// Bytes of a device's part, with its padding.
  int64_t bytes(const Place &place) const {
    return 8 * extent(shape[0], place.lists[0]) *
           extent(shape[1], place.lists[1]);
  }
  /// Whether cutting level by level makes the blocks that one cut over all axes
  /// makes: a collective over several axes at once sees blocks without padding
  /// between them.
  bool isOneCut(int64_t size, const std::vector<int> &axes) const {
    int64_t block = size, outer = 1;
    for (int axis : axes) {
      if (outer > 1 && block % sizes[axis] != 0)
        return false;
      block = llvm::divideCeil(block, sizes[axis]);
      outer *= sizes[axis];
    }
    return true;
  }
  /// Whether two lists of axes cut a dimension into the same blocks, so that
  /// devices need only exchange theirs.
  bool cutAlike(int64_t size, const std::vector<int> &a,
                const std::vector<int> &b) const {
    auto getSizes = [&](const std::vector<int> &axes) {
      std::vector<int64_t> out;
      for (int axis : axes)
        out.push_back(sizes[axis]);
      return out;
    };
    return getSizes(a) == getSizes(b) ||
           (count(a) == count(b) && isOneCut(size, a) && isOneCut(size, b));
  }
  template <typename Visit> void step(const Place &from, Visit visit) const;

  std::vector<int64_t> sizes;
  SmallVector<int64_t> shape;
  /// Axes that steps may use; those that the goal is pending over.
  std::set<int> allowed, owed;
};
} // namespace

std::vector<Place> Exhaustive::getPlaces(bool mayPend) const {
  // Every axis goes to a dimension, is pending, or is free; all orders.
  std::set<Place> done;
  std::vector<Place> out{Place()};
  done.insert(Place());
  for (size_t i = 0; i < out.size(); ++i) {
    for (int axis = 0; axis < int(sizes.size()); ++axis) {
      Place place = out[i];
      if (!place.isFree(axis))
        continue;
      for (int where = 0; where < (mayPend ? 3 : 2); ++where) {
        Place next = place;
        if (where == 2)
          next.pending.insert(axis);
        else
          next.lists[where].push_back(axis);
        if (done.insert(next).second)
          out.push_back(next);
      }
    }
  }
  return out;
}

template <typename Visit>
void Exhaustive::step(const Place &from, Visit visit) const {
  int64_t local = bytes(from);
  for (int dim = 0; dim < 2; ++dim) {
    const std::vector<int> &list = from.lists[dim];
    for (size_t kept = 0; kept < list.size(); ++kept) {
      std::vector<int> moved(list.begin() + kept, list.end());
      int64_t p = count(moved);
      Place next = from;
      next.lists[dim].resize(kept);
      if (!isOneCut(extent(shape[dim], next.lists[dim]), moved))
        continue;
      visit(next, (p - 1) * local); // all_gather
      std::vector<int> &other = next.lists[1 - dim];
      int64_t block = extent(shape[1 - dim], other);
      if (!isOneCut(block, moved))
        continue;
      other.insert(other.end(), moved.begin(), moved.end());
      // all_to_all: what is sent has its final size
      visit(next, (p - 1) * (local / std::max<int64_t>(block, 1)) *
                      extent(block, moved));
    }
    for (int axis = 0; axis < int(sizes.size()); ++axis) {
      Place next = from;
      next.lists[dim].push_back(axis);
      if (from.isFree(axis) && allowed.count(axis))
        visit(next, 0); // all_slice
    }
  }
  // A value that is the same along an axis becomes pending over it where all
  // but the first device replace theirs by zeros.
  for (int axis : owed)
    if (from.isFree(axis)) {
      Place next = from;
      next.pending.insert(axis);
      visit(next, 0);
    }
  // Any set of pending axes is reduced, or scattered in any order.
  std::vector<int> pending;
  llvm::copy_if(from.pending, std::back_inserter(pending),
                [&](int axis) { return !owed.count(axis); });
  for (unsigned subset = 1; subset < (1u << pending.size()); ++subset) {
    std::vector<int> group;
    Place next = from;
    for (size_t i = 0; i < pending.size(); ++i)
      if (subset >> i & 1) {
        group.push_back(pending[i]);
        next.pending.erase(pending[i]);
      }
    int64_t p = count(group);
    visit(next, 2 * (p - 1) * local / p); // all_reduce
    do {
      for (int dim = 0; dim < 2; ++dim) {
        if (!isOneCut(extent(shape[dim], next.lists[dim]), group))
          continue;
        Place scattered = next;
        scattered.lists[dim].insert(scattered.lists[dim].end(), group.begin(),
                                    group.end());
        visit(scattered, (p - 1) * bytes(scattered)); // reduce_scatter
      }
    } while (std::next_permutation(group.begin(), group.end()));
  }
  // collective_permute: the same blocks on every dimension, over other axes.
  for (const Place &next : getPlaces(false)) {
    Place to = next;
    to.pending = from.pending;
    bool fits = true;
    for (int dim = 0; dim < 2; ++dim) {
      fits &= cutAlike(shape[dim], to.lists[dim], from.lists[dim]);
      for (int axis : to.lists[dim])
        fits &= !from.pending.count(axis) && allowed.count(axis);
    }
    if (fits)
      visit(to, local);
  }
}

std::map<Place, int64_t> Exhaustive::search(const Place &from,
                                            std::set<int> axes,
                                            std::set<int> owedAtGoal) {
  allowed = std::move(axes);
  owed = std::move(owedAtGoal);
  std::map<Place, int64_t> best{{from, 0}};
  std::set<std::pair<int64_t, Place>> queue{{0, from}};
  while (!queue.empty()) {
    auto [cost, place] = *queue.begin();
    queue.erase(queue.begin());
    step(place, [&, cost = cost](const Place &next, int64_t sent) {
      int64_t sum = cost + (sent ? sent + kLatency : 0);
      auto [known, isNew] = best.try_emplace(next, sum);
      if (!isNew) {
        if (known->second <= sum)
          return;
        queue.erase({known->second, next});
        known->second = sum;
      }
      queue.insert({sum, next});
    });
  }
  return best;
}

namespace {
class Planner : public testing::TestWithParam<std::vector<int64_t>> {
protected:
  Planner() {
    context.loadDialect<DistDialect>();
    std::string text = "dist.mesh @m [";
    for (auto [i, size] : llvm::enumerate(GetParam()))
      text += (i ? ", \"" : "\"") + std::string(1, "xyz"[i]) +
              "\" = " + std::to_string(size);
    module = parseSourceString<ModuleOp>(text + "]", &context);
  }
  ShardingAttr toAttr(const MeshLayout &layout, RankedTensorType type,
                      const Place &place) {
    auto axis = [&](int number) {
      return AxisRefAttr::get(&context, std::string(1, "xyz"[number]), 1, 0);
    };
    SmallVector<DimShardingAttr> dims;
    for (int dim = 0; dim < 2; ++dim) {
      Piece piece{type.getDimSize(dim), {}};
      for (int number : place.lists[dim])
        piece.axes.push_back(axis(number));
      dims.push_back(layout.canonical(piece));
    }
    SmallVector<AxisRefAttr> pending;
    for (int number : place.pending)
      pending.push_back(axis(number));
    return ShardingAttr::get(&context, layout.getName(), dims,
                             ReductionKind::Sum, pending);
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

static std::set<int> getAxes(const Place &place) {
  std::set<int> axes(place.pending);
  for (const std::vector<int> &list : place.lists)
    axes.insert(list.begin(), list.end());
  return axes;
}

TEST_P(Planner, CostsNoMoreThanTheCheapestSequence) {
  MeshLayout layout(*module->getOps<MeshOp>().begin());
  unsigned pairs = 0, worse = 0;
  // Sizes that the meshes divide and that they do not; small and large.
  static constexpr int64_t kShapes[][2] = {
      {24, 24}, {2400, 2400}, {10, 7}, {2401, 2402}};
  for (ArrayRef<int64_t> shape : kShapes) {
    auto type = RankedTensorType::get(shape, Float64Type::get(&context));
    Exhaustive exhaustive(GetParam(), shape);
    ReshardPlanner planner(layout);
    for (const Place &from : exhaustive.getPlaces(true)) {
      ShardingAttr fromAttr = toAttr(layout, type, from);
      std::map<std::pair<std::set<int>, std::set<int>>,
               std::map<Place, int64_t>>
          best;
      for (const Place &to : exhaustive.getPlaces(true)) {
        ShardingAttr toPlace = toAttr(layout, type, to);
        std::set<int> axes = getAxes(from), more = getAxes(to);
        axes.insert(more.begin(), more.end());
        auto [known, isNew] = best.try_emplace({axes, to.pending});
        if (isNew)
          known->second = exhaustive.search(from, axes, to.pending);
        int64_t cost = planner.getCost(type, fromAttr, toPlace);
        int64_t least = known->second[to];
        ++pairs;
        std::string text;
        llvm::raw_string_ostream(text)
            << type << ": " << fromAttr << " to " << toPlace;
        if (cost != least && ++worse <= 20)
          ADD_FAILURE() << text << ": costs " << cost << ", could cost "
                        << least;
      }
    }
  }
  EXPECT_EQ(worse, 0u) << "of " << pairs;
  RecordProperty("pairs", static_cast<int>(pairs));
}

INSTANTIATE_TEST_SUITE_P(Meshes, Planner,
                         testing::Values(std::vector<int64_t>{4},
                                         std::vector<int64_t>{2, 2},
                                         std::vector<int64_t>{2, 3},
                                         std::vector<int64_t>{4, 2},
                                         std::vector<int64_t>{2, 2, 2},
                                         std::vector<int64_t>{3, 2, 2}));
