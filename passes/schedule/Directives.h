//===- Directives.h - Applying the directives of a schedule -----*- C++ -*-===//
//
// What the directives share: the index of the program, what earlier ones have
// placed, and how ops are read through their factors.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_H

#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/IR/Builders.h"
#include "passes/schedule/ScopeIndex.h"
#include "llvm/ADT/SetVector.h"

#include <functional>

namespace mlir::dist {

/// Where a tensor comes from, through ops with a single tensor to read.
struct Origin {
  enum Kind { Parameter, Constant, Computed } kind = Computed;
  /// The parameter, or whatever else the chain begins with.
  Value root;
  /// The operands the chain runs through, from the tensor to its origin.
  SmallVector<OpOperand *, 2> chain;
};
Origin findOrigin(Value tensor);

/// The tensors that `op` reads: operands that are ranked tensors and no
/// destination.
SmallVector<OpOperand *, 4> getDataOperands(Operation *op);

/// A contraction of activations with a parameter.
struct FeatureContraction {
  Operation *op;
  ShardingRule rule;
  OpOperand *parameter;
  OpOperand *activation;
  Origin origin;
};
/// `op` as a contraction with a parameter, if it is one.
std::optional<FeatureContraction> findFeatureContraction(Operation *op);

/// Applies directives one after the other to one program.
class DirectiveApplier {
public:
  DirectiveApplier(ModuleOp module, MeshOp mesh)
      : mesh(mesh), layout(mesh), index(module) {}

  /// Applies a directive; returns the number of places or emits an error.
  FailureOr<unsigned> apply(Operation *directive);

private:
  // Directives.cpp
  FailureOr<SmallVector<StringRef>> matchPaths(Operation *directive,
                                               StringRef target, bool optional);
  FailureOr<SmallVector<unsigned>> match(Operation *directive, StringRef target,
                                         ArrayRef<StringRef> names,
                                         StringRef what, bool optional);
  LogicalResult verifyAxes(Operation *directive, ArrayRef<AxisRefAttr> axes);
  Location locate(Operation *directive, Operation *op);

  // ShardDirective.cpp
  FailureOr<unsigned> applyShard(ShardOp directive);
  FailureOr<unsigned> placeTensors(ShardOp directive);
  FailureOr<unsigned> shardFeatures(ShardOp directive);
  LogicalResult shardContraction(ShardOp directive,
                                 const FeatureContraction &contraction);
  FailureOr<DimShardingAttr> shardFactor(ShardOp directive,
                                         const FeatureContraction &contraction,
                                         ArrayRef<unsigned> features,
                                         unsigned &factor);
  LogicalResult placeParameter(ShardOp directive,
                               const FeatureContraction &contraction,
                               unsigned factor, DimShardingAttr sharding);
  LogicalResult place(ShardOp directive, const NamedTensor &tensor,
                      ShardingAttr sharding);
  LogicalResult constrain(ShardOp directive, Operation *op, OpOperand *use,
                          ShardingAttr sharding);

  // SyncDirective.cpp
  FailureOr<unsigned> applySync(SyncOp directive);
  FailureOr<unsigned> syncInputs(SyncOp directive, StringRef path);
  FailureOr<unsigned> syncOutputs(SyncOp directive, StringRef path);
  /// Makes the op; `dim` replaces the directive's.
  FailureOr<SyncOp> makeSync(SyncOp directive, Value value, Operation *scopeOf,
                             std::optional<int64_t> dim);

  MeshOp mesh;
  MeshLayout layout;
  ScopeIndex index;
  /// The directive that last placed a function's argument (2i) or result
  /// (2i+1).
  llvm::DenseMap<std::pair<Operation *, unsigned>, Operation *> placedBy;
  /// Constraints made, by the value or the use that they constrain.
  struct Constraint {
    ShardingConstraintOp op;
    Operation *directive;
  };
  llvm::DenseMap<void *, Constraint> constraints;
  /// fwd_pre syncs made: modules that read one value share one sync.
  llvm::DenseMap<std::pair<Value, Attribute>, SyncOp> inputSyncs;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_H
