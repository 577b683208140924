//===- ListSchedule.h - Tables by list scheduling ---------------*- C++ -*-===//

#ifndef DIST_RUNTIME_PIPELINE_LISTSCHEDULE_H
#define DIST_RUNTIME_PIPELINE_LISTSCHEDULE_H

#include "runtime/pipeline/Table.h"

namespace dist::pipeline {

/// Fills the rows of a table of two chunks a rank: always the rank that can
/// begin a task first begins it. A rank holds at most twice as many half
/// chunks as there are ranks. All tasks are taken to last as long. Of four
/// orders among tasks that can begin together, the shortest table. O(tasks ·
/// log(ranks)).
Table scheduleList(const Table &empty);

} // namespace dist::pipeline

#endif // DIST_RUNTIME_PIPELINE_LISTSCHEDULE_H
