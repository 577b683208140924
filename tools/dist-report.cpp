//===- dist-report.cpp - What a scheduled program sends and needs ---------===//

#include "compiler/ComparedSchedules.h"
#include "compiler/WrittenPlan.h"
#include "dialects/dist/Utils/Program.h"
#include "dist/EmulatedLink.h"
#include "dist/Timeline.h"
#include "lowering/files/OutputStream.h"
#include "passes/cost/Machine.h"
#include "passes/report/Report.h"
#include "passes/report/Simulation.h"
#include "tools/common/CommandLine.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace mlir::dist;
namespace cl = llvm::cl;

static cl::OptionCategory category("dist-report options");
static cl::opt<std::string> input(cl::Positional, cl::desc("<program>"),
                                  cl::init("-"), cl::cat(category));
static cl::list<std::string> schedules(cl::Positional,
                                       cl::desc("[schedules of --compare]"),
                                       cl::cat(category));
static cl::opt<bool>
    compare("compare",
            cl::desc("One table in place of the report: a line for each of the "
                     "schedules and plans (*.json) that are named after the "
                     "program. With --machine also the time of a step and "
                     "whether the memory suffices"),
            cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("Where to write"),
                                   cl::value_desc("filename"), cl::init("-"),
                                   cl::cat(category));
static cl::opt<std::string> schedule("schedule",
                                     cl::desc("File with the schedule, or "
                                              "with a plan (*.json)"),
                                     cl::value_desc("FILE"), cl::cat(category));
static cl::opt<std::string>
    scheduleName("schedule-name",
                 cl::desc("Which schedule, where the file (or the module) has "
                          "several"),
                 cl::value_desc("NAME"), cl::cat(category));
static cl::list<std::string>
    mesh("mesh", cl::desc("Sizes of mesh axes, in place of the schedule's own"),
         cl::value_desc("tp=4,..."), cl::CommaSeparated, cl::cat(category));
static cl::opt<bool> json("json",
                          cl::desc("One JSON object instead of a table"),
                          cl::cat(category));
static cl::opt<bool> all("all",
                         cl::desc("A line for every collective, also where "
                                  "layers repeat them"),
                         cl::cat(category));
static cl::opt<bool>
    plan("plan",
         cl::desc("In place of the report: what was decided for every "
                  "parameter, and for what goes into the modules and comes out "
                  "of them, as a plan (--schedule reads it)"),
         cl::cat(category));
static cl::opt<std::string>
    linkOption("link",
         cl::desc("Estimate the time of the communication: each collective "
                  "takes latency + bytes sent / bandwidth; with --machine in "
                  "place of its links, too"),
         cl::value_desc(::dist::linkForm), cl::cat(category));
static cl::opt<bool>
    simulateStep("simulate",
                 cl::desc("Estimate the time of a step on the devices of "
                          "--machine"),
                 cl::cat(category));
static cl::opt<std::string> machineName(
    "machine",
    cl::desc("For --simulate and --timeline, and, with a schedule, for "
             "which collectives are cheapest: cpu, 8xA100, 8xH100, "
             "64x8xH100, or a machine file (*.json)"),
    cl::value_desc("NAME|FILE.json"), cl::cat(category));
static cl::opt<std::string>
    timeline("timeline",
             cl::desc("Where to write the simulated step: as a trace, which "
                      "Perfetto shows, or as a page for a browser (*.html)"),
             cl::value_desc("FILE.json|FILE.html"), cl::cat(category));
static cl::opt<bool> printMachine("print-machine",
                                  cl::desc("Write the file of --machine and "
                                           "end: to start one's own from"),
                                  cl::cat(category));
static cl::list<std::string>
    bind("bind",
         cl::desc("Size of a dimension that the program does not know; may be "
                  "repeated"),
         cl::value_desc("INPUT[DIM]=N"), cl::cat(category));
static cl::opt<bool>
    fuseTransposes("fuse-transposes",
                   cl::desc("Store tensors so that collectives are on the "
                            "leading dimension"),
                   cl::cat(category));
static cl::opt<bool>
    assumeMasks("assume-masks",
                cl::desc("Scores of attention are at most 4000 in magnitude, "
                         "and each query sees a key, so that masks of -1e4 or "
                         "less hide keys, as -inf does"),
                cl::cat(category));
static cl::opt<std::string>
    recompute("recompute",
              cl::desc("What backward computes again, as of dist-run (default: "
                       "cheap); of a model, or a step, that is not placed yet"),
              cl::init("cheap"), cl::value_desc("asked|cheap|gathers"),
              cl::cat(category));
static cl::opt<std::string>
    joinHalos("join-halos",
              cl::desc("Whether layers that follow each other exchange rows "
                       "once, as of dist-run: auto, if --machine estimates "
                       "that it pays; never; or always (default: never)"),
              cl::value_desc("auto|never|always"), cl::cat(category));
static cl::opt<std::string>
    overlap("overlap",
            cl::desc("Whether collectives run beside computation, as of "
                     "dist-run: auto, if --machine estimates that it pays; "
                     "or off, all where they stand (default: off)"),
            cl::value_desc("off|auto"), cl::cat(category));
