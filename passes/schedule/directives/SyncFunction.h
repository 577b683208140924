//===- SyncFunction.h - A sync by a user's function -------------*- C++ -*-===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_SYNCFUNCTION_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_SYNCFUNCTION_H

#include "dialects/dist/IR/Schedule.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/schedule/directives/ScheduleApplication.h"

namespace mlir::dist {

/// A function of level 3 that communicates one value, and the one that does so
/// for the value's gradient.
class SyncFunction {
public:
  /// The functions that `directive` names; fails after an error there.
  static FailureOr<SyncFunction> find(SyncOp directive,
                                      ScheduleApplication &application);

  /// Whether its argument is a pending reduction.
  bool takesPending() const { return source.isPartial(); }

  /// Creates the op that applies the function to `value`. Fails after an error
  /// at the directive if the value's parts have another type.
  FailureOr<ManualReshardOp> apply(OpBuilder &builder, Location loc,
                                   Value value);

private:
  SyncFunction(SyncOp directive, ScheduleApplication &application)
      : directive(directive), application(application) {}
  LogicalResult checkForward();
  LogicalResult checkBackward();
  LogicalResult checkBody(FunctionOpInterface function, FlatSymbolRefAttr name);
  LogicalResult checkType(Value value, Type part, ShardingAttr sharding,
                          TypeAttr global, StringRef what);
  FailureOr<ShardingAttr> getPlacement(Attribute attr, const Twine &what);
  void fill(OpBuilder &builder, Region &region, FunctionOpInterface function);

  SyncOp directive;
  ScheduleApplication &application;
  FunctionOpInterface forward, backward;
  ShardingAttr source, sharding;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_SYNCFUNCTION_H
