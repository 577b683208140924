//===- apply_schedule.h - Schedules on long programs ------------*- C++ -*-===//

#ifndef DIST_BENCHMARKS_APPLY_SCHEDULE_H
#define DIST_BENCHMARKS_APPLY_SCHEDULE_H

/// Registers the benchmark of --dist-apply-schedule: 10 directives on 12, 120
/// and 1,200 layers, and patterns of 1,000 and 8,000 modules.
void registerApplySchedule();

#endif // DIST_BENCHMARKS_APPLY_SCHEDULE_H
