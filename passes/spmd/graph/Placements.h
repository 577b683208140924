//===- Placements.h - Placements of values, and their causes ----*- C++ -*-===//
//
// The sharding of every dimension of a graph's values, without pending
// reductions. It starts with the annotations (SeedPlacements.h) and is extended
// by propagation (Propagation.h).
//
// Invariants:
// - shardings are canonical: equal ones are the same attribute.
// - no axis shards two dimensions of a value.
// - a dimension's sharding only grows: the old one is a prefix of the new one.
// - values that are not backward are placed before backward ones, and never
//   changed by these.
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
    /// The cause: an index into the causes.
    unsigned cause = kNone;
    /// The node that propagated it here, and when; kNone for an annotation.
    unsigned node = kNone;
    unsigned round = 0;
    /// An annotation forbids to shard it further.
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
  /// The target placement of a value. Once it is final it is looked up, not
  /// built.
  ShardingAttr getSharding(unsigned value) const;
  /// Nothing changes any more.
  void finalize() { finalShardings.assign(firstDim.size() - 1, {}); }
  void reopen() { finalShardings.clear(); }

  /// Whether `value` can have `sharding` on `dim` beside the shardings of its
  /// other dimensions.
  bool fits(unsigned value, unsigned dim, DimShardingAttr sharding) const;

  /// Whether a constraint fixes the value inside the program.
  bool isPinned(unsigned value) const { return pinned[value]; }
  void pin(unsigned value) { pinned[value] = true; }

  /// `value` is sharded over none of `axes`.
  void keepWhole(unsigned value, ArrayRef<AxisRefAttr> axes) {
    llvm::append_range(whole[value], axes);
  }

  /// Whether an annotation shards the parameter `value` over axes that are not
  /// just for storage. Its readers are then meant to compute with the parts.
  bool isSplitParameter(unsigned value) const { return split.count(value); }
  void setSplitParameter(unsigned value) { split.insert(value); }

  /// Axes over which a parameter is stored sharded, and gathered for use
  /// (ZeRO-3, Rajbhandari et al. 2020). These also shard an input, and no
  /// constraint at the parameter's use asks for them.
  ArrayRef<AxisRefAttr> getStoredAxes(unsigned value) const {
    auto found = stored.find(value);
    return found == stored.end() ? ArrayRef<AxisRefAttr>() : found->second;
  }
  void setStoredAxes(unsigned value, ArrayRef<AxisRefAttr> axes) {
    stored[value].assign(axes.begin(), axes.end());
  }
  /// The part of a dimension's sharding that ops which use the value see: all
  /// of it, except stored axes.
  DimShardingAttr getShardingForUse(unsigned value, unsigned dim) const;

  ArrayRef<std::string> getCauses() const { return causes; }
  /// Records a cause, and returns its number.
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
  /// The result of getSharding() once placements are final.
  mutable std::vector<ShardingAttr> finalShardings;
  std::vector<std::string> causes;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_PLACEMENTS_H
