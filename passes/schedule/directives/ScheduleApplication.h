//===- ScheduleApplication.h - State of applying a schedule -----*- C++ -*-===//
//
// The state that directives share while a schedule is applied: the index of the
// program, the placements by earlier directives, and how targets are found.
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
  /// A target that the program does not have is a warning with
  /// `allowUnmatched`, else an error.
  ScheduleApplication(ModuleOp module, MeshOp mesh,
                      const ScheduleFunctions &functions, bool allowUnmatched)
      : mesh(mesh), layout(mesh), scopes(module), functions(functions),
        allowUnmatched(allowUnmatched),
        isOnlyMesh(llvm::hasSingleElement(module.getOps<MeshOp>())) {}

  /// Applies a directive; returns the number of places or emits an error.
  FailureOr<unsigned> apply(ScheduleDirectiveOpInterface directive);
  /// Writes the placements to the functions.
  void finish();

  // For directives:

  MLIRContext *getContext() const { return layout.getContext(); }
  const MeshLayout &getLayout() const { return layout; }
  MeshOp getMesh() const { return mesh; }
  /// The mesh; null if the op need not name it, because it is the only one.
  FlatSymbolRefAttr getNeededMesh() const {
    return isOnlyMesh ? FlatSymbolRefAttr() : layout.getName();
  }
  ScopeIndex &getScopes() { return scopes; }
  Origins &getOrigins() { return origins; }
  const ScheduleFunctions &getFunctions() const { return functions; }
  /// Records that a directive splits or removes an op. False if another
  /// directive has done so: then the op may not exist any more.
  bool take(Operation *op) { return taken.insert(op).second; }
  bool isTaken(Operation *op) const { return taken.contains(op); }
  /// The cause of the ops that a directive creates.
  StringAttr getCause(Operation *directive);
  /// The location of an op that a directive creates because of `op`.
  Location locate(Operation *directive, Operation *op) const;

  /// Places a tensor, combined with placements by earlier directives.
  LogicalResult place(Operation *directive, const NamedTensor &tensor,
                      ShardingAttr sharding);
  /// Constrains result `result` of `op`, or, if `use` is set, the value that it
  /// reads there. Propagation shards no dimension of it over the axes `whole`.
  LogicalResult constrain(Operation *directive, Operation *op, OpOperand *use,
                          ShardingAttr sharding, unsigned result = 0,
                          ArrayRef<AxisRefAttr> whole = {});
  /// Constrains an input or output of module `scope`: `value`, in `uses`, some
  /// of its uses; `op` computes or reads it. The constraint belongs to the
  /// module.
  LogicalResult constrainBorder(Operation *directive, unsigned scope,
                                Operation *op, Value value,
                                ArrayRef<OpOperand *> uses,
                                ShardingAttr sharding);
  /// The op that an earlier directive created for the same use of `value`, if
  /// any.
  Operation *&getShared(Value value, Attribute use) {
    return shared[{value, use}];
  }

private:
  /// The placement of an argument or a result by directives, and the last of
  /// these.
  struct Placed {
    ShardingAttr sharding;
    std::string cause;
    Operation *directive;
    /// Whether one of them is `replicate`, which the others cannot extend.
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
  /// Adds a second directive's sharding to a constraint.
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
  /// Constraints so far, by the result or the use that they constrain.
  llvm::DenseMap<void *, Constraint> constraints;
  /// Constraints at borders of modules.
  llvm::DenseMap<Operation *, Constraint> borders;
  llvm::DenseMap<std::pair<Value, Attribute>, Operation *> shared;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_SCHEDULEAPPLICATION_H
