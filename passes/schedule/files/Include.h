//===- Include.h - Schedules within schedules -------------------*- C++ -*-===//
//
// What dist.include does.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_FILES_INCLUDE_H
#define DIST_PASSES_SCHEDULE_FILES_INCLUDE_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::dist {

/// The module that a schedule file holds; no output replaces the file. Fails
/// after an error that names it.
FailureOr<OwningOpRef<ModuleOp>> parseScheduleFile(MLIRContext *context,
                                                   StringRef file);

/// Puts the directives of other schedules in the place of each dist.include.
LogicalResult expandIncludes(ScheduleOp schedule);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_FILES_INCLUDE_H
