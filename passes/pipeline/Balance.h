//===- Balance.h - Stages that take as long as each other -------*- C++ -*-===//

#ifndef DIST_PASSES_PIPELINE_BALANCE_H
#define DIST_PASSES_PIPELINE_BALANCE_H

#include "passes/cost/StepTime.h"
#include "passes/pipeline/StagePlaces.h"

namespace mlir::dist {

/// What each module of `note` costs in a microbatch, in program order, with
/// what is in no module and would be in its stage: seconds by `times`, or the
/// operations of contractions if that is null. Nothing if a stage cannot begin
/// with each of the modules; `says` emits the error.
std::optional<SmallVector<double>> measureModules(scf::ForOp loop,
                                                  const OuterReads &outer,
                                                  const PipelineNote &note,
                                                  StepTimes *times, bool says);

/// How many of `costs`, which are not negative, each of `count` stages has, at
/// least one, so that the largest sum is least. In O(costs * count).
SmallVector<int64_t> balance(ArrayRef<double> costs, int64_t count);

/// Deals the modules out to as many stages as `note.balance` says, if it does.
/// Otherwise remarks on stages that take much longer than the mean. Fails after
/// an error.
LogicalResult chooseStages(PipelineNote &note, scf::ForOp loop,
                           const OuterReads &outer, StepTimes *times);

} // namespace mlir::dist

#endif // DIST_PASSES_PIPELINE_BALANCE_H
