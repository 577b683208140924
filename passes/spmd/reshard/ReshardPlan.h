//===- ReshardPlan.h - The cheapest collectives -----------------*- C++ -*-===//
//
// A reshard is a shortest path: states are placements, edges are collectives
// with the time that a machine's links take for them. Plans are found once for
// each pair of placements and type.
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
  /// Every sub-dimension after the step: how the tensor is then placed.
  SmallVector<SmallVector<Piece, 2>, 4> after;
  /// Bytes that a device sends.
  int64_t bytes = 0;
  /// The time that takes, in ns.
  int64_t cost = 0;
};

using ReshardPlan = SmallVector<ReshardStep, 3>;

/// Sub-dimensions of every dimension, cut where either placement cuts them,
/// over axes that are cut alike.
struct ReshardProblem {
  SmallVector<SmallVector<Piece, 2>, 4> from, to;
  ReductionKind kind = ReductionKind::Sum;
  SmallVector<AxisRefAttr, 2> partialFrom, partialTo;
  /// Where the two sides have no common view (the borders of their
  /// sub-dimensions or of parts of an axis do not nest, an axis is cut over
  /// which blocks are uneven, the kinds of pending reductions differ): a
  /// placement from which both have one. Null else.
  ShardingAttr waypoint;

  /// Whether nothing is to be done.
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
  /// False where the axes concerned were too many to try all ways.
  bool isCheapest = true;
};

class ReshardPlanner {
public:
  ReshardPlanner(const ReshardPlanner &) = delete;
  /// Of a machine of which nothing is known each collective takes 20 us, and
  /// its bytes 1 GB/s: small tensors go by few collectives, large ones by few
  /// bytes.
  explicit ReshardPlanner(const MeshLayout &layout,
                          Machine machine = Machine::getUnknown())
      : layout(layout), machine(std::move(machine)),
        model(this->machine, layout.getAxes()) {}

  /// The cheapest way from one placement to another of a tensor of type `type`;
  /// null where there is none. Found once for each three.
  const ReshardRoute *get(RankedTensorType type, ShardingAttr from,
                          ShardingAttr to);

  /// What the way costs, in ns; 0 where nothing need be sent, -1 where there is
  /// none.
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
