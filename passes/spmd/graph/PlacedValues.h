//===- PlacedValues.h - Values while reshards are inserted ------*- C++ -*-===//
//
// Where each value is placed at the moment, pending reductions included, and
// the copies of it that reshards have made. Needs final placements, which say
// where values are meant to be (their targets); steps of --dist-insert-reshards
// say where ops leave them, and ask for them as they need them.
//
// Invariants:
// - what getPlacement says of a visited op's results is what its attribute
//   `dist.shardings` says.
// - all reshards of a value are among its copies, so that none is made twice.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_PLACEDVALUES_H
#define DIST_PASSES_SPMD_GRAPH_PLACEDVALUES_H

#include "passes/spmd/graph/Placements.h"

namespace mlir::dist {

/// Bytes sent, in the limit of many devices: so that choices do not depend on
/// their number. Gathers and scatters send the tensor once, reductions twice, a
/// moved axis next to nothing, and slices nothing.
int64_t getMoveCost(const MeshLayout &layout, int64_t bytes,
                    ArrayRef<DimShardingAttr> from,
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

  /// Where a value is now; null for values that are made where they are used.
  ShardingAttr getPlacement(Value value) const;
  /// Where a value will be once its reduction is completed: where propagation
  /// wants it, if a reduce_scatter leads there; else as it is now.
  ShardingAttr getCompleted(Value value) const;
  /// The same for an operand whose placement costs something to change: what is
  /// made where it is used does not tie the ops that share it together, unless
  /// a constraint says where.
  ShardingAttr getTie(Value value) const {
    return isa<RankedTensorType>(value.getType()) &&
                   (!isFreeValue(value) || constrained.contains(value))
               ? getCompleted(value)
               : ShardingAttr();
  }
  /// Where propagation wants it; null for values that it does not know.
  ShardingAttr getTarget(Value value) const;
  bool isBackward(Operation *op) const { return graph.isBackward(op); }
  /// Whether what `user` makes of a value is no concern of `op`: one is
  /// backward, the other not. Copies concern both.
  bool isOfOtherPass(Operation *user, Operation *op) const {
    return !isa<ReshardOp>(user) && isBackward(user) != isBackward(op);
  }
  /// Whether it is a parameter that is only stored in parts, and is gathered
  /// where it is used.
  bool isStored(Value value) const {
    unsigned index = graph.getIndex(value);
    return index != kNone && !targets.getStoredAxes(index).empty();
  }
  void setPlacement(Value value, ShardingAttr sharding) {
    unsigned index = graph.getIndex(value);
    (index == kNone ? newPlacements[value] : placements[index]) = sharding;
  }
  /// Notes the placements of all results of an op, and writes them on it.
  void setShardings(Operation *op, ArrayRef<Attribute> shardings) {
    op->setDiscardableAttr(shardingsName, ArrayAttr::get(context, shardings));
  }
  bool hasShardings(Operation *op) const {
    return op->getDiscardableAttr(shardingsName) != nullptr;
  }

  /// Whether completing what is pending in `from` is all that leads to `to`.
  bool isScattered(ShardingAttr from, ShardingAttr to) const;

  ShardingAttr place(ArrayRef<DimShardingAttr> dims,
                     ReductionKind kind = ReductionKind::Sum,
                     ArrayRef<AxisRefAttr> partial = {}) const;
  ShardingAttr replicated(Value value) const {
    return ShardingAttr::getReplicated(
        layout.getName(), cast<RankedTensorType>(value.getType()).getRank());
  }

  /// What it costs backward to bring a value, of which reshards may have made
  /// copies, to `dims`.
  int64_t getCostFromCopies(Value value, int64_t bytes,
                            ArrayRef<DimShardingAttr> dims) const;

  //===--- Reshards -----------------------------------------------------===//

  /// `value` placed as `wanted`, for `user`: itself, or a reshard of it.
  Value getAs(Value value, ShardingAttr wanted, Operation *user,
              function_ref<std::string()> cause);
  /// A free value, made as `wanted`.
  Value makeFree(Value value, ShardingAttr wanted);
  Value makeReshard(OpBuilder &builder, Location loc, Value value,
                    ShardingAttr from, ShardingAttr to, StringRef cause,
                    Attribute scope);
  /// A reshard that was there before starts from `now`.
  void adopt(ReshardOp reshard, ShardingAttr now);

  /// Results of syncs count as values of their own: who uses one uses that, not
  /// what the sync was made from.
  void setSynced(Value value) { synced.insert(value); }
  /// The same of what goes back through a sync: it is asked where the value is,
  /// but not which collective brings it there.
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
  /// Whether the collective that brings it there is asked for, too.
  bool isCollectiveAskedFor(Value value) const {
    return isAskedFor(value) && !followed.contains(value);
  }

  /// Takes an op without users away. Its memory stays as long as this does:
  /// values are known by their address, and no other is to have the same.
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
  /// Who caused the pending reduction of a value.
  unsigned getPendingCause(Value value) const {
    auto found = pendingCauses.find(value);
    return found == pendingCauses.end() ? kNone : found->second;
  }
  void setPendingCause(Value value, unsigned cause) {
    pendingCauses[value] = cause;
  }

private:
  /// What a reshard is a copy of, in the end.
  Value getOriginal(Value value) const;
  /// The copy of a value from which the fewest bytes bring it to `wanted`.
  Value getNearest(Value value, ShardingAttr wanted) const;

  const PlacementGraph &graph;
  const Placements &targets;
  const MeshLayout &layout;
  MLIRContext *context;
  StringAttr shardingsName;
  /// Placements that differ from the targets, by number of the value, and of
  /// values that the graph does not know.
  std::vector<ShardingAttr> placements;
  llvm::DenseMap<Value, ShardingAttr> newPlacements;
  llvm::DenseMap<Value, unsigned> pendingCauses;
  /// Free values as they were made so far.
  llvm::DenseMap<std::pair<Value, Attribute>, Value> versions;
  /// Reshards made so far of a value: the next one is made from the one that is
  /// nearest.
  llvm::DenseMap<Value, SmallVector<Value, 2>> copies;
  llvm::SmallDenseSet<Value> synced, followed, constrained;
  SmallVector<Operation *> erased;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_PLACEDVALUES_H
