//===- dist-run.cpp - Compiles and runs a module, or runs a bundle --------===//
//
// One code path: a module is compiled into a temporary bundle, and bundles are
// run by the executor. --verify compares with the level-0 program on one rank.
//
//===----------------------------------------------------------------------===//

#include "compiler/Options.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Utils/Program.h"
#include "dist/EmulatedLink.h"
#include "dist/Launcher.h"
#include "dist/Npy.h"
#include "dist/OptionValues.h"
#include "dist/OutputFile.h"
#include "dist/Outputs.h"
#include "dist/StreamMode.h"
#include "dist/Timeline.h"
#include "inputs/InputRanges.h"
#include "lowering/files/OutputStream.h"
#include "lowering/targets/Targets.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/report/Predict.h"
#include "passes/spmd/partition/RandomStreams.h"
#include "tools/common/CommandLine.h"
#include "tools/common/RunCompiler.h"
#include "tools/common/TimeLimit.h"
#include "train/Train.h"
#include "verify/Comparisons.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

using namespace mlir;
using namespace mlir::dist;
namespace cl = llvm::cl;
namespace host = ::dist;

static cl::OptionCategory category("dist-run options");
static CompileOptions common(category);
static TrainOptions training(category);

static cl::opt<std::string> input(cl::Positional,
                                  cl::desc("IN.mlir or OUT.dist"), cl::Required,
                                  cl::cat(category));
static cl::opt<std::string> backend("backend", cl::desc(host::backendHelp),
                                    cl::init("threads"), cl::cat(category));
static cl::opt<int64_t> processes("n", cl::desc(host::processesHelp),
                                  cl::value_desc("N"), cl::cat(category));
static cl::opt<double> timeout("timeout", cl::desc(host::timeoutHelp),
                               cl::init(60), cl::cat(category));
static const std::string inputHelp =
    std::string(host::inputForms) + host::rangeHelp;
static cl::list<std::string> inputs("input", cl::desc(inputHelp),
                                    cl::value_desc("NAME=VALUE"),
                                    cl::cat(category));
static cl::opt<std::string> randomInputs(
    "random", cl::desc(host::randomHelp), cl::value_desc("SEED"),
    cl::ValueOptional, cl::init("off"), cl::cat(category));
static cl::opt<std::string>
    output("output", cl::desc("Folder that receives NAME.npy for each result"),
           cl::value_desc("FOLDER"), cl::cat(category));
static cl::opt<std::string> verifyMode(
    "verify",
    cl::desc(
        "Compare with the level-0 program on one rank; =f64: both with all "
        "floating-point work in f64"),
    cl::value_desc("f64"), cl::ValueOptional, cl::init("off"),
    cl::cat(category));
static cl::opt<std::string>
    reference("reference", cl::desc("The level-0 program to compare with"),
              cl::value_desc("FILE.mlir"), cl::cat(category));
static cl::list<std::string>
    expect("expect", cl::desc("Compare a result with a recorded one"),
           cl::value_desc("NAME=FILE.npy"), cl::cat(category));
static cl::opt<std::string> relativeTolerance(
    "rtol",
    cl::desc("Relative tolerance, in place of what rounding is found to change "
             "(with --atol alone, and for --expect: 1e-4; with --verify=f64 "
             "1e-10)"),
    cl::cat(category));
static cl::opt<std::string> absoluteTolerance(
    "atol",
    cl::desc("Absolute tolerance, likewise (with --rtol alone, and for "
             "--expect: 1e-5; with --verify=f64 1e-10)"),
    cl::cat(category));
static cl::opt<int64_t> perturbedRuns(
    "perturbed-runs",
    cl::desc("How often the program to compare with is run with random "
             "rounding errors, to find what each element may differ by"),
    cl::init(host::kPerturbedRuns), cl::cat(category));
static cl::opt<bool> allowNonfinite(
    "allow-nonfinite",
    cl::desc("NaN equals NaN and an infinity itself; else a result that has "
             "them is no match"),
    cl::cat(category));
static cl::opt<bool> json("json", cl::desc(host::jsonHelp), cl::cat(category));
static cl::opt<int64_t> repeat("repeat", cl::desc(host::repeatHelp),
                               cl::init(1), cl::cat(category));
