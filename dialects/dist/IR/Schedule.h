//===- Schedule.h - Schedules and their directives --------------*- C++ -*-===//
//
// Level 1: what a person writes beside a model. Described in DistSchedule.td.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_SCHEDULE_H
#define DIST_DIALECTS_DIST_IR_SCHEDULE_H

#include "dialects/dist/IR/Dist.h"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistSchedule.h.inc"

#endif // DIST_DIALECTS_DIST_IR_SCHEDULE_H