static cl::opt<double>
    overlapMemory("overlap-memory",
                  cl::desc("With --overlap=auto: as of dist-run (default: "
                           "1.1)"),
                  cl::init(1.1), cl::cat(category));
static cl::opt<std::string>
    turns("turns",
          cl::desc("Each device does its part of the batch in turns, as of "
                   "dist-run"),
          cl::value_desc("N|auto|AXIS"), cl::cat(category));
static cl::opt<bool> verbose("v",
                             cl::desc("Say how long each stage took, and with "
                                      "--join-halos the estimate"),
                             cl::cat(category));

/// What the options say of the model alone.
static DistDistributeOptions getModelOptions() {
  DistDistributeOptions options;
  options.schedule = schedule;
  options.scheduleName = scheduleName;
  options.mesh.assign(mesh.begin(), mesh.end());
  options.bind.assign(bind.begin(), bind.end());
  return options;
}

/// What all options say.
static DistDistributeOptions getDistributeOptions() {
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
  options.link = linkOption;
  options.report = verbose;
  return options;
}

/// Makes the program of one device, if `module` is none yet, with all sizes
/// known.
static LogicalResult prepare(ModuleOp module, Stages &stages) {
  FailureOr<std::vector<SizeBinding>> sizes = parseBindings(bind);
  if (failed(sizes))
    return failure();
  bool isPlaced = getLevel(module) >= 3;
  if (isPlaced && recompute.getNumOccurrences() > 0)
    return module.emitError("is the program of one device, in which it is "
                            "decided already what backward computes again: "
                            "--recompute is for what is not placed yet "
                            "(dist-opt --dist-recompute=what=")
           << recompute << " does it to this)";
  if (!isPlaced || !schedule.empty() || !scheduleName.empty() ||
      !mesh.empty() || fuseTransposes || !joinHalos.empty() ||
      !overlap.empty() || !turns.empty())
    return distribute(module, getDistributeOptions(), stages);
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

static LogicalResult writePlanOf(ModuleOp module, Stages &stages) {
  if (int level = getLevel(module); level > 1)
    return module.emitError("is at level ")
           << level << "; a plan speaks of the model's modules: give the model "
           << "(level 0 or 1), and its schedule with --schedule";
  FailureOr<WrittenPlan> plan = writePlan(module, getModelOptions(), stages);
  if (failed(plan))
    return failure();
  for (const std::string &note : plan->notes)
    llvm::errs() << "dist-report: note: " << note << "\n";
  return writeOutput(output, [&](llvm::raw_ostream &os) { os << plan->text; });
}

/// Fails, after all is written, if a schedule fails.
static LogicalResult writeComparison(ModuleOp module, const Machine *machine,
                                     const LinkTime &time, Stages &stages) {
  FailureOr<std::vector<SizeBinding>> sizes = parseBindings(bind);
  if (failed(sizes))
    return failure();
  std::vector<ScheduleReport> reports = compareSchedules(
      module, schedules, getDistributeOptions(), machine, stages);
  if (failed(writeOutput(output, [&](llvm::raw_ostream &os) {
        json ? printJson(reports, time, os) : printTable(reports, time, os);
      })))
    return failure();
  bool areAll = llvm::all_of(reports, [](const ScheduleReport &one) {
    return one.report.has_value();
  });
  return success(areAll);
}

/// Whether a program has anything to report.
static bool hasOthers() {
  const cl::Option *all[] = {&input,
                             &compare,
                             &schedule,
                             &scheduleName,
                             std::addressof(mesh),
                             &json,
                             &::all,
                             &plan,
                             &linkOption,
                             &simulateStep,
                             &timeline,
                             &fuseTransposes,
                             &joinHalos,
                             &overlap,
                             &turns,
                             std::addressof(bind)};
  return llvm::any_of(all, [](const cl::Option *option) {
    return option->getNumOccurrences() > 0;
  });
}

/// Refuses options that would be without effect.
static LogicalResult checkSimulation() {
  bool wantsMachine = simulateStep || !timeline.empty() || printMachine;
  bool ordersByTime = joinHalos == "auto" || overlap == "auto";
  StringRef message;
  if (wantsMachine && machineName.empty())
    message = "--simulate, --timeline and --print-machine need --machine, "
              "which says on what";
  else if (!wantsMachine && !ordersByTime && schedule.empty() && !compare &&
           !machineName.empty())
    message = "--machine: what for? With a schedule collectives are the "
              "cheapest ones on it, --simulate estimates the time of a step, "
              "--timeline draws it, --overlap=auto has collectives run beside "
              "computation and --join-halos=auto joins exchanges where that "
              "pays";
  else if (plan && wantsMachine)
    message = "--plan: it is written in place of the report; leave out "
              "--simulate, --timeline and --machine";
  else if (printMachine && hasOthers())
    message = "--print-machine: it is written in place of all else; give only "
              "--machine and -o beside it";
  else
    return success();
  llvm::errs() << "dist-report: error: " << message << "\n";
  return failure();
}

static LogicalResult checkComparison() {
  if (compare && schedules.empty())
    llvm::errs() << "dist-report: error: --compare: name schedules after the "
                    "model: MODEL.mlir --compare a.mlir b.mlir\n";
  else if (!compare && !schedules.empty())
    llvm::errs() << "dist-report: error: " << schedules.front()
                 << ": a schedule is given with --schedule, several with "
                    "--compare\n";
  else if (compare && (!schedule.empty() || plan || all || !timeline.empty()))
    llvm::errs() << "dist-report: error: --compare: the table is of several "
                    "schedules; leave out --schedule, --plan, --all and "
                    "--timeline\n";
  else
    return success();
  return failure();
}

/// Writes the text of the machine file.
static LogicalResult writeMachine(MLIRContext *context) {
  if (failed(Machine::load(machineName, context)))
    return failure();
  if (std::optional<MachinePreset> preset = findMachinePreset(machineName))
    return writeOutput(output,
                       [&](llvm::raw_ostream &os) { os << preset->text; });
  llvm::errs() << "dist-report: error: --print-machine: '" << machineName
               << "' is a file already\n";
  return failure();
}

static LogicalResult run() {
  if (json && all) {
    llvm::errs() << "dist-report: error: --all: --json has every collective "
                    "anyway; leave it out\n";
    return failure();
  }
  if (plan &&
      (json || all || fuseTransposes || !linkOption.empty() || !joinHalos.empty())) {
    llvm::errs() << "dist-report: error: --plan: it is written in place of the "
                    "report; leave out --json, --all, --fuse-transposes, "
                    "--join-halos and --link\n";
    return failure();
  }
  if (failed(checkComparison()) || failed(checkSimulation()))
    return failure();
  LinkTime time;
  if (!linkOption.empty()) {
    try {
      ::dist::EmulatedLink given = ::dist::parseLink(linkOption);
      time = [given](int64_t bytes) {
        return given.latencySeconds +
               (given.bytesPerSecond > 0 ? bytes / given.bytesPerSecond : 0);
      };
    } catch (const std::exception &error) {
      llvm::errs() << "dist-report: " << error.what() << "\n";
      return failure();
    }
  }

  DialectRegistry registry;
  registerAll(registry);
  MLIRContext context(registry);
  DiagnosticPrinter printer(&context);
  if (printMachine)
    return writeMachine(&context);
  Machine machine;
  if (!machineName.empty()) {
    FailureOr<Machine> loaded =
        loadMachine(UnknownLoc::get(&context), "--machine", machineName, linkOption);
    if (failed(loaded))
      return failure();
    machine = std::move(*loaded);
  }
  Stages stages("dist-report", verbose);
  OwningOpRef<ModuleOp> module = loadModule(input, &context, stages);
  if (!module)
    return failure();
  ::dist::noteInput(weightsPath(*module, input, ""));
  if (plan)
    return writePlanOf(*module, stages);
  if (compare)
    return writeComparison(*module, machineName.empty() ? nullptr : &machine,
                           time, stages);
  if (failed(prepare(*module, stages)))
    return failure();
  stages.begin("report", "adding up");
  FailureOr<ProgramReport> report = makeReport(*module);
  if (failed(report))
    return failure();
  std::unique_ptr<OutputStream> drawing;
  if (simulateStep || !timeline.empty()) {
    FailureOr<Simulation> simulation =
        simulate(*module, machine, !timeline.empty());
    if (failed(simulation))
      return failure();
    if (!timeline.empty()) {
      auto file = OutputStream::open(timeline);
      if (!file)
        return sayError(file.takeError());
      drawing = std::move(*file);
      std::string text;
      llvm::raw_string_ostream stream(text);
      printTimeline(*simulation, stream);
      drawing->os() << ::dist::formatTimeline(text, timeline);
    }
    if (simulateStep)
      report->simulation = std::move(*simulation);
  }
  auto file = OutputStream::open(output);
  if (!file)
    return sayError(file.takeError());
  llvm::raw_ostream &os = (*file)->os();
  if (json)
    printJson(*report, time, os);
  else
    printTable(*report, time, all, os);
  // Both or none.
  SmallVector<OutputStream *> files{file->get()};
  if (drawing)
    files.push_back(drawing.get());
  llvm::Error error = OutputStream::keep(files);
  return error ? sayError(std::move(error)) : success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  ::dist::handleSignals("dist-report");
  cl::HideUnrelatedOptions(category);
  registerStageOptions();
  parseOptions(
      "dist-report", argc, argv,
      "Reports every collective of a model with a schedule (--schedule), of a "
      "training step,\nor of a program at level 3 (dist-opt --dist-spmd): why "
      "it is there, what a rank\nsends for it, and what a rank holds and "
      "computes.\n\n"
      "Bytes sent are those of a bandwidth-optimal algorithm. Memory is that "
      "of "
      "the tensors\nalive at once in program order, arguments included. Work "
      "is "
      "that of contractions:\na multiplication and an addition are 2 FLOP.\n");
  return finishOutput("dist-report", failed(run()));
}
