//===- PlacementTree.h - Ops that can be placed in other ways ---*- C++ -*-===//
//
// A tree of ops that only move elements, or compute them one by one. Each
// result is used by one op only. Every op may be placed in many ways. Needs a
// program of level 2.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_IMPROVE_PLACEMENTTREE_H
#define DIST_PASSES_SPMD_IMPROVE_PLACEMENTTREE_H

#include "passes/spmd/graph/PlacedProgram.h"
#include "passes/spmd/graph/RuleCache.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::dist {

/// One placement of an op.
struct PlacementOption {
  /// By operand; null for values that are not tensors, or are free.
  SmallVector<ShardingAttr, 4> operands;
  /// The placements of its free operands; null for the others.
  SmallVector<ShardingAttr, 4> free;
  ShardingAttr result;
  /// Bytes sent for its windows.
  int64_t bytes = 0;
};

/// An op of a tree. Each operand is computed by a child, or comes from outside.
struct TreeNode {
  explicit TreeNode(Operation *op) : op(op) {}

  Operation *op;
  /// By operand: the child, or PlacementTree::kNone.
  SmallVector<unsigned, 4> children;
  /// By operand: the first operand with the same child; else itself.
  SmallVector<unsigned, 4> firsts;
  /// By operand from outside: the value before it is resharded.
  SmallVector<Value, 4> sources;
  /// The first option is the current placement.
  SmallVector<PlacementOption, 0> options;
};

class PlacementTree {
public:
  static constexpr unsigned kNone = ~0u;

  PlacementTree(RuleCache &rules, PlacedProgram &values)
      : layout(values.getLayout()), rules(rules), values(values) {}

  /// Whether an op can be placed in other ways.
  bool isMovable(Operation *op);
  /// The movable op in the same block that is the only user of this op's
  /// result; null if there is no such op.
  Operation *getParent(Operation *op);

  /// Reads the tree of a root, with the possible placements of its ops. False
  /// if nothing moves in it, or too much.
  bool read(Operation *root);

  /// Children before parents; the root is the last.
  ArrayRef<TreeNode> getNodes() const { return nodes; }
  Value getRoot() const { return nodes.back().op->getResult(0); }
  /// Ops of the tree and reshards in it.
  bool contains(Operation *op) const { return inTree.contains(op); }
  /// How often ops of the tree use a value from outside.
  unsigned getUses(Value source) const { return sourceUses.lookup(source); }
  /// A reshard of the tree; new reshards get its cause.
  ReshardOp getExample() const { return example; }

private:
  unsigned addNode(Operation *op);
  void collectAxes();
  void collectAxes(ShardingAttr from, ShardingAttr to);
  void collectPending();
  bool makeWays(TreeNode &node);
  void addWays(TreeNode &node, const ShardingRule &rule,
               ArrayRef<DimShardingAttr> factors);

  const MeshLayout &layout;
  RuleCache &rules;
  PlacedProgram &values;
  llvm::DenseMap<Operation *, bool> movable;

  SmallVector<TreeNode, 0> nodes;
  llvm::SmallPtrSet<Operation *, 16> inTree;
  llvm::SmallDenseMap<Value, unsigned> sourceUses;
  ReshardOp example;
  /// Axes, or parts of axes, that are moved in the tree.
  llvm::SmallSetVector<AxisRefAttr, 4> axes;
  /// Reductions that are pending in values from outside: kind and axes.
  llvm::SmallSetVector<std::pair<unsigned, Attribute>, 2> pendings;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_IMPROVE_PLACEMENTTREE_H