static cl::opt<std::string> trace("trace",
                                  cl::desc("The last run as a trace, which "
                                           "Perfetto shows, or as a page for "
                                           "a browser (*.html); with --machine "
                                           "beside the estimate"),
                                  cl::value_desc("FILE.json|FILE.html"),
                                  cl::cat(category));
static cl::opt<std::string>
    linkOption("link", cl::desc(host::linkHelp),
               cl::value_desc(host::linkForm), cl::cat(category));
static cl::opt<std::string>
    streams("streams", cl::desc(host::streamsHelp), cl::value_desc("MODE"),
            cl::cat(category));

static bool verifying() { return verifyMode != "off" || !reference.empty(); }
static bool inF64() { return verifyMode == "f64"; }

/// As text, so that nothing becomes a number that LLVM takes for one: "" would
/// be 0.
static std::optional<double>
parseTolerance(const cl::opt<std::string> &option) {
  if (option.empty())
    return std::nullopt;
  double number;
  if (!llvm::to_float(option, number))
    throw host::Error("--" + option.ArgStr.str() + " " + option +
                      ": a tolerance is a finite number of at least 0");
  return number;
}

static CheckOptions getCheckOptions() {
  CheckOptions options;
  options.relative = parseTolerance(relativeTolerance);
  options.absolute = parseTolerance(absoluteTolerance);
  options.allowNonfinite = allowNonfinite;
  options.json = json;
  options.precision = inF64() ? Precision::F64 : Precision::Own;
  return options;
}

namespace {
/// What ends the program where diagnostics have said why.
struct Diagnosed {};
} // namespace

static bool isBundle(StringRef path) {
  return llvm::sys::fs::is_directory(path);
}

namespace {

/// The program to compare with, and what says how far rounding moves it.
struct Reference {
  host::Program plain;
  std::optional<host::Program> perturbed;
  /// Whether it has loops that turn until something holds.
  bool mayNotEnd = false;
};

/// Random inputs, and the names of those for which there is no range.
struct RandomValues {
  host::RandomInputs random;
  std::set<std::string> contradictory;

  /// Takes the ranges that a program says.
  void take(IndexRanges found) {
    random.ranges = std::move(found.ranges);
    contradictory = {found.contradictory.begin(), found.contradictory.end()};
  }
};

} // namespace

/// Read once, for the program and what it is compared with, whose inputs have
/// the same names.
static const std::map<std::string, host::Shape> &
getInputShapes(ModuleOp module) {
  static const auto shapes =
      host::readInputShapes(inputs, getArgumentNames(module));
  return shapes;
}

/// Sizes that the module does not know: from --bind and the inputs' files.
static std::vector<SizeBinding> findSizes(ModuleOp module) {
  FailureOr<std::vector<SizeBinding>> sizes = parseBindings(common.bind);
  if (failed(sizes))
    throw Diagnosed();
  if (hasUnknownSizes(module))
    for (const auto &[name, shape] : getInputShapes(module))
      addSizes(module, name, shape, *sizes);
  return *sizes;
}

/// The program to compare with, on one rank.
static Reference compileReference(RunCompiler &compiler, int64_t ranks) {
  std::string file = reference.empty() ? input : reference;
  if (isBundle(file))
    throw host::Error("--verify of a bundle needs the level-0 program: "
                      "--reference FILE.mlir");
  OwningOpRef<ModuleOp> module = compiler.load(file);
  DistDistributeOptions unscheduled;
  if (module)
    unscheduled.bind = formatBindings(findSizes(*module));
  if (!module || failed(eraseAnnotations(*module, compiler.stages)) ||
      failed(distribute(*module, unscheduled, compiler.stages)) ||
      (compiler.streams && failed(numberStreams(*module, *compiler.streams))))
    throw host::Error("no program to compare with");
  Reference result;
  result.mayNotEnd =
      module->walk([](scf::WhileOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!getCheckOptions().hasTolerance()) {
    OwningOpRef<ModuleOp> copy = module->clone();
    result.perturbed = compiler.compile(*copy, file, Form::Perturbed, ranks);
  }
  result.plain = compiler.compile(*module, file, Form::Plain, ranks);
  return result;
}

/// The ranges of inputs, with all sizes that are known.
static IndexRanges findRanges(ModuleOp module, ArrayRef<SizeBinding> sizes) {
  if (!hasUnknownSizes(module))
    return findIndexRanges(module);
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(bindSizes(*copy, sizes)))
    throw Diagnosed();
  return findIndexRanges(*copy);
}

