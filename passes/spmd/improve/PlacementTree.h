//===- PlacementTree.h - Ops that can be sharded otherwise ------*- C++ -*-===//
//
// Ops that only move elements, or compute them one by one, each result of which
// one op alone uses: a tree, of which every op may be placed in many ways.
// Needs a function in which every op has been visited.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_IMPROVE_PLACEMENTTREE_H
#define DIST_PASSES_SPMD_IMPROVE_PLACEMENTTREE_H

#include "passes/spmd/graph/PlacedValues.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::dist {

/// One way to place an op.
struct Way {
  /// By operand; null for what is no tensor, or free.
  SmallVector<ShardingAttr, 4> operands;
  /// How its free operands are made; null for the others.
  SmallVector<ShardingAttr, 4> free;
  ShardingAttr result;
  /// What its windows send.
  int64_t bytes = 0;
};

/// An op of a tree: each of its operands is made by a child, or comes from
/// outside.
struct TreeNode {
  explicit TreeNode(Operation *op) : op(op) {}

  Operation *op;
  /// By operand: the child, or PlacementTree::kNone.
  SmallVector<unsigned, 4> children;
  /// By operand: the first one that has the same child; else itself.
  SmallVector<unsigned, 4> firsts;
  /// By operand that comes from outside: what it is before it is resharded.
  SmallVector<Value, 4> sources;
  /// The first is the one that it has.
  SmallVector<Way, 0> ways;
};

class PlacementTree {
public:
  static constexpr unsigned kNone = ~0u;

  PlacementTree(const MeshLayout &layout, PlacementGraph &graph,
                PlacedValues &values)
      : layout(layout), graph(graph), values(values) {}

  /// Whether an op can be placed otherwise.
  bool isMovable(Operation *op);
  /// The movable op that alone uses the result of one, in the same block; null
  /// where there is none.
  Operation *getParent(Operation *op);

  /// Reads the tree of a root, with the ways to place its ops. False where
  /// nothing moves in it, or too much.
  bool read(Operation *root);

  /// Children before parents; the root is the last.
  ArrayRef<TreeNode> getNodes() const { return nodes; }
  Value getRoot() const { return nodes.back().op->getResult(0); }
  /// Ops of the tree and reshards in it.
  bool contains(Operation *op) const { return inTree.contains(op); }
  /// How often ops of the tree use something from outside.
  unsigned getUses(Value source) const { return sourceUses.lookup(source); }
  /// A reshard of the tree, of which new ones have their cause.
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
  PlacementGraph &graph;
  PlacedValues &values;
  llvm::DenseMap<Operation *, bool> movable;

  SmallVector<TreeNode, 0> nodes;
  llvm::SmallPtrSet<Operation *, 16> inTree;
  llvm::SmallDenseMap<Value, unsigned> sourceUses;
  ReshardOp example;
  /// Axes, or parts of axes, that move somewhere in the tree.
  llvm::SmallSetVector<AxisRefAttr, 4> axes;
  /// Reductions that are pending in what comes from outside: kind and axes.
  llvm::SmallSetVector<std::pair<unsigned, Attribute>, 2> pendings;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_IMPROVE_PLACEMENTTREE_H
