//===- Placements.h - Where values are placed, and why ----------*- C++ -*-===//
//
// The sharding of every dimension of a graph's values, without pending
// reductions: first what the annotations ask for (SeedPlacements.h), then what
// propagation makes of it (Propagation.h).
//
// Invariants:
// - shardings are canonical, so that equal ones are the same attribute.
// - no axis shards two dimensions of a value.
// - a dimension's sharding only grows: what it was is a prefix of what it is.
// - what is not backward is settled before what is, and never changed by it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_PLACEMENTS_H
#define DIST_PASSES_SPMD_GRAPH_PLACEMENTS_H

#include "passes/spmd/graph/PlacementGraph.h"

namespace mlir::dist {

class Placements {
public:
  static constexpr unsigned kNone = PlacementGraph::kNone;

  struct DimState {
    DimShardingAttr sharding;
    /// Who asked for it: an index into the causes.
    unsigned cause = kNone;
    /// The node that brought it here, and when; kNone for an annotation.
    unsigned node = kNone;
    unsigned round = 0;
    /// An annotation says that it is sharded no further.
    bool isClosed = false;
  };

  /// All values unsharded.
  Placements(const PlacementGraph &graph, const MeshLayout &layout);

  MutableArrayRef<DimState> getDims(unsigned value) {
    return MutableArrayRef(dims).slice(firstDim[value],
                                       firstDim[value + 1] - firstDim[value]);
  }
  ArrayRef<DimState> getDims(unsigned value) const {
    return ArrayRef(dims).slice(firstDim[value],
                                firstDim[value + 1] - firstDim[value]);
  }
  /// The placement that a value is meant to have; once it is final it is looked
  /// up, not built.
  ShardingAttr getSharding(unsigned value) const;
  /// Nothing changes any more.
  void finalize() { finalShardings.assign(firstDim.size() - 1, {}); }
  void reopen() { finalShardings.clear(); }

  /// Whether `value` can hold `sharding` on `dim` beside what it has on the
  /// others.
  bool fits(unsigned value, unsigned dim, DimShardingAttr sharding) const;

  /// Whether a constraint fixes the value inside the program.
  bool isPinned(unsigned value) const { return pinned[value]; }
  void pin(unsigned value) { pinned[value] = true; }

  /// `value` is sharded over none of `axes`.
  void keepWhole(unsigned value, ArrayRef<AxisRefAttr> axes) {
    llvm::append_range(whole[value], axes);
  }

  /// Whether an annotation shards the parameter `value` over axes that it is
  /// not only stored over: its readers are meant to compute with the parts.
  bool isSplitParameter(unsigned value) const { return split.count(value); }
  void setSplitParameter(unsigned value) { split.insert(value); }

  /// Axes over which a parameter is only stored in parts and gathered for use
  /// (ZeRO-3, Rajbhandari et al. 2020): those that shard an input, too, and
  /// that no constraint beside the parameter's use asks for.
  ArrayRef<AxisRefAttr> getStoredAxes(unsigned value) const {
    auto found = stored.find(value);
    return found == stored.end() ? ArrayRef<AxisRefAttr>() : found->second;
  }
  void setStoredAxes(unsigned value, ArrayRef<AxisRefAttr> axes) {
    stored[value].assign(axes.begin(), axes.end());
  }
  /// What the sharding of a dimension says to the ops that use the value: all
  /// of it, but for stored axes.
  DimShardingAttr getShardingForUse(unsigned value, unsigned dim) const;

  ArrayRef<std::string> getCauses() const { return causes; }
  /// Notes who asks for something, and returns its number.
  unsigned addCause(std::string text) {
    causes.push_back(std::move(text));
    return causes.size() - 1;
  }

private:
  const PlacementGraph &graph;
  const MeshLayout &layout;
  std::vector<unsigned> firstDim{0};
  std::vector<DimState> dims;
  std::vector<bool> pinned;
  llvm::DenseSet<unsigned> split;
  llvm::DenseMap<unsigned, SmallVector<AxisRefAttr, 1>> whole;
  llvm::DenseMap<unsigned, SmallVector<AxisRefAttr, 1>> stored;
  /// What getSharding() made once nothing changes any more.
  mutable std::vector<ShardingAttr> finalShardings;
  std::vector<std::string> causes;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_PLACEMENTS_H