/// Whether the schedule speaks of the target, which is no part of the model. A
/// pipe has been read already.
static bool isTargetPlaced() {
  if (!llvm::sys::fs::is_regular_file(common.schedule))
    return false;
  auto text = llvm::MemoryBuffer::getFile(common.schedule);
  return text && (*text)->getBuffer().contains("\"" + training.target + "\"");
}

/// Ends the program after diagnostics have reported the problem. Options and
/// files need no further message.
[[noreturn]] static void failToDistribute(const Stages &stages) {
  if (training.train && isTargetPlaced())
    throw host::Error(input + " could not be made a step of training (a "
                              "schedule speaks of the model alone; what the "
                              "step adds, such as labels, it places itself)");
  if (stages.getFailed() == "placement")
    throw host::Error(input + " could not be partitioned");
  throw Diagnosed();
}

/// The module that is run, of which each rank has its part.
static OwningOpRef<ModuleOp>
loadDistributed(RunCompiler &compiler, RandomValues &values,
                std::optional<Simulation> &predicted) {
  OwningOpRef<ModuleOp> module = compiler.load(input);
  if (!module)
    throw Diagnosed();
  if (training.train && getLevel(*module) == 3)
    training.checkMade(input);
  std::vector<SizeBinding> sizes = findSizes(*module);
  DistDistributeOptions options = common.getDistributeOptions(sizes);
  options.link = linkOption;
  options.f64 = compiler.precision == Precision::F64;
  // What a second compilation would repeat.
  options.places &= inF64() || compiler.precision == Precision::Own;
  if (training.train)
    training.addPasses(
        options.then.emplace_back(ModuleOp::getOperationName()));
  else
    values.take(findRanges(*module, sizes));
  if (failed(distribute(*module, options, compiler.stages)))
    failToDistribute(compiler.stages);
  // What is compared in f64 is another program than the one that was asked for.
  bool isAsked = inF64() || compiler.precision == Precision::Own;
  if (!common.dumpSpmd.empty() && isAsked &&
      failed(writeModule(*module, common.dumpSpmd,
                         relocateWeights(*module, input, common.weights,
                                         folderOf(common.dumpSpmd)))))
    throw Diagnosed();
  compiler.noteStreams(*module);
  if (!common.machine.empty())
    predicted = predict(*module, common.machine, linkOption, !trace.empty());
  return module;
}

static void sayPredicted(const std::optional<Simulation> &predicted) {
  if (!predicted)
    return;
  llvm::outs() << "predicted for " << common.machine << ": "
               << llvm::format("%.3f", 1e3 * predicted->time.getTotal())
               << " ms a step";
  if (predicted->idleShare > 0)
    llvm::outs() << llvm::format(", in which %.1f%% of the ranks' time for "
                                 "products is idle",
                                 100 * predicted->idleShare);
  llvm::outs() << "\n";
}

/// A warning about random numbers: the program does not draw those of one
/// device.
static void sayStreams(RunCompiler &compiler) {
  if (std::string text = compiler.describeStreams(); !text.empty())
    llvm::outs() << text << "\n";
}

static std::string formatTimeline(const Simulation &simulation) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printTimeline(simulation, stream);
  return text;
}

/// Throws Error for options that a bundle cannot take.
static void checkBundleOptions() {

  if (!common.schedule.empty() || !common.plan.empty() ||
      !common.mesh.empty() || !common.scheduleName.empty() ||
      common.allowUnmatched || common.fuseTransposes ||
      !common.overlap.empty() || !common.halos.empty() ||
      !common.joinHalos.empty() || !common.turns.empty() ||
      !common.machine.empty() || !common.dumpSpmd.empty())
    throw host::Error(input +
                      " is a bundle, compiled for a schedule and a mesh: "
                      "--schedule, --plan, --allow-unmatched, "
                      "--fuse-transposes, --mesh, --overlap, --halos, "
                      "--join-halos, --turns, --dump-spmd and --machine do "
                      "not apply");
  if (!common.bind.empty())
    throw host::Error(input + " is a bundle, whose sizes are all known: "
                              "--bind does not apply");
  if (inF64())
    throw host::Error(input + " is a bundle, which cannot be converted to "
                              "f64: --verify=f64 needs a module");
}

