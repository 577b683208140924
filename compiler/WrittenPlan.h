//===- WrittenPlan.h - A plan that does what a schedule does ----*- C++ -*-===//
//
// What dist-report --plan writes, tried before anybody relies on it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_COMPILER_WRITTENPLAN_H
#define DIST_COMPILER_WRITTENPLAN_H

#include "compiler/Driver.h"

namespace mlir::dist {

struct WrittenPlan {
  /// The plan's file.
  std::string text;
  /// What its form cannot say, and what it sends more or less for that.
  std::vector<std::string> notes;
};

/// Places `model` (level 0 or 1) as `options` say, and writes what was decided
/// as a plan. The plan is applied to a copy of the model: a pending sum that
/// does not arise there is left out of it, and what a rank would send otherwise
/// than under the schedule is noted. `model` becomes the program of one device.
/// Fails, with a message, where the plan would be refused.
FailureOr<WrittenPlan> writePlan(ModuleOp model, DistDistributeOptions options,
                                 Stages &stages);

} // namespace mlir::dist

#endif // DIST_COMPILER_WRITTENPLAN_H
