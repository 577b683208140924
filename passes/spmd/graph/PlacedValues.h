//===- PlacedValues.h - Values while reshards are inserted ------*- C++ -*-===//
//
// The current placement of each value, pending reductions included, and the
// copies of it that reshards have made. Needs final placements: these say how
// values should be placed (their targets). Steps of --dist-insert-reshards
// record how ops place their results, and ask for the placements that they
// need.
//
// Invariants:
// - getPlacement of a visited op's results equals its attribute
//   `dist.shardings`.
// - all reshards of a value are among its copies, so none is made twice.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_PLACEDVALUES_H
#define DIST_PASSES_SPMD_GRAPH_PLACEDVALUES_H

#include "passes/spmd/graph/MoveCost.h"
#include "passes/spmd/graph/PlacedOps.h"
#include "passes/spmd/graph/Placements.h"

namespace mlir::dist {

class PlacedValues : public PlacedOps {
public:
  static constexpr unsigned kNone = PlacementGraph::kNone;

  PlacedValues(const PlacementGraph &graph, const Placements &targets,
               const MeshLayout &layout)
      : PlacedOps(layout), graph(graph), targets(targets),
        placements(graph.getValues().size()) {}

  //===--- Where values are ---------------------------------------------===//

  /// The current placement of a value; null for values that are created where
  /// they are used.
  ShardingAttr getPlacement(Value value) const;
  /// The placement of a value after its reduction is completed: its target, if
  /// a reduce_scatter leads there; else its current placement.
  ShardingAttr getCompleted(Value value) const;
  /// The same for an operand whose placement costs something to change. Null
  /// for values that are created where they are used, since they do not tie the
  /// ops that share them, unless a constraint places them.
  ShardingAttr getTyingPlacement(Value value) const {
    return isa<RankedTensorType>(value.getType()) &&
                   (!isFreeValue(value) || constrained.contains(value))
               ? getCompleted(value)
               : ShardingAttr();
  }
  /// The placement that propagation found; null for values that it does not
  /// know.
  ShardingAttr getTarget(Value value) const;
  bool isBackward(Operation *op) const { return graph.isBackward(op); }
  /// Whether `op` should ignore `user`, since one is backward and the other is
  /// not. Copies concern both.
  bool isOfOtherPass(Operation *user, Operation *op) const {
    return !isa<ReshardOp>(user) && isBackward(user) != isBackward(op);
  }
  void setPlacement(Value value, ShardingAttr sharding) {
    unsigned index = graph.getIndex(value);
    (index == kNone ? newPlacements[value] : placements[index]) = sharding;
  }
  /// Whether completing the reduction pending in `from` is all that leads to
  /// `to`.
  bool isScattered(ShardingAttr from, ShardingAttr to) const;

  /// The cost for backward of resharding a value to `dims`. Reshards may have
  /// made copies of it.
  int64_t getCostFromCopies(Value value, int64_t bytes,
                            ArrayRef<DimShardingAttr> dims) const;

  //===--- Reshards -----------------------------------------------------===//

  /// `value`, placed as `wanted`, for `user`: itself, or a reshard of it.
  Value getAs(Value value, ShardingAttr wanted, Operation *user,
              function_ref<std::string()> cause);
  Value makeReshard(OpBuilder &builder, Location loc, Value value,
                    ShardingAttr from, ShardingAttr to, StringRef cause,
                    Attribute scope);
  /// The source of a reshard that was in the program before becomes `now`.
  void adopt(ReshardOp reshard, ShardingAttr now);

  /// Results of syncs count as values of their own. A user of such a result
  /// uses it, and not the sync's operand.
  void setSynced(Value value) { synced.insert(value); }
  /// The same for a cotangent that goes back through a sync. Its placement is
  /// prescribed, but not the collective that leads there.
  void setFollowed(Value value) {
    if (!isAskedFor(value))
      followed.insert(value);
    setSynced(value);
  }
  /// The value is placed as a constraint asks.
  void setConstrained(Value value) { constrained.insert(value); }
  bool isAskedFor(Value value) const {
    return synced.contains(value) || constrained.contains(value);
  }
  /// Writes on ops which of their results are asked for (`dist.asked_for`).
  void writeAskedFor() const;

  //===--- Causes -------------------------------------------------------===//

  std::string getCauseText(unsigned cause) const {
    return cause < targets.getCauses().size() ? targets.getCauses()[cause]
                                              : std::string();
  }
  /// The cause of the pending reduction of a value.
  unsigned getPendingCause(Value value) const {
    auto found = pendingCauses.find(value);
    return found == pendingCauses.end() ? kNone : found->second;
  }
  void setPendingCause(Value value, unsigned cause) {
    pendingCauses[value] = cause;
  }

private:
  /// The value that a reshard is a copy of, through all reshards.
  Value getOriginal(Value value) const;
  /// The copy of a value from which the fewest bytes lead to `wanted`.
  Value getNearest(Value value, ShardingAttr wanted) const;

  void notePlacement(Value value, ShardingAttr sharding) override {
    setPlacement(value, sharding);
  }

  const PlacementGraph &graph;
  const Placements &targets;
  /// Placements that differ from the targets, by number of the value, and
  /// placements of values that the graph does not know.
  std::vector<ShardingAttr> placements;
  llvm::DenseMap<Value, ShardingAttr> newPlacements;
  llvm::DenseMap<Value, unsigned> pendingCauses;
  /// Reshards of a value so far: the next reshard starts from the nearest one.
  llvm::DenseMap<Value, SmallVector<Value, 2>> copies;
  llvm::SmallDenseSet<Value> synced, followed, constrained;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_PLACEDVALUES_H
