//===- Outputs.cpp - What dist-report writes ------------------------------===//

#include "tools/report/Outputs.h"
#include "compiler/ComparedSchedules.h"
#include "compiler/WrittenPlan.h"
#include "dialects/dist/Utils/Program.h"
#include "dist/Timeline.h"
#include "lowering/files/OutputStream.h"
#include "passes/cost/Machine.h"
#include "passes/report/Simulation.h"

using namespace mlir;
using namespace mlir::dist;

LogicalResult mlir::dist::prepareReport(ModuleOp module,
                                        const ReportOptions &options,
                                        Stages &stages) {
  FailureOr<std::vector<SizeBinding>> sizes = parseBindings(options.bind);
  if (failed(sizes))
    return failure();
  bool isPlaced = getLevel(module) >= 3;
  if (isPlaced && options.recompute.getNumOccurrences() > 0)
    return module.emitError("is the program of one device, in which it is "
                            "decided already what backward computes again: "
                            "--recompute is for what is not placed yet "
                            "(dist-opt --dist-recompute=what=")
           << options.recompute << " does it to this)";
  if (!isPlaced || !options.schedule.empty() || !options.scheduleName.empty() ||
      !options.mesh.empty() || options.fuseTransposes ||
      !options.joinHalos.empty() || !options.overlap.empty() ||
      !options.turns.empty())
    return distribute(module, options.getDistributeOptions(), stages);
  // What is sent depends on all sizes.
  return hasUnknownSizes(module) || !sizes->empty() ? bindSizes(module, *sizes)
                                                    : success();
}

static LogicalResult sayError(llvm::Error error) {
  llvm::errs() << "dist-report: error: " << llvm::toString(std::move(error))
               << "\n";
  return failure();
}

/// Writes to the file `path`, or says why that cannot be.
static LogicalResult
writeOutput(StringRef path, function_ref<void(llvm::raw_ostream &)> write) {
  llvm::Error error = writeFile(path, [&](llvm::raw_ostream &os) {
    write(os);
    return llvm::Error::success();
  });
  return error ? sayError(std::move(error)) : success();
}

LogicalResult mlir::dist::writeReport(ProgramReport &report, ModuleOp module,
                                      const ReportOptions &options,
                                      const Machine &machine,
                                      const LinkTime &time) {
  std::unique_ptr<OutputStream> drawing;
  if (options.simulateStep || !options.timeline.empty()) {
    FailureOr<Simulation> simulation =
        simulate(module, machine, !options.timeline.empty());
    if (failed(simulation))
      return failure();
    if (!options.timeline.empty()) {
      auto file = OutputStream::open(options.timeline);
      if (!file)
        return sayError(file.takeError());
      drawing = std::move(*file);
      std::string text;
      llvm::raw_string_ostream stream(text);
      printTimeline(*simulation, stream);
      drawing->os() << ::dist::formatTimeline(text, options.timeline);
    }
    if (options.simulateStep)
      report.simulation = std::move(*simulation);
  }
  std::unique_ptr<OutputStream> table;
  if (!options.pipelineTable.empty()) {
    if (!report.pipeline)
      return module.emitError("--pipeline-table: the program has no "
                              "dist.pipeline, or has not been made a step of "
                              "training with microbatches");
    auto file = OutputStream::open(options.pipelineTable);
    if (!file)
      return sayError(file.takeError());
    table = std::move(*file);
    table->os() << ::dist::pipeline::writeTable(report.pipeline->tasks);
  }
  auto file = OutputStream::open(options.output);
  if (!file)
    return sayError(file.takeError());
  llvm::raw_ostream &os = (*file)->os();
  if (options.json)
    printJson(report, time, os);
  else
    printTable(report, time, options.all, os);
  // All or none.
  SmallVector<OutputStream *> files{file->get()};
  for (OutputStream *other : {drawing.get(), table.get()})
    if (other)
      files.push_back(other);
  llvm::Error error = OutputStream::keep(files);
  return error ? sayError(std::move(error)) : success();
}

LogicalResult mlir::dist::writePlanOf(ModuleOp module,
                                      const ReportOptions &options,
                                      Stages &stages) {
  if (int level = getLevel(module); level > 1)
    return module.emitError("is at level ")
           << level << "; a plan speaks of the model's modules: give the model "
           << "(level 0 or 1), and its schedule with --schedule";
  FailureOr<WrittenPlan> plan =
      writePlan(module, options.getModelOptions(), stages);
  if (failed(plan))
    return failure();
  for (const std::string &note : plan->notes)
    llvm::errs() << "dist-report: note: " << note << "\n";
  return writeOutput(options.output,
                     [&](llvm::raw_ostream &os) { os << plan->text; });
}

LogicalResult mlir::dist::writeComparison(ModuleOp module,
                                          const ReportOptions &options,
                                          const Machine *machine,
                                          const LinkTime &time,
                                          Stages &stages) {
  FailureOr<std::vector<SizeBinding>> sizes = parseBindings(options.bind);
  if (failed(sizes))
    return failure();
  bool hasBackward = module
                         .walk([](Operation *op) {
                           return op->hasAttr(kBackwardAttr)
                                      ? WalkResult::interrupt()
                                      : WalkResult::advance();
                         })
                         .wasInterrupted();
  if (hasBackward)
    return module.emitError(
        "has gradients already, as a step of training has, and a schedule goes "
        "on the model before the step is made: --compare takes the model. A "
        "step by a schedule is made by dist-opt MODEL "
        "--dist-apply-schedule=file=SCHEDULE --dist-train-step=…, and reported "
        "without --compare");
  std::vector<ScheduleReport> reports =
      compareSchedules(module, options.compared, options.getDistributeOptions(),
                       machine, stages);
  if (failed(writeOutput(options.output, [&](llvm::raw_ostream &os) {
        options.json ? printJson(reports, time, os)
                     : printTable(reports, time, os);
      })))
    return failure();
  bool areAll = llvm::all_of(reports, [](const ScheduleReport &one) {
    return one.report.has_value();
  });
  return success(areAll);
}

LogicalResult mlir::dist::writeMachine(const ReportOptions &options,
                                       MLIRContext *context) {
  if (failed(Machine::load(options.machineName, context)))
    return failure();
  if (std::optional<MachinePreset> preset =
          findMachinePreset(options.machineName))
    return writeOutput(options.output,
                       [&](llvm::raw_ostream &os) { os << preset->text; });
  llvm::errs() << "dist-report: error: --print-machine: '"
               << options.machineName << "' is a file already\n";
  return failure();
}
