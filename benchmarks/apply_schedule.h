//===- apply_schedule.h - Schedules on long programs ------------*- C++ -*-===//

#ifndef DIST_BENCHMARKS_APPLY_SCHEDULE_H
#define DIST_BENCHMARKS_APPLY_SCHEDULE_H

/// Registers the benchmark of --dist-apply-schedule: 10 directives on 12, 120
/// and 1,200 layers, patterns of 1,000 and 8,000 modules, and a sync of 1,600
/// and 16,000 modules of two results.
void registerApplySchedule();

#endif // DIST_BENCHMARKS_APPLY_SCHEDULE_H
