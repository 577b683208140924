//===- Options.cpp - Options of dist-report -------------------------------===//

#include "tools/report/Options.h"
#include "dist/EmulatedLink.h"

using namespace mlir;
using namespace mlir::dist;
namespace cl = llvm::cl;

ReportOptions::ReportOptions(cl::OptionCategory &category)
    : input(cl::Positional, cl::desc("IN.mlir"), cl::init("-"),
            cl::cat(category)),
      compared(cl::Positional, cl::desc("[schedules of --compare]"),
               cl::cat(category)),
      compare(
          "compare",
          cl::desc("One table in place of the report: a line for each of the "
                   "schedules and plans (*.json) that are named after the "
                   "program. With --machine also the time of a step and "
                   "whether the memory suffices"),
          cl::cat(category)),
      output("o", cl::desc("Where to write"), cl::value_desc("filename"),
             cl::init("-"), cl::cat(category)),
      schedule("schedule",
               cl::desc("File with the schedule, or "
                        "with a plan (*.json)"),
               cl::value_desc("FILE"), cl::cat(category)),
      scheduleName("schedule-name",
                   cl::desc("Which schedule, where the file (or the module) "
                            "has several"),
                   cl::value_desc("NAME"), cl::cat(category)),
      mesh("mesh",
           cl::desc("Sizes of mesh axes, in place of the schedule's own"),
           cl::value_desc("tp=4,..."), cl::CommaSeparated, cl::cat(category)),
      json("json", cl::desc("One JSON object instead of a table"),
           cl::cat(category)),
      all("all",
          cl::desc("A line for every collective, also where "
                   "layers repeat them"),
          cl::cat(category)),
      plan("plan",
           cl::desc(
               "In place of the report: what was decided for every "
               "parameter, and for what goes into the modules and comes out "
               "of them, as a plan (--schedule reads it)"),
           cl::cat(category)),
      link("link",
           cl::desc("Estimate the time of the communication: each collective "
                    "takes latency + bytes sent / bandwidth; with --machine in "
                    "place of its links, too"),
           cl::value_desc(::dist::linkForm), cl::cat(category)),
      simulateStep("simulate",
                   cl::desc("Estimate the time of a step on the devices of "
                            "--machine"),
                   cl::cat(category)),
      machineName(
          "machine",
          cl::desc("For --simulate and --timeline, and, with a schedule, for "
                   "which collectives are cheapest: cpu, 8xA100, 8xH100, "
                   "64x8xH100, or a machine file (*.json)"),
          cl::value_desc("NAME|FILE.json"), cl::cat(category)),
      timeline("timeline",
               cl::desc("Where to write the simulated step: as a trace, which "
                        "Perfetto shows, or as a page for a browser (*.html)"),
               cl::value_desc("FILE.json|FILE.html"), cl::cat(category)),
      pipelineTable("pipeline-table",
                    cl::desc("Where to write the table of a dist.pipeline, "
                             "which may be changed, and given in a schedule"),
                    cl::value_desc("FILE.csv"), cl::cat(category)),
      printMachine("print-machine",
                   cl::desc("Write the file of --machine and "
                            "end: to start one's own from"),
                   cl::cat(category)),
      bind(
          "bind",
          cl::desc("Size of a dimension that the program does not know; may be "
                   "repeated"),
          cl::value_desc("INPUT[DIM]=N"), cl::cat(category)),
      fuseTransposes("fuse-transposes",
                     cl::desc("Store tensors so that collectives are on the "
                              "leading dimension"),
                     cl::cat(category)),
      assumeMasks(
          "assume-masks",
          cl::desc("Scores of attention are at most 4000 in magnitude, "
                   "and each query sees a key, so that masks of -1e4 or "
                   "less hide keys, as -inf does"),
          cl::cat(category)),
      recompute(
          "recompute",
          cl::desc("What backward computes again, as of dist-run (default: "
                   "cheap); of a model, or a step, that is not placed yet"),
          cl::init("cheap"), cl::value_desc("asked|cheap|gathers"),
          cl::cat(category)),
      joinHalos("join-halos",
                cl::desc("Whether layers that follow each other exchange rows "
                         "once, as of dist-run: auto, if --machine estimates "
                         "that it pays; never; or always (default: never)"),
                cl::value_desc("auto|never|always"), cl::cat(category)),
      overlap("overlap",
              cl::desc("Whether collectives run beside computation, as of "
                       "dist-run: auto, if --machine estimates that it pays; "
                       "or off, all where they stand (default: off)"),
              cl::value_desc("off|auto"), cl::cat(category)),
      overlapMemory("overlap-memory",
                    cl::desc("With --overlap=auto: as of dist-run (default: "
                             "1.1)"),
                    cl::init(1.1), cl::cat(category)),
      turns("turns",
            cl::desc("Each device does its part of the batch in turns, as of "
                     "dist-run"),
            cl::value_desc("N|auto|AXIS"), cl::cat(category)),
      microbatches("microbatches", cl::desc("As of dist-run"),
                   cl::aliasopt(turns), cl::NotHidden, cl::cat(category)),
      verbose("v",
              cl::desc("Say how long each stage took, and with "
                       "--join-halos the estimate"),
              cl::cat(category)) {}

