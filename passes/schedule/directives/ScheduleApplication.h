//===- ScheduleApplication.h - State of applying a schedule -----*- C++ -*-===//
//
// The state that directives share while a schedule is applied: the index of the
// program, the placements by earlier directives, and how targets are found.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_SCHEDULEAPPLICATION_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_SCHEDULEAPPLICATION_H

#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/IR/Builders.h"
#include "passes/schedule/directives/ScheduleFunctions.h"
#include "passes/schedule/names/Origins.h"
#include "passes/schedule/names/ScopeIndex.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {

/// The targets of a directive: what its pattern matches and `except` does not.
/// Of patterns that are not well-formed there are none.
SmallVector<unsigned> matchTargets(ScopeIndex &scopes,
                                   ScheduleDirectiveOpInterface directive);

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
  /// Writes the placements to the functions. Of syncs of modules with several
  /// results only those of partial ones stay; `places` gets their numbers.
  LogicalResult finish(llvm::DenseMap<Operation *, unsigned> &places);

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
  /// Adds to what is said of the number of a directive's places.
  void note(Operation *directive, std::string text) {
    notes[directive] = std::move(text);
  }
  StringRef getNote(Operation *directive) const {
    auto found = notes.find(directive);
    return found == notes.end() ? StringRef() : StringRef(found->second);
  }
  /// Notes reductions of several results of module `scope`: those that
  /// placements show to be partial are meant.
  void addAlternatives(Operation *directive, unsigned scope,
                       SmallVector<SyncOp> syncs,
                       SmallVector<unsigned> numbers) {
    alternatives.push_back(
        {directive, scope, std::move(syncs), std::move(numbers)});
  }
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

  struct Alternatives {
    Operation *directive;
    unsigned scope;
    SmallVector<SyncOp> syncs;
    /// Which of the module's outputs they are of.
    SmallVector<unsigned> numbers;
  };

  LogicalResult chooseSyncs(llvm::DenseMap<Operation *, unsigned> &places);
  LogicalResult verifyExpected(ScheduleDirectiveOpInterface directive,
                               unsigned places);
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
  SmallVector<StringRef> findFitting(ScheduleDirectiveOpInterface directive,
                                     ArrayRef<StringRef> names);
  InFlightDiagnostic warnOrFail(ScheduleDirectiveOpInterface directive);
  /// "leaves out none of the 12 modules that … matches", of `except`.
  InFlightDiagnostic sayNotLeftOut(ScheduleDirectiveOpInterface directive);
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
  std::vector<Alternatives> alternatives;
  llvm::DenseMap<Operation *, std::string> notes;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_SCHEDULEAPPLICATION_H
