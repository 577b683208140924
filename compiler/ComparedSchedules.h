//===- ComparedSchedules.h - One model by several schedules -----*- C++ -*-===//

#ifndef DIST_COMPILER_COMPAREDSCHEDULES_H
#define DIST_COMPILER_COMPAREDSCHEDULES_H

#include "compiler/Driver.h"
#include "passes/report/Report.h"

namespace mlir::dist {

/// Distributes a copy of `model` by each of the `files` (schedules or plans),
/// with all else as `options` say, and simulates a step on `machine` unless
/// that is null. A schedule that fails has its first error in place of a
/// report.
std::vector<ScheduleReport>
compareSchedules(ModuleOp model, ArrayRef<std::string> files,
                 const DistDistributeOptions &options, const Machine *machine,
                 Stages &stages);

} // namespace mlir::dist

#endif // DIST_COMPILER_COMPAREDSCHEDULES_H