/// The values of the program's inputs, those that are random in the ranges that
/// the program to compare with says.
static host::Inputs readValues(RunCompiler &compiler,
                               const host::Manifest &manifest,
                               RandomValues values, bool isQuiet) {
  std::vector<std::string> given(inputs.begin(), inputs.end());
  auto describe = [&] {
    return host::describeRandom(given, manifest, values.random);
  };
  std::map<std::string, std::string> texts = describe();
  if (!reference.empty() && !texts.empty()) {
    if (OwningOpRef<ModuleOp> module = compiler.load(reference))
      values.take(findRanges(*module, findSizes(*module)));
    texts = describe();
  }
  if (!json && !isQuiet)
    for (const auto &[name, text] : texts)
      llvm::outs() << name << ": " << text
                   << (values.contradictory.count(name)
                           ? ", as none is in range of all that it indexes"
                           : "")
                   << "\n";
  return host::readInputs(given, manifest, values.random);
}

namespace {
/// What is run, and on what.
struct Prepared {
  host::Program program;
  host::Inputs values;
  /// What results are to be.
  std::vector<Recorded> recorded;
};
} // namespace

/// Reads all inputs and files, and checks them before anything is compiled.
static Prepared prepareProgram(RunCompiler &compiler, RandomValues &random,
                               std::optional<Simulation> &predicted,
                               bool isQuiet = false) {
  Prepared prepared;
  OwningOpRef<ModuleOp> module;
  if (isBundle(input)) {
    checkBundleOptions();
    prepared.program = host::loadBundle(input);
    compiler.noteStreams(prepared.program.manifest);
  } else {
    module = loadDistributed(compiler, random, predicted);
    prepared.program = compiler.describe(*module, input);
  }
  const host::Manifest &manifest = prepared.program.manifest;
  prepared.values = readValues(compiler, manifest, random, isQuiet);
  if (!isQuiet)
    prepared.recorded =
        readRecorded(std::vector<std::string>(expect), manifest);
  (void)host::Arguments(prepared.program, prepared.values, common.weights);
  if (module)
    prepared.program = compiler.compile(*module, input);
  return prepared;
}

/// Says that the program ends with an error, which may have been printed.
static void sayError(StringRef error, bool isPrinted = false) {
  if (json) {
    using llvm::json::fixUTF8;
    llvm::json::Object object{{"ok", false}, {"error", fixUTF8(error)}};
    llvm::json::Array causes;
    for (const std::string &cause : getErrors())
      causes.push_back(fixUTF8(cause));
    if (!causes.empty())
      object["causes"] = std::move(causes);
    llvm::outs() << llvm::json::Value(std::move(object)) << "\n";
  }
  if (!isPrinted)
    llvm::errs() << "dist-run: error: " << error << "\n";
}

/// Runs the reference program, on one rank. `seconds` is the time of the ranks.
static host::Expected runReference(const Reference &single,
                                   const host::Inputs &values, double seconds) {
  // A loop that rounding keeps from ending on one rank may end on several.
  constexpr double kLeast = 60, kTimes = 1000;
  double limit = std::max(kLeast, kTimes * seconds);
  std::optional<host::TimeLimit> time;
  if (single.mayNotEnd)
    time.emplace(limit, [=] {
      sayError("the program to compare with has a loop that turns until "
               "something holds, and has not ended on one rank after " +
               std::to_string(static_cast<int64_t>(limit)) +
               " s, which the ranks have after " + std::to_string(seconds) +
               " s: rounding may keep it from ending");
      finishOutput("dist-run", 1);
      std::_Exit(1);
    });
  host::RunOptions once;
  once.weights = common.weights;
  once.directConvolutions = true;
  return host::runExpected(single.plain,
                           single.perturbed ? &*single.perturbed : nullptr,
                           values, once, perturbedRuns);
}

