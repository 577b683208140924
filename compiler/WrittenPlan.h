//===- WrittenPlan.h - A plan equivalent to a schedule ----------*- C++ -*-===//
//
// Writes the plan of dist-report --plan, and tests it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_COMPILER_WRITTENPLAN_H
#define DIST_COMPILER_WRITTENPLAN_H

#include "compiler/Driver.h"

namespace mlir::dist {

struct WrittenPlan {
  /// The plan's file.
  std::string text;
  /// What a plan cannot express, and how many more or fewer bytes it sends for
  /// that.
  std::vector<std::string> notes;
};

/// Places `model` (level 0 or 1) as `options` say, and writes the placements as
/// a plan. The plan is applied to a copy of the model. A pending sum that does
/// not arise there is left out of the plan, and different communication is
/// noted. `model` becomes the program of one device. Fails, with a message, if
/// the plan would be rejected.
FailureOr<WrittenPlan> writePlan(ModuleOp model, DistDistributeOptions options,
                                 Stages &stages);

} // namespace mlir::dist

#endif // DIST_COMPILER_WRITTENPLAN_H
