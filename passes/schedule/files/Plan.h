//===- Plan.h - Sharding plans ----------------------------------*- C++ -*-===//
//
// A plan says in JSON, in veScale's form, how parameters and the activations at
// the borders of modules are placed. It becomes a schedule, a directive for
// each placement list.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_FILES_PLAN_H
#define DIST_PASSES_SCHEDULE_FILES_PLAN_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// A schedule and the mesh that it is on, in a module of their own.
struct PlannedSchedule {
  OwningOpRef<ModuleOp> holder;
  ScheduleOp schedule;
};

/// Reads the plan in `text`, the contents of `file`, for `program`, whose mesh
/// it is on where it defines none. Its directives have their places in `file`.
/// Fails after an error at the line that is wrong.
FailureOr<PlannedSchedule> readPlan(StringRef text, StringRef file,
                                    ModuleOp program);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_FILES_PLAN_H
