//===- ReshardPlan.h - The cheapest collectives between placements -*- C++
//-*-===//
//
// A reshard is a shortest path: states are placements, edges are collectives
// with the bytes they send. Plans are found once for each pair of placements
// and type.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_RESHARDPLAN_H
#define DIST_PASSES_SPMD_RESHARDPLAN_H

#include "dialects/dist/Interfaces/Placement.h"

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
  Kind kind;
  SmallVector<AxisRefAttr, 2> axes;
  SmallVector<AxisRefAttr, 2> toAxes;
  int64_t dimFrom = -1, pieceFrom = -1, dimTo = -1, pieceTo = -1;
  /// Every sub-dimension after the step: how the tensor then lies.
  SmallVector<SmallVector<Piece, 2>, 4> after;
  /// Bytes that a device sends.
  int64_t bytes = 0;
};

using ReshardPlan = SmallVector<ReshardStep, 3>;

/// Sub-dimensions of every dimension, cut where either placement cuts them.
struct ReshardProblem {
  SmallVector<SmallVector<Piece, 2>, 4> from, to;
  ReductionKind kind = ReductionKind::Sum;
  SmallVector<AxisRefAttr, 2> partialFrom, partialTo;
  /// One side has uneven blocks over an axis that the other has only a part of.
  bool cutsUneven = false;
};

class ReshardPlanner {
public:
  explicit ReshardPlanner(const MeshLayout &layout) : layout(layout) {}

  /// The cheapest plan from one placement to another of a tensor of type
  /// `type`. Fails where the two have no common view (the borders of their
  /// sub-dimensions do not nest, or the kinds of their pending reductions
  /// differ): then go by getWaypoint().
  FailureOr<const ReshardPlan *> get(RankedTensorType type, ShardingAttr from,
                                     ShardingAttr to);

  /// Bytes that the plan sends; 0 where nothing need be sent.
  int64_t getBytes(RankedTensorType type, ShardingAttr from, ShardingAttr to);

  /// A placement from which a plan exists to both.
  ShardingAttr getWaypoint(RankedTensorType type, ShardingAttr from,
                           ShardingAttr to) const;

  /// The sub-dimensions that a plan between the two speaks of.
  ReshardProblem getProblem(RankedTensorType type, ShardingAttr from,
                            ShardingAttr to) const;

private:
  const MeshLayout &layout;
  using Key = std::tuple<Type, Attribute, Attribute>;
  llvm::DenseMap<Key, FailureOr<ReshardPlan>> plans;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_RESHARDPLAN_H
