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

#include "passes/spmd/graph/Placements.h"

namespace mlir::dist {

/// Bytes sent, in the limit of many devices, so that choices do not depend on
/// their number where it divides the dimensions of `type`; else the padding is
/// sent, too. Gathers and scatters send the tensor of `bytes` once, reductions
/// twice, a moved axis next to nothing, and slices nothing.
int64_t getMoveCost(const MeshLayout &layout, RankedTensorType type,
                    int64_t bytes, ArrayRef<DimShardingAttr> from,
                    ArrayRef<AxisRefAttr> partial,
                    ArrayRef<DimShardingAttr> to);

class PlacedValues {
public:
  static constexpr unsigned kNone = PlacementGraph::kNone;

  PlacedValues(const PlacedValues &) = delete;
  PlacedValues(const PlacementGraph &graph, const Placements &targets,
               const MeshLayout &layout)
      : graph(graph), targets(targets), layout(layout),
        context(layout.getContext()),
        shardingsName(StringAttr::get(context, kShardingsAttr)),
        placements(graph.getValues().size()) {}
  ~PlacedValues() {
    for (Operation *op : erased)
      op->destroy();
  }

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
  /// Whether it is a parameter that is stored sharded, and gathered where it is
  /// used.
  bool isStored(Value value) const {
    unsigned index = graph.getIndex(value);
    return index != kNone && !targets.getStoredAxes(index).empty();
  }
  void setPlacement(Value value, ShardingAttr sharding) {
    unsigned index = graph.getIndex(value);
    (index == kNone ? newPlacements[value] : placements[index]) = sharding;
  }
  /// Records the placements of all results of an op, and writes them on it.
  void setShardings(Operation *op, ArrayRef<Attribute> shardings) {
    op->setDiscardableAttr(shardingsName, ArrayAttr::get(context, shardings));
  }
  bool hasShardings(Operation *op) const {
    return op->getDiscardableAttr(shardingsName) != nullptr;
  }

  /// Whether completing the reduction pending in `from` is all that leads to
  /// `to`.
  bool isScattered(ShardingAttr from, ShardingAttr to) const;

  ShardingAttr place(ArrayRef<DimShardingAttr> dims,
                     ReductionKind kind = ReductionKind::Sum,
                     ArrayRef<AxisRefAttr> partial = {}) const;
  ShardingAttr replicated(Value value) const {
    return ShardingAttr::getReplicated(
        layout.getName(), cast<RankedTensorType>(value.getType()).getRank());
  }

  /// The cost for backward of resharding a value to `dims`. Reshards may have
  /// made copies of it.
  int64_t getCostFromCopies(Value value, int64_t bytes,
                            ArrayRef<DimShardingAttr> dims) const;

  //===--- Reshards -----------------------------------------------------===//

  /// `value`, placed as `wanted`, for `user`: itself, or a reshard of it.
  Value getAs(Value value, ShardingAttr wanted, Operation *user,
              function_ref<std::string()> cause);
  /// A free value, created as `wanted`.
  Value makeFree(Value value, ShardingAttr wanted);
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
  /// Whether the collective that leads there is prescribed, too.
  bool isCollectiveAskedFor(Value value) const {
    return isAskedFor(value) && !followed.contains(value);
  }

  /// Removes an op without users. Its memory stays as long as this object:
  /// values are known by their address, so no other value may get the same one.
  void erase(Operation *op) {
    op->remove();
    op->dropAllReferences();
    erased.push_back(op);
  }

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

  const PlacementGraph &graph;
  const Placements &targets;
  const MeshLayout &layout;
  MLIRContext *context;
  StringAttr shardingsName;
  /// Placements that differ from the targets, by number of the value, and
  /// placements of values that the graph does not know.
  std::vector<ShardingAttr> placements;
  llvm::DenseMap<Value, ShardingAttr> newPlacements;
  llvm::DenseMap<Value, unsigned> pendingCauses;
  /// Free values created so far.
  llvm::DenseMap<std::pair<Value, Attribute>, Value> versions;
  /// Reshards of a value so far: the next reshard starts from the nearest one.
  llvm::DenseMap<Value, SmallVector<Value, 2>> copies;
  llvm::SmallDenseSet<Value> synced, followed, constrained;
  SmallVector<Operation *> erased;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_PLACEDVALUES_H
