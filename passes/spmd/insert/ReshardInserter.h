//===- ReshardInserter.h - Makes placements explicit ------------*- C++ -*-===//
//
// The walk of --dist-insert-reshards, in program order. InsertReshards.cpp
// handles ops in general; ControlFlow.cpp loops, branches, calls and returns;
// Constraints.cpp constraints, syncs, and reshards that the program has. Needs
// final placements. Leaves `dist.shardings` on every op and a dist.reshard at
// every disagreement.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_INSERT_RESHARDINSERTER_H
#define DIST_PASSES_SPMD_INSERT_RESHARDINSERTER_H

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/graph/GatherRemarks.h"
#include "passes/spmd/graph/PlacementText.h"
#include "passes/spmd/insert/PendingPlan.h"
#include "passes/spmd/propagate/PlacementAnalysis.h"

namespace mlir::dist {

class ReshardInserter {
public:
  explicit ReshardInserter(PlacementAnalysis &analysis)
      : graph(analysis.getGraph()), targets(analysis.getPlacements()),
        layout(*analysis.getLayout()), context(layout.getContext()),
        values(graph, targets, layout), gathers(layout) {}

  LogicalResult run(Operation *module);

private:
  static constexpr unsigned kNone = PlacementGraph::kNone;

  void eraseFollows(Operation *module);
  void visitFollow(FollowOp follow);
  LogicalResult visitBlock(Block &block);
  LogicalResult visitOp(Operation *op);
  LogicalResult visitSync(SyncOp sync);
  LogicalResult visitHalo(SyncOp sync, Value operand,
                          ArrayRef<AxisRefAttr> axes);
  LogicalResult addPendingOf(ShardingConstraintOp constraint,
                             ShardingAttr &wanted);
  LogicalResult visitConstraint(ShardingConstraintOp constraint);
  LogicalResult visitManual(ManualReshardOp manual);
  /// One form for each placement, as values have it.
  ShardingAttr makeCanonical(ShardingAttr sharding, Type type) const;
  void visitReshard(ReshardOp reshard);
  LogicalResult visitBranch(RegionBranchOpInterface branch);
  void placeAccumulators(Operation *op);
  bool isAccumulated(Operation *op) const;
  LogicalResult visitReturn(Operation *op, FunctionOpInterface function);
  LogicalResult visitCall(CallOpInterface call);
  LogicalResult visitGeneral(Operation *op);
  LogicalResult bringOperands(Operation *op, const ShardingRule &rule,
                              const FactorChoice &choice,
                              const PendingPlan &plan);
  LogicalResult placeGeneralResults(Operation *op, const ShardingRule &rule,
                                    const FactorChoice &choice,
                                    const PendingPlan &plan);
  void replicateCaptures(Operation *op);
  void keepRowsApart(Operation *op);

  /// The placement of result `number` of a function: that of its attribute,
  /// else the returned value's current placement (`isNow`) or its target.
  ShardingAttr getReturnPlacement(FunctionOpInterface function, unsigned number,
                                  bool isNow);
  /// Why an operand that is placed as `now` is brought to `wanted`.
  std::string getCause(OpOperand &operand, ShardingAttr now,
                       ShardingAttr wanted, const ShardingRule &rule,
                       const FactorChoice &choice,
                       const PendingPlan &plan) const;
  /// Records that the op places `result` as `natural`. If the target differs,
  /// its users get a reshard. Returns whether they are equal.
  bool placeResult(Value result, ShardingAttr natural,
                   function_ref<std::string()> text);
  /// The same for all results of an op.
  void placeResults(Operation *op,
                    function_ref<ShardingAttr(OpResult)> getNatural);

  PlacementGraph &graph;
  const Placements &targets;
  const MeshLayout &layout;
  MLIRContext *context;
  PlacedValues values;
  GatherRemarks gathers;
  ExclusiveSums exclusive;
  llvm::DenseSet<Value> keptPending;
  /// Sums that a loop carries and whose user has not been visited.
  llvm::SmallDenseSet<Value> accumulators;
  /// By function and number.
  llvm::DenseMap<std::pair<Operation *, unsigned>, ShardingAttr>
      returnPlacements;
  SymbolTableCollection symbols;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_INSERT_RESHARDINSERTER_H
