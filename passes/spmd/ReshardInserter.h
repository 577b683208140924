//===- ReshardInserter.h - Placements made explicit -------------*- C++ -*-===//
//
// The state of --dist-insert-reshards; its parts are in ReshardInserter.cpp
// (values), FactorChoice.cpp (which factor an axis shards), InsertReshards.cpp
// (ops and the pass), ControlFlow.cpp (loops, branches, calls) and UserWord.cpp
// (constraints and syncs).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_RESHARDINSERTER_H
#define DIST_PASSES_SPMD_RESHARDINSERTER_H

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/PendingReductions.h"
#include "passes/spmd/PlacementAnalysis.h"
#include "passes/spmd/PlacementText.h"

namespace mlir::dist {

/// A factor with a sharding that some tensor of the op has.
struct Candidate {
  unsigned factor;
  DimShardingAttr sharding;
  unsigned cause;
  /// Number of operands that lie like this.
  unsigned operands;
  /// Whether leaving it unsharded may pay: another candidate wants its axes, or
  /// some tensor lies otherwise.
  bool isContested = false;
};

/// Bytes moved, after the user's fixed placements that are not kept.
using Cost = std::pair<int64_t, int64_t>;

class ReshardInserter {
public:
  static constexpr unsigned kNone = PlacementAnalysis::kNone;

  explicit ReshardInserter(PlacementAnalysis &analysis)
      : analysis(analysis), layout(*analysis.getLayout()),
        context(layout.getContext()),
        shardingsName(StringAttr::get(context, kShardingsAttr)),
        placements(analysis.getValues().size()) {}

  LogicalResult run(Operation *module);

private:
  LogicalResult visitBlock(Block &block);
  LogicalResult visitOp(Operation *op);
  LogicalResult visitGeneral(Operation *op);
  LogicalResult visitSync(SyncOp sync);
  void visitConstraint(ShardingConstraintOp constraint);
  void visitReshard(ReshardOp reshard);
  LogicalResult visitBranch(RegionBranchOpInterface branch);
  LogicalResult visitReturn(Operation *op, FunctionOpInterface function);
  LogicalResult visitCall(CallOpInterface call);
  /// Where result `number` of a function lies: what its attribute asks, else
  /// what the returned value has (`isNow`), or is meant to have.
  ShardingAttr getReturnPlacement(FunctionOpInterface function, unsigned number,
                                  bool isNow);
  void replicateCaptures(Operation *op);
  /// Makes a reshard of what only it uses start where that does.
  void skipDetour(ReshardOp reshard);

  ArrayRef<AxisRefAttr> getStoredAxes(Value value) const {
    unsigned index = analysis.getIndex(value);
    return index == kNone ? ArrayRef<AxisRefAttr>()
                          : analysis.getStoredAxes(index);
  }
  void chooseFactors(Operation *op, const ShardingRule &rule,
                     SmallVectorImpl<DimShardingAttr> &factors,
                     SmallVectorImpl<unsigned> &causes);
  Cost getCost(Operation *op, const ShardingRule &rule,
               ArrayRef<DimShardingAttr> factors);
  int64_t getMoveCost(int64_t bytes, ArrayRef<DimShardingAttr> from,
                      ArrayRef<AxisRefAttr> partial,
                      ArrayRef<DimShardingAttr> to) const;
  bool joinDims(const ShardingRule &rule, const TensorRule &tensor,
                ArrayRef<DimShardingAttr> factors,
                SmallVectorImpl<DimShardingAttr> &out) const;

  /// Where a value lies now; null for values that are made where they are used.
  ShardingAttr getPlacement(Value value);
  /// The same for an operand whose placement costs something to change: what is
  /// made where it is used does not tie the ops that share it together.
  ShardingAttr getTie(Value value) {
    return isa<RankedTensorType>(value.getType()) && !isFreeValue(value)
               ? getPlacement(value)
               : ShardingAttr();
  }
  ShardingAttr getTarget(Value value);
  void setPlacement(Value value, ShardingAttr sharding) {
    unsigned index = analysis.getIndex(value);
    (index == kNone ? newPlacements[value] : placements[index]) = sharding;
  }
  ShardingAttr place(ArrayRef<DimShardingAttr> dims,
                     ReductionKind kind = ReductionKind::Sum,
                     ArrayRef<AxisRefAttr> partial = {}) const {
    // Equal placements are one attribute.
    if (partial.empty())
      kind = ReductionKind::Sum;
    return ShardingAttr::get(context, layout.getName(), dims, kind, partial);
  }
  ShardingAttr replicated(Value value) const {
    return ShardingAttr::getReplicated(
        layout.getName(), cast<RankedTensorType>(value.getType()).getRank());
  }
  /// `value` placed as `wanted`, for `user`: itself, or a reshard of it.
  Value getAs(Value value, ShardingAttr wanted, Operation *user,
              function_ref<std::string()> cause);
  /// What a reshard is a copy of, in the end.
  Value getOriginal(Value value) const;
  /// The copy of a value from which the fewest bytes bring it to `wanted`.
  Value getNearest(Value value, ShardingAttr wanted);
  Value makeFree(Value value, ShardingAttr wanted);
  /// Where a function needs a constant whole, its parts are slices of that.
  void sliceWholeConstants(FunctionOpInterface function);
  Value makeReshard(OpBuilder &builder, Location loc, Value value,
                    ShardingAttr from, ShardingAttr to, StringRef cause,
                    Attribute scope);
  /// Notes that the op makes `result` as `natural`; where it is meant to lie
  /// otherwise, its users get it resharded. False where it lies as meant.
  bool settleResult(Value result, ShardingAttr natural,
                    function_ref<std::string()> text);
  /// The same for all results of an op.
  void settleResults(Operation *op,
                     function_ref<ShardingAttr(OpResult)> getNatural);
  void setShardings(Operation *op, ArrayRef<Attribute> shardings);
  std::string getCauseText(unsigned cause) const;

  PlacementAnalysis &analysis;
  const MeshLayout &layout;
  MLIRContext *context;
  StringAttr shardingsName;
  /// Placements that differ from what the analysis means, by its number of the
  /// value, and of values that it does not know.
  std::vector<ShardingAttr> placements;
  llvm::DenseMap<Value, ShardingAttr> newPlacements;
  /// Who caused the pending reduction of a value.
  llvm::DenseMap<Value, unsigned> partialCauses;
  /// Free values as they were made so far.
  llvm::DenseMap<std::pair<Value, Attribute>, Value> versions;
  /// Reshards made so far of a value: the next one is made from the one that is
  /// nearest.
  llvm::DenseMap<Value, SmallVector<Value, 2>> copies;
  /// Results of syncs, which count as values of their own.
  llvm::SmallDenseSet<Value> synced;
  /// Values that lie where a constraint wants them.
  llvm::SmallDenseSet<Value> constrained;
  /// By function and number.
  llvm::DenseMap<std::pair<Operation *, unsigned>, ShardingAttr>
      returnPlacements;
  SymbolTableCollection symbols;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_RESHARDINSERTER_H
