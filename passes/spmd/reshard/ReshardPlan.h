//===- ReshardPlan.h - The cheapest collectives -----------------*- C++ -*-===//
//
// A reshard is a shortest path. States are placements; edges are collectives,
// weighted with their time on a machine's links. Plans are found once for each
// pair of placements and type.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_RESHARD_RESHARDPLAN_H
#define DIST_PASSES_SPMD_RESHARD_RESHARDPLAN_H

#include "dialects/dist/Interfaces/Placement.h"
#include "passes/cost/CostModel.h"
#include <memory>

namespace mlir::dist {

/// One step of a reshard. Dimensions are those of the tensor; `pieceFrom` and
/// `pieceTo` number the sub-dimensions concerned.
struct ReshardStep {
  enum class Kind {
    AllSlice,      ///< `axes` appended to (dimTo, pieceTo)
    AllGather,     ///< `axes` removed from the end of (dimFrom, pieceFrom)
    AllToAll,      ///< `axes` moved from the end of one to the end of another
    AllReduce,     ///< `axes` no longer partial
    ReduceScatter, ///< `axes` no longer partial, appended to (dimTo, pieceTo)
    CollectivePermute, ///< the axes of (dimFrom, pieceFrom) become `toAxes`
    MakePartial,       ///< all but the first device of `axes` hold the neutral
                       ///< element
  };
  Kind kind = Kind::AllSlice;
  SmallVector<AxisRefAttr, 2> axes;
  SmallVector<AxisRefAttr, 2> toAxes;
  int64_t dimFrom = -1, pieceFrom = -1, dimTo = -1, pieceTo = -1;
  /// Every sub-dimension after the step: the placement of the tensor then.
  SmallVector<SmallVector<Piece, 2>, 4> after;
  /// Bytes that a device sends.
  int64_t bytes = 0;
  /// The time of the step, in ns.
  int64_t cost = 0;
};

using ReshardPlan = SmallVector<ReshardStep, 3>;

/// The sub-dimensions of every dimension, cut where either placement cuts them,
/// over axes that are cut in the same way.
struct ReshardProblem {
  SmallVector<SmallVector<Piece, 2>, 4> from, to;
  ReductionKind kind = ReductionKind::Sum;
  SmallVector<AxisRefAttr, 2> partialFrom, partialTo;
  /// Set if the two sides have no common view: a placement that has a common
  /// view with both. There are three reasons. The borders of their
  /// sub-dimensions, or of parts of an axis, do not nest. An axis with uneven
  /// blocks is cut. Or the kinds of pending reductions differ.
  ShardingAttr waypoint;

  /// Whether the two are equal.
  bool isSolved() const;
};

ReshardProblem getReshardProblem(const MeshLayout &layout,
                                 RankedTensorType type, ShardingAttr from,
                                 ShardingAttr to);

/// The steps between two placements that have a common view.
struct ReshardLeg {
  ReshardProblem problem;
  ReshardPlan steps;
};
struct ReshardRoute {
  SmallVector<ReshardLeg, 1> legs;
  /// False if there were too many axes to try all ways.
  bool isCheapest = true;
};

class ReshardPlanner {
public:
  ReshardPlanner(const ReshardPlanner &) = delete;
  /// On an unknown machine, each collective takes 20 us plus its bytes at 1
  /// GB/s. So small tensors take few collectives, and large ones few bytes.
  explicit ReshardPlanner(const MeshLayout &layout,
                          Machine machine = Machine::getUnknown())
      : layout(layout), machine(std::move(machine)),
        model(this->machine, layout.getAxes()) {}

  /// The cheapest way between two placements of a tensor of type `type`; null
  /// if there is no way. Cached.
  const ReshardRoute *get(RankedTensorType type, ShardingAttr from,
                          ShardingAttr to);

  /// The time of that way, in ns: 0 if nothing is sent, -1 if there is no way.
  int64_t getCost(RankedTensorType type, ShardingAttr from, ShardingAttr to);

private:
  bool addLegs(RankedTensorType type, ShardingAttr from, ShardingAttr to,
               ReshardRoute &route) const;

  const MeshLayout &layout;
  Machine machine;
  CostModel model;
  using Key = std::tuple<Type, Attribute, Attribute>;
  llvm::DenseMap<Key, std::unique_ptr<ReshardRoute>> routes;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_RESHARD_RESHARDPLAN_H
