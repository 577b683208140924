//===- PlacementGraph.h - Values of a module and what ties them -*- C++ -*-===//
//
// A module as placement sees it: values, and nodes that tie their dimensions
// together through factors. Nodes are ops with their rule, and data-flow edges
// (loop-carried values, branches, calls, constraints), which tie a group of
// values as an elementwise op would. Read from the module once and never
// changed. Everything is in flat arrays, and rules are shared between equal
// ops, so that a million ops fit.
//
// Invariants:
// - a value has a number if it is a ranked tensor and not a free value; numbers
//   follow program order.
// - a node has a link for each operand and result of its rule, operands first.
//   A link is kNone if its value has no number. The first link of a dist.follow
//   is the leader: it influences the others, and is not influenced.
// - getUses lists the nodes of a value, once for each link.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_PLACEMENTGRAPH_H
#define DIST_PASSES_SPMD_GRAPH_PLACEMENTGRAPH_H

#include "passes/spmd/graph/RuleCache.h"

namespace mlir::dist {

/// Whether a value can be created on any device at no cost: constants,
/// tensor.empty and fills. Such values say nothing about placements, and every
/// use gets its own.
bool isFreeValue(Value value);

class PlacementGraph {
public:
  static constexpr unsigned kNone = ~0u;

  struct Node {
    Operation *op;
    const ShardingRule *rule;
    /// Its tensors, operands before results, in `links`.
    unsigned firstLink;
    /// When it is visited. 0: moves data or computes elementwise; 1: contracts;
    /// 2: the rest. In backward: 3: follows; 4 to 6: as 0 to 2. 7: changes an
    /// optimizer's state, which follows the model and does not lead it.
    uint8_t level;
  };
  static constexpr unsigned kLevels = 8;
  static constexpr uint8_t kFollows = 3, kBackward = 4, kState = 7;

  /// Reads `module`. Fails, with an error at the op, if tensors flow in a way
  /// that cannot be placed.
  LogicalResult build(Operation *module);

  ArrayRef<Value> getValues() const { return values; }
  unsigned getIndex(Value value) const {
    auto found = indices.find(value);
    return found == indices.end() ? kNone : found->second;
  }
  RankedTensorType getType(unsigned value) const {
    return cast<RankedTensorType>(values[value].getType());
  }

  ArrayRef<Node> getNodes() const { return nodes; }
  /// Values tied by a node, operands before results.
  ArrayRef<unsigned> getLinks(const Node &node) const {
    return ArrayRef(links).slice(node.firstLink, node.rule->operands.size() +
                                                     node.rule->results.size());
  }
  /// Nodes that tie a value.
  ArrayRef<unsigned> getUses(unsigned value) const {
    return ArrayRef(uses).slice(firstUse[value],
                                firstUse[value + 1] - firstUse[value]);
  }

  /// Ops that compute gradients, and ops that read these. They are placed after
  /// all other ops, and do not change their placement.
  bool isBackward(Operation *op) const { return backwardOps.contains(op); }
  bool isBackward(unsigned value) const { return backward[value]; }

  /// The rule of an op with tensors; equal ops share one.
  const ShardingRule *getRule(Operation *op) { return rules.get(op); }
  /// Ops without a sharding rule, one of each kind: they run replicated.
  ArrayRef<Operation *> getUnruledOps() const { return rules.getUnruledOps(); }

private:
  void addValue(Value value, bool isBackward);
  bool computesBackward(Operation *op) const;
  void addOp(Operation *op, SymbolTableCollection &symbols);
  void addBranch(Operation *op);
  void addCall(Operation *op, SymbolTableCollection &symbols);
  void addEdge(Operation *op, ArrayRef<Value> group);
  void addNode(Operation *op, const ShardingRule *rule,
               ArrayRef<unsigned> tensors, uint8_t level);
  void buildUses();

  std::vector<Value> values;
  llvm::DenseMap<Value, unsigned> indices;
  std::vector<bool> backward;
  llvm::DenseSet<Operation *> backwardOps;
  std::vector<Node> nodes;
  std::vector<unsigned> links;
  // Nodes of every value, in one array.
  std::vector<unsigned> firstUse, uses;
  RuleCache rules;
  llvm::DenseMap<std::pair<Type, unsigned>, std::unique_ptr<ShardingRule>>
      edgeRules;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_PLACEMENTGRAPH_H
