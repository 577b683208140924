//===- ScheduleApplication.h - A schedule on its way in ---------*- C++ -*-===//
//
// What the directives of a schedule share while they are applied: the index of
// the program, what earlier directives have placed, and how targets are found.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_SCHEDULEAPPLICATION_H
#define DIST_PASSES_SCHEDULE_SCHEDULEAPPLICATION_H

#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/IR/Builders.h"
#include "passes/schedule/Origins.h"
#include "passes/schedule/ScopeIndex.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {

/// Applies directives one after the other to one program. The shardings of
/// arguments and results are written by `finish`, all at once.
class ScheduleApplication {
public:
  ScheduleApplication(ModuleOp module, MeshOp mesh)
      : mesh(mesh), layout(mesh), scopes(module),
        isOnlyMesh(llvm::hasSingleElement(module.getOps<MeshOp>())) {}

  /// Applies a directive; returns the number of places or emits an error.
  FailureOr<unsigned> apply(ScheduleDirectiveOpInterface directive);
  /// Writes what was placed to the functions.
  void finish();

  // For directives:

  MLIRContext *getContext() const { return layout.getContext(); }
  const MeshLayout &getLayout() const { return layout; }
  /// The mesh, for an op that need not name the only one: else null.
  FlatSymbolRefAttr getNeededMesh() const {
    return isOnlyMesh ? FlatSymbolRefAttr() : layout.getName();
  }
  ScopeIndex &getScopes() { return scopes; }
  Origins &getOrigins() { return origins; }
  /// What the ops that a directive makes name as their cause.
  StringAttr getCause(Operation *directive);
  /// The location of an op that a directive makes because of `op`.
  Location locate(Operation *directive, Operation *op) const;

  /// Places a tensor, beside what earlier directives say of it.
  LogicalResult place(Operation *directive, const NamedTensor &tensor,
                      ShardingAttr sharding);
  /// Constrains the result of `op`, or where `use` is set what it reads there.
  LogicalResult constrain(Operation *directive, Operation *op, OpOperand *use,
                          ShardingAttr sharding);
  /// The op that an earlier directive made for the same use of `value`, if any.
  Operation *&getShared(Value value, Attribute use) {
    return shared[{value, use}];
  }

private:
  /// What directives say of an argument or a result, and the last of them.
  struct Placed {
    ShardingAttr sharding;
    std::string cause;
    Operation *directive;
  };
  struct PlacedTensors {
    llvm::DenseMap<unsigned, Placed> arguments, results;
  };
  struct Constraint {
    ShardingConstraintOp op;
    Operation *directive;
  };

  FailureOr<SmallVector<unsigned>>
  findTargets(ScheduleDirectiveOpInterface directive);

  MeshOp mesh;
  MeshLayout layout;
  ScopeIndex scopes;
  Origins origins;
  bool isOnlyMesh;
  llvm::DenseMap<Operation *, StringAttr> causes;
  llvm::MapVector<Operation *, PlacedTensors> placed;
  /// Constraints made, by the op or the use that they constrain.
  llvm::DenseMap<void *, Constraint> constraints;
  llvm::DenseMap<std::pair<Value, Attribute>, Operation *> shared;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_SCHEDULEAPPLICATION_H
