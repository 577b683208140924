//===- Schedule.h - Reading and applying schedules --------------*- C++ -*-===//
//
// Implements --dist-apply-schedule.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_FILES_SCHEDULE_H
#define DIST_PASSES_SCHEDULE_FILES_SCHEDULE_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// Moves the schedule called `name` (the only one where `name` is empty) of the
/// schedule file `file`, and the mesh that it is on, into `module`. A mesh that
/// the module has already must have the same axes. A file called *.json is a
/// plan.
FailureOr<ScheduleOp> loadSchedule(ModuleOp module, StringRef file,
                                   StringRef name);

/// Moves the plan in `file` into `module`, as a schedule and its mesh (Plan.h).
FailureOr<ScheduleOp> loadPlan(ModuleOp module, StringRef file);

/// The schedule of `module` called `name`, or the only one.
FailureOr<ScheduleOp> findSchedule(ModuleOp module, StringRef name);

/// Writes the directives of `schedule` into `module` as shardings, constraints
/// and syncs, then erases the schedule. Writes a line for each directive to
/// `report`, unless it is null: how many places it applied to. A target that
/// matches nothing is a warning with `allowUnmatched`, else an error.
LogicalResult applySchedule(ModuleOp module, ScheduleOp schedule,
                            llvm::raw_ostream *report,
                            bool allowUnmatched = false);

/// Registers the implementations of the dialect's directives.
void registerScheduleDirectives(DialectRegistry &registry);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_FILES_SCHEDULE_H
