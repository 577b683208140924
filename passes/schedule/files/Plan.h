//===- Plan.h - Sharding plans ----------------------------------*- C++ -*-===//
//
// A plan is JSON in veScale's form. It gives placements for parameters, and for
// the activations at the borders of modules. It becomes a schedule, with a
// directive for each placement list.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_FILES_PLAN_H
#define DIST_PASSES_SCHEDULE_FILES_PLAN_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// A schedule and the mesh that it is on, in a module of their own.
struct PlannedSchedule {
  OwningOpRef<ModuleOp> holder;
  ScheduleOp schedule;
};

/// Reads the plan `text`, the contents of `file`, for `program`. A plan without
/// a mesh is on the program's mesh. Its directives have their positions in
/// `file`. Fails after an error at the line that is wrong.
FailureOr<PlannedSchedule> readPlan(StringRef text, StringRef file,
                                    ModuleOp program);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_FILES_PLAN_H