/// Where rounding may hide mistakes, both programs are compared with all
/// floating-point work in f64 as well: that tells whether they are the same.
static std::vector<host::Difference> compareInF64(Stages &stages,
                                                  const RandomValues &given,
                                                  host::RunOptions options) {
  RunCompiler compiler(stages, Precision::F64, common, backend);
  // Warnings have been printed of the program that was asked for.
  ScopedDiagnosticHandler onlyErrors(
      &compiler.context, [](Diagnostic &diagnostic) {
        return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
      });
  RandomValues random = given;
  std::optional<Simulation> predicted;
  auto [program, values, unused] =
      prepareProgram(compiler, random, predicted, /*isQuiet=*/true);
  Reference single = compileReference(compiler, program.manifest.mesh.size());
  stages.begin("f64", "running both with all floating-point work in f64");
  options.repeat = 1;
  options.trace = false;
  host::RunResult result = host::launch(program, values, options);
  host::Expected expected =
      runReference(single, values, result.seconds.front());
  return checkReference(program, result, expected, getCheckOptions(),
                        Precision::F64);
}

/// Compares with the program on one rank; where the types are short or rounding
/// decides too much, in f64 too. How many perturbed runs were left out.
static int64_t
verifyResults(RunCompiler &compiler, const host::Program &program,
              const host::RunResult &result, const Reference &single,
              const host::Inputs &values, const RandomValues &random,
              const host::RunOptions &options, Checks &checks) {
  compiler.stages.begin("reference", "running on one rank, to compare");
  CheckOptions checking = getCheckOptions();
  checking.streams = static_cast<bool>(compiler.streams);
  host::Expected expected =
      runReference(single, values, result.seconds.front());
  std::vector<host::Difference> own =
      checkReference(program, result, expected, checking, checking.precision);
  auto isUndecided = [](const host::Difference &found) {
    return found.undecided;
  };
  std::vector<host::Difference> wide;
  if (!inF64() && !checking.hasTolerance() && !isBundle(input) &&
      (compiler.hasShortFloats || llvm::any_of(own, isUndecided)))
    wide = compareInF64(compiler.stages, random, options);
  addReference(own, wide, result, checking, checks);
  return expected.failedRuns;
}

/// Makes a step of the model, and trains.
static void train(const host::RunOptions &options) {
  if (isBundle(input))
    throw host::Error("--train: " + input +
                      " is a bundle, and a step is made of a module");
  Stages stages("dist-run", common.verbose);
  RunCompiler compiler(stages, Precision::Own, common, backend);
  RandomValues unused;
  std::optional<Simulation> predicted;
  OwningOpRef<ModuleOp> module = loadDistributed(compiler, unused, predicted);
  sayPredicted(predicted);
  sayStreams(compiler);
  StepArguments arguments = findStepArguments(*module);
  host::Program described = compiler.describe(*module, input);
  host::Inputs given =
      host::readInputs(std::vector<std::string>(inputs.begin(), inputs.end()),
                       described.manifest);
  runTraining(described, training, arguments, std::move(given), options, [&] {
    host::Program program = compiler.compile(*module, input);
    stages.begin("run", "training");
    return program;
  });
}

/// Throws Error for options that would do nothing.
static void checkOptionsApply() {
  training.check({&verifyMode, &reference, std::addressof(expect), &output, &repeat,
                  &trace, &json, &randomInputs});
  if (!training.resume.empty() && !common.weights.empty())
    throw host::Error("--weights: --resume reads the parameters of " +
                      training.resume);
  bool compares = verifying() || !expect.empty();
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &relativeTolerance, &absoluteTolerance, &allowNonfinite})
    if (option->getNumOccurrences() > 0 && !compares)
      throw host::Error("--" + option->ArgStr.str() +
                        ": nothing is compared; --verify, --reference or "
                        "--expect says with what");
  if (perturbedRuns.getNumOccurrences() > 0 &&
      (!verifying() || getCheckOptions().hasTolerance()))
    throw host::Error("--perturbed-runs: no program is run so; it goes with "
                      "--verify or --reference, without --rtol and --atol");
  for (const cl::Option *option :
       std::initializer_list<const cl::Option *>{&common.cpu, &common.optLevel})
    if (option->getNumOccurrences() > 0 && isBundle(input) && reference.empty())
      throw host::Error("--" + option->ArgStr.str() + ": " + input +
                        " is a bundle, which is compiled already");
}