DistDistributeOptions ReportOptions::getModelOptions() const {
  DistDistributeOptions options;
  options.schedule = schedule;
  options.scheduleName = scheduleName;
  options.mesh.assign(mesh.begin(), mesh.end());
  options.bind.assign(bind.begin(), bind.end());
  return options;
}

DistDistributeOptions ReportOptions::getDistributeOptions() const {
  DistDistributeOptions options = getModelOptions();
  options.places = !compare;
  options.overlap = overlap.empty() ? "off" : overlap.getValue();
  options.fuseTransposes = fuseTransposes;
  options.assumeMasks = assumeMasks;
  options.recompute = recompute;
  options.joinHalos = joinHalos;
  options.overlapMemory = overlapMemory;
  options.turns = turns;
  options.machine = machineName;
  options.link = link;
  options.report = verbose;
  return options;
}

/// Whether a program has anything to report.
static bool hasOthers(const ReportOptions &options) {
  const cl::Option *others[] = {&options.input,
                                &options.compare,
                                &options.schedule,
                                &options.scheduleName,
                                std::addressof(options.mesh),
                                &options.json,
                                &options.all,
                                &options.plan,
                                &options.link,
                                &options.simulateStep,
                                &options.timeline,
                                &options.pipelineTable,
                                &options.fuseTransposes,
                                &options.joinHalos,
                                &options.overlap,
                                &options.turns,
                                std::addressof(options.bind)};
  return llvm::any_of(others, [](const cl::Option *option) {
    return option->getNumOccurrences() > 0;
  });
}

/// Checks what goes with --machine.
static LogicalResult checkSimulation(const ReportOptions &options) {
  bool wantsMachine =
      options.simulateStep || !options.timeline.empty() || options.printMachine;
  bool ordersByTime = options.joinHalos == "auto" || options.overlap == "auto";
  StringRef message;
  if (wantsMachine && options.machineName.empty())
    message = "--simulate, --timeline and --print-machine need --machine, "
              "which says on what";
  else if (!wantsMachine && !ordersByTime && options.schedule.empty() &&
           !options.compare && !options.machineName.empty())
    message = "--machine: what for? With a schedule collectives are the "
              "cheapest ones on it, --simulate estimates the time of a step, "
              "--timeline draws it, --overlap=auto has collectives run beside "
              "computation and --join-halos=auto joins exchanges where that "
              "pays";
  else if (options.plan && wantsMachine)
    message = "--plan: it is written in place of the report; leave out "
              "--simulate, --timeline and --machine";
  else if (options.printMachine && hasOthers(options))
    message = "--print-machine: it is written in place of all else; give only "
              "--machine and -o beside it";
  else
    return success();
  llvm::errs() << "dist-report: error: " << message << "\n";
  return failure();
}

static LogicalResult checkComparison(const ReportOptions &options) {
  if (options.compare && options.compared.empty())
    llvm::errs() << "dist-report: error: --compare: name schedules after the "
                    "model: MODEL.mlir --compare a.mlir b.mlir\n";
  else if (!options.compare && !options.compared.empty())
    llvm::errs() << "dist-report: error: " << options.compared.front()
                 << ": a schedule is given with --schedule, several with "
                    "--compare\n";
  else if (options.compare &&
           (!options.schedule.empty() || options.plan || options.all ||
            !options.timeline.empty() || !options.pipelineTable.empty()))
    llvm::errs() << "dist-report: error: --compare: the table is of several "
                    "schedules; leave out --schedule, --plan, --all, "
                    "--timeline and --pipeline-table\n";
  else
    return success();
  return failure();
}

LogicalResult ReportOptions::check() const {
  if (json && all) {
    llvm::errs() << "dist-report: error: --all: --json has every collective "
                    "anyway; leave it out\n";
    return failure();
  }
  if (plan &&
      (json || all || fuseTransposes || !link.empty() || !joinHalos.empty())) {
    llvm::errs() << "dist-report: error: --plan: it is written in place of the "
                    "report; leave out --json, --all, --fuse-transposes, "
                    "--join-halos and --link\n";
    return failure();
  }
  return success(succeeded(checkComparison(*this)) &&
                 succeeded(checkSimulation(*this)));
}
