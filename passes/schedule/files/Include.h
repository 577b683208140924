//===- Include.h - Schedules within schedules -------------------*- C++ -*-===//
//
// Implements dist.include.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_FILES_INCLUDE_H
#define DIST_PASSES_SCHEDULE_FILES_INCLUDE_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::dist {

/// The module in a schedule file. No output replaces the file. Fails after an
/// error that names it.
FailureOr<OwningOpRef<ModuleOp>> parseScheduleFile(MLIRContext *context,
                                                   StringRef file);

/// Replaces each dist.include by the directives of the other schedule.
LogicalResult expandIncludes(ScheduleOp schedule);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_FILES_INCLUDE_H
