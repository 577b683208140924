//===- ScheduleApplication.h - A schedule on its way in ---------*- C++ -*-===//
//
// What the directives of a schedule share while they are applied: the index of
// the program, what earlier directives have placed, and how targets are found.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_SCHEDULEAPPLICATION_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_SCHEDULEAPPLICATION_H

#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/IR/Builders.h"
#include "passes/schedule/directives/ScheduleFunctions.h"
#include "passes/schedule/names/Origins.h"
#include "passes/schedule/names/ScopeIndex.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {

/// Applies directives one after the other to one program. The shardings of
/// arguments and results are written by `finish`, all at once.
class ScheduleApplication {
public:
  /// What a directive names and the program has not is a warning with
  /// `allowUnmatched`, else an error.
  ScheduleApplication(ModuleOp module, MeshOp mesh,
                      const ScheduleFunctions &functions, bool allowUnmatched)
      : mesh(mesh), layout(mesh), scopes(module), functions(functions),
        allowUnmatched(allowUnmatched),
        isOnlyMesh(llvm::hasSingleElement(module.getOps<MeshOp>())) {}

  /// Applies a directive; returns the number of places or emits an error.
  FailureOr<unsigned> apply(ScheduleDirectiveOpInterface directive);
  /// Writes what was placed to the functions.
  void finish();

  // For directives:

  MLIRContext *getContext() const { return layout.getContext(); }
  const MeshLayout &getLayout() const { return layout; }
  MeshOp getMesh() const { return mesh; }
  /// The mesh, for an op that need not name the only one: else null.
  FlatSymbolRefAttr getNeededMesh() const {
    return isOnlyMesh ? FlatSymbolRefAttr() : layout.getName();
  }
  ScopeIndex &getScopes() { return scopes; }
  Origins &getOrigins() { return origins; }
  const ScheduleFunctions &getFunctions() const { return functions; }
  /// Notes that a directive takes an op apart, or out; false where another one
  /// has done so, after which the op may be no more.
  bool take(Operation *op) { return taken.insert(op).second; }
  bool isTaken(Operation *op) const { return taken.contains(op); }
  /// What the ops that a directive makes name as their cause.
  StringAttr getCause(Operation *directive);
  /// The location of an op that a directive makes because of `op`.
  Location locate(Operation *directive, Operation *op) const;

  /// Places a tensor, beside what earlier directives say of it.
  LogicalResult place(Operation *directive, const NamedTensor &tensor,
                      ShardingAttr sharding);
  /// Constrains result `result` of `op`, or where `use` is set what it reads
  /// there. Propagation shards no dimension of it over the axes `whole`.
  LogicalResult constrain(Operation *directive, Operation *op, OpOperand *use,
                          ShardingAttr sharding, unsigned result = 0,
                          ArrayRef<AxisRefAttr> whole = {});
  /// Constrains what module `scope` gives or takes: `value`, where `uses`, some
  /// of its uses, read it; `op` makes or reads it. The constraint belongs to
  /// the module.
  LogicalResult constrainBorder(Operation *directive, unsigned scope,
                                Operation *op, Value value,
                                ArrayRef<OpOperand *> uses,
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
    /// Whether one of them says `replicate`, which the others do not add to.
    bool isWhole = false;
  };
  struct PlacedTensors {
    llvm::DenseMap<unsigned, Placed> arguments, results;
  };
  struct Constraint {
    ShardingConstraintOp op;
    Operation *directive;
    bool isWhole = false;
  };

  LogicalResult verifyFits(Operation *directive, Value value,
                           ShardingAttr sharding);
  /// Adds a second directive's wish to a constraint.
  LogicalResult extend(Constraint &made, Operation *directive, Operation *op,
                       ShardingAttr sharding);
  ShardingConstraintOp createConstraint(OpBuilder &builder,
                                        Operation *directive, Operation *op,
                                        Value value, ShardingAttr sharding,
                                        Attribute scope);
  FailureOr<SmallVector<unsigned>>
  findTargets(ScheduleDirectiveOpInterface directive);
  /// "matches none of the program's 12 modules; did you mean …?", of `pattern`.
  InFlightDiagnostic sayUnmatched(ScheduleDirectiveOpInterface directive,
                                  StringRef pattern);

  MeshOp mesh;
  MeshLayout layout;
  ScopeIndex scopes;
  Origins origins;
  const ScheduleFunctions &functions;
  bool allowUnmatched, isOnlyMesh;
  llvm::DenseSet<Operation *> taken;
  llvm::DenseMap<Operation *, StringAttr> causes;
  llvm::MapVector<Operation *, PlacedTensors> placed;
  /// Constraints made, by the result or the use that they constrain.
  llvm::DenseMap<void *, Constraint> constraints;
  /// Constraints at borders of modules.
  llvm::DenseMap<Operation *, Constraint> borders;
  llvm::DenseMap<std::pair<Value, Attribute>, Operation *> shared;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_SCHEDULEAPPLICATION_H
