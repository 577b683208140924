//===- ComparedSchedules.cpp - One model by several schedules -------------===//

#include "compiler/ComparedSchedules.h"

using namespace mlir;
using namespace mlir::dist;

/// By the schedule of `options`.
static FailureOr<ProgramReport> report(ModuleOp model,
                                       const DistDistributeOptions &options,
                                       const Machine *machine, Stages &stages) {
  OwningOpRef<ModuleOp> program = model.clone();
  if (failed(distribute(*program, options, stages)))
    return failure();
  stages.begin("report", "adding up");
  FailureOr<ProgramReport> report = makeReport(*program);
  if (failed(report) || !machine)
    return report;
  FailureOr<Simulation> simulation =
      simulate(*program, *machine, /*wantEvents=*/false);
  if (failed(simulation))
    return failure();
  report->simulation = std::move(*simulation);
  return report;
}

std::vector<ScheduleReport>
mlir::dist::compareSchedules(ModuleOp model, ArrayRef<std::string> files,
                             const DistDistributeOptions &options,
                             const Machine *machine, Stages &stages) {
  std::vector<ScheduleReport> reports;
  for (const std::string &file : files) {
    DistDistributeOptions own = options;
    own.schedule = file;
    size_t errorsBefore = getErrors().size();
    FailureOr<ProgramReport> made = report(model, own, machine, stages);
    ScheduleReport &entry = reports.emplace_back();
    entry.schedule = file;
    if (succeeded(made))
      entry.report = std::move(*made);
    else if (std::vector<std::string> errors = getErrors();
             errors.size() > errorsBefore)
      entry.error = errors[errorsBefore];
    else
      entry.error = "failed without a message";
  }
  return reports;
}