/// Runs, compares and reports; whether all results agree.
static bool run() {
  if (processes.getNumOccurrences()) {
    host::RunOptions asked;
    asked.setProcesses(processes);
    backend = asked.backend;
  }
  host::checkBackend(backend);
  if (verifyMode != "off" && !verifyMode.empty() && verifyMode != "f64")
    throw host::Error("--verify=" + verifyMode +
                      ": expected --verify or "
                      "--verify=f64");
  if (repeat < 1)
    throw host::Error("--repeat " + std::to_string(repeat) +
                      ": must be at least 1");
  if (perturbedRuns < 1)
    throw host::Error("--perturbed-runs " + std::to_string(perturbedRuns) +
                      ": must be at least 1; --rtol and --atol compare "
                      "without");
  const CheckOptions checking = getCheckOptions();
  findTolerance(checking, checking.precision);
  checkOptionsApply();
  host::RunOptions options;
  options.backend = backend;
  options.processes = processes;
  options.timeoutSeconds = timeout;
  options.weights = common.weights;
  options.repeat = repeat;
  options.trace = !trace.empty();
  options.keepParts = verifying() || !expect.empty();
  // What reads padding is wrong, and shows.
  options.padding = verifying() ? host::Padding::Poison : host::Padding::Zero;
  // What sums may differ by is what is allowed.
  options.directConvolutions = verifying();
  if (!linkOption.empty())
    options.link = host::parseLink(linkOption);
  if (!streams.empty())
    options.streams = host::parseStreamMode(streams);

  if (training.train) {
    train(options);
    return true;
  }
  Stages stages("dist-run", common.verbose);
  RunCompiler compiler(stages, checking.precision, common, backend);
  RandomValues random;
  if (randomInputs != "off")
    random.random.rest = host::parseSeed(randomInputs);
  std::optional<Simulation> predicted;
  auto [program, values, recorded] =
      prepareProgram(compiler, random, predicted);
  if (!json)
    sayStreams(compiler);
  std::optional<Reference> single;
  if (verifying())
    single = compileReference(compiler, program.manifest.mesh.size());
  stages.begin("run", "running");
  host::RunResult result = host::launch(program, values, options);
  if (!result.isRoot)
    return true;
  if (predicted && options.trace)
    result.trace = host::joinTraces(result.trace, formatTimeline(*predicted));
  host::writeOutputs(output, trace, result);

  Checks checks(result.outputs.size());
  int64_t leftOut = 0;
  if (single)
    leftOut = verifyResults(compiler, program, result, *single, values, random,
                            options, checks);
  checkRecorded(program, result, recorded, checking, checks);
  bool ok = llvm::all_of(checks, std::mem_fn(&Checked::areEqual));

  if (json) {
    std::optional<double> estimate;
    if (predicted)
      estimate = predicted->time.getTotal();
    reportJson(program, result, checks, ok, leftOut, estimate);
    return ok;
  }
  for (const host::RunResult::Output &one : result.outputs)
    llvm::outs() << one.name << ": " << host::dtypeName(one.tensor.dtype)
                 << host::toString(one.tensor.shape)
                 << (output.empty() ? "" : " written") << "\n";
  int64_t ranks = program.manifest.mesh.size();
  size_t runs = result.seconds.size();
  llvm::outs() << ranks << (ranks == 1 ? " rank, " : " ranks, ") << runs
               << (runs == 1 ? " run, " : " runs, best ")
               << llvm::format("%.3f",
                               1e3 * *std::min_element(result.seconds.begin(),
                                                       result.seconds.end()))
               << (runs == 1 ? " ms with what only the first takes (--repeat)\n"
                             : " ms\n");
  sayPredicted(predicted);
  return ok;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  host::handleSignals("dist-run");
  cl::HideUnrelatedOptions(category);
  registerStageOptions();
  parseOptions("dist-run", argc, argv,
               "Compiles a module of any level, once for all "
               "ranks, and runs it; or runs "
               "a bundle.\n");
  try {
    return finishOutput("dist-run", run() ? 0 : 1);
  } catch (const Diagnosed &) {
    std::vector<std::string> errors = getErrors();
    sayError(errors.empty() ? "" : errors.back(), /*isPrinted=*/true);
  } catch (const std::exception &error) {
    sayError(error.what());
  }
  return finishOutput("dist-run", 1);
}
