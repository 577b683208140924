//===- PlacementAnalysis.h - Values, factors, placements --------*- C++ -*-===//
//
// A module as propagation sees it: values with a sharding a dimension, and
// nodes that tie dimensions together through factors. Nodes are ops with their
// rule, and data-flow edges (loop-carried values, branches, calls), which tie a
// group of values as an elementwise op would. Everything lies in flat arrays,
// and rules are shared between ops that look alike, so that a million ops fit.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PLACEMENTANALYSIS_H
#define DIST_PASSES_SPMD_PLACEMENTANALYSIS_H

#include "mlir/Pass/AnalysisManager.h"
#include "passes/spmd/RuleCache.h"

namespace mlir::dist {

/// Whether a value can be made on any device at no cost: constants,
/// tensor.empty and what fills it. Such values tell nothing about placements,
/// and every use gets its own.
bool isFreeValue(Value value);

class PlacementAnalysis {
public:
  static constexpr unsigned kNone = ~0u;

  /// Who asked for the sharding of a dimension: an index into `causes`.
  struct DimState {
    DimShardingAttr sharding;
    unsigned cause = kNone;
    /// The node that brought it here, and when; kNone for the user's own word.
    unsigned node = kNone;
    unsigned round = 0;
    bool isClosed = false;
  };

  struct Node {
    Operation *op;
    const ShardingRule *rule;
    /// Its tensors, operands before results, in `links`.
    unsigned firstLink;
    /// 0: moves data or computes elementwise; 1: contracts; 2: the rest.
    uint8_t level;
  };

  explicit PlacementAnalysis(Operation *module);

  /// Analyses of the module survive until the placements are lowered.
  bool isInvalidated(const AnalysisManager::PreservedAnalyses &preserved) {
    return !preserved.isPreserved<PlacementAnalysis>();
  }

  /// Why the module cannot be placed; success where there is nothing wrong.
  /// Where no mesh is in use, there is no layout.
  LogicalResult getStatus() const { return status; }
  const MeshLayout *getLayout() const { return layout.get(); }

  /// Spreads the user's placements until nothing changes.
  void propagate();

  unsigned getIndex(Value value) const {
    auto found = indices.find(value);
    return found == indices.end() ? kNone : found->second;
  }
  /// State of each dimension of a value.
  MutableArrayRef<DimState> getDims(unsigned value) {
    return MutableArrayRef(dims).slice(firstDim[value],
                                       firstDim[value + 1] - firstDim[value]);
  }
  ArrayRef<DimState> getDims(unsigned value) const {
    return ArrayRef(dims).slice(firstDim[value],
                                firstDim[value + 1] - firstDim[value]);
  }
  /// The placement that a value is meant to have, without pending reductions;
  /// after propagate() it is looked up, not built.
  ShardingAttr getSharding(unsigned value) const;
  /// Whether the user fixed the value's placement inside the program.
  bool isPinned(unsigned value) const { return pinned[value]; }

  /// Axes over which a parameter is only stored in parts and gathered for use
  /// (ZeRO-3, Rajbhandari et al. 2020): those that shard an input, too, and
  /// that no constraint beside the parameter's use asks for.
  ArrayRef<AxisRefAttr> getStoredAxes(unsigned value) const {
    auto found = stored.find(value);
    return found == stored.end() ? ArrayRef<AxisRefAttr>() : found->second;
  }
  /// What the sharding of a dimension says about the ops that use the value:
  /// all of it, but for stored axes.
  DimShardingAttr getSpoken(unsigned value, unsigned dim) const;

  /// The rule of an op with tensors; ops that look alike share one.
  const ShardingRule *getRule(Operation *op) { return rules.get(op); }
  /// Values tied by a node, operands before results.
  ArrayRef<unsigned> getLinks(const Node &node) const {
    return ArrayRef(links).slice(node.firstLink, node.rule->operands.size() +
                                                     node.rule->results.size());
  }
  ArrayRef<Node> getNodes() const { return nodes; }
  /// Ops without a sharding rule, one of each look: they run replicated.
  ArrayRef<Operation *> getUnruledOps() const { return rules.getUnruledOps(); }
  ArrayRef<std::string> getCauses() const { return causes; }
  ArrayRef<Value> getValues() const { return values; }

  /// Makes propagate() remember what was proposed in vain, for explain().
  void rememberLosers() { remembersLosers = true; }

  /// Tells for a value where its sharding came from, step by step, and what
  /// lost.
  void explain(Value value, raw_ostream &os) const;

private:
  void addValue(Value value);
  LogicalResult addOps(Operation *module);
  void addEdge(Operation *op, ArrayRef<Value> group);
  void addNode(Operation *op, const ShardingRule *rule,
               ArrayRef<unsigned> tensors, uint8_t level);
  LogicalResult seed(Operation *module);
  void findStoredParameters();
  LogicalResult seedValue(unsigned value, ShardingAttr sharding, unsigned cause,
                          Operation *at);
  void buildUses();

  struct Proposal {
    unsigned value, dim;
    DimShardingAttr sharding;
    unsigned cause, node;
    bool isPinned;
    int64_t score;
  };
  void visit(unsigned node, SmallVectorImpl<Proposal> &proposals);
  void visitSync(unsigned node, SmallVectorImpl<Proposal> &proposals);
  void apply(SmallVectorImpl<Proposal> &proposals, unsigned round);
  void enqueueUsers(unsigned value);
  bool fits(unsigned value, unsigned dim, DimShardingAttr sharding) const;

  LogicalResult status = success();
  std::unique_ptr<MeshLayout> layout;
  std::vector<Value> values;
  llvm::DenseMap<Value, unsigned> indices;
  std::vector<unsigned> firstDim{0};
  std::vector<DimState> dims;
  std::vector<bool> pinned;
  llvm::DenseMap<unsigned, SmallVector<AxisRefAttr, 1>> stored;
  /// What getSharding() made once nothing changes any more.
  mutable std::vector<ShardingAttr> settled;
  std::vector<Node> nodes;
  std::vector<unsigned> links;
  bool remembersLosers = false;
  llvm::DenseMap<std::pair<unsigned, unsigned>, SmallVector<Proposal, 1>>
      losers;
  std::vector<std::string> causes;
  // Nodes of every value, in one array.
  std::vector<unsigned> firstUse, uses;
  RuleCache rules;
  llvm::DenseMap<std::pair<Type, unsigned>, std::unique_ptr<ShardingRule>>
      edgeRules;
  // Nodes to visit next, by level.
  std::vector<unsigned> pending[3];
  std::vector<bool> isPending;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PLACEMENTANALYSIS_H
