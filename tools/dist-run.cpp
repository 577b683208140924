//===- dist-run.cpp - Compiles and runs a module, or runs a bundle --------===//
//
// One code path: a module is compiled into a temporary bundle, and bundles are
// run by the executor. --verify compares with the level-0 program on one rank.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Utils/Program.h"
#include "dist/OptionValues.h"
#include "dist/Outputs.h"
#include "dist/Timeline.h"
#include "lowering/files/OutputStream.h"
#include "tools/common/CommandLine.h"
#include "tools/run/Messages.h"
#include "tools/run/Verify.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace mlir;
using namespace mlir::dist;
namespace cl = llvm::cl;
namespace host = ::dist;

static cl::OptionCategory category("dist-run options");
static RunToolOptions options(category);

static std::string formatTimeline(const Simulation &simulation) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printTimeline(simulation, stream);
  return text;
}

/// An error that ends the program.
static void tell(const std::string &error) {
  sayError(error, options.json);
  llvm::outs().flush();
}

/// Makes a step of the model, and trains.
static void train() {
  if (options.isBundle())
    throw host::Error("--train: " + options.input +
                      " is a bundle, and a step is made of a module");
  Stages stages("dist-run", options.common.verbose);
  RunCompiler compiler(stages, Precision::Own, options.common, options.backend);
  RandomValues unused;
  std::optional<Simulation> predicted;
  OwningOpRef<ModuleOp> module =
      loadDistributed(compiler, options, unused, predicted);
  sayPredicted(predicted, options.common.machine);
  sayStreams(compiler);
  StepArguments arguments = findStepArguments(*module);
  compiler.notes.states = arguments.states;
  host::Program described = compiler.describe(*module, options.input);
  host::Inputs given =
      host::readInputs(options.getInputs(), described.manifest);
  runTraining(described, options.training, arguments, std::move(given),
              options.getRunOptions(), [&] {
                host::Program program =
                    compiler.compile(*module, options.input);
                stages.begin("run", "training");
                return program;
              });
}

/// Runs what the root has compiled.
static void follow() {
  std::string text;
  host::Program program = host::receiveProgram(text);
  CompiledNotes notes = CompiledNotes::read(text);
  program.manifest.weights = notes.weights;
  const host::RunOptions running = options.getRunOptions();
  if (options.training.train)
    return followTraining(program, options.training, notes.states, running);
  host::RandomInputs random;
  random.ranges = notes.ranges;
  if (options.random != "off")
    random.rest = host::parseSeed(options.random);
  host::Inputs values = host::readInputs(options.getInputs(), program.manifest,
                                         random, host::inputFilesOf(running));
  host::launch(program, values, running);
}

/// Runs, compares and reports; whether all results agree.
static bool run() {
  options.check();
  host::begin(options.getRunOptions(), tell);
  if (!host::isRoot() && !options.isBundle()) {
    follow();
    return true;
  }
  if (options.training.train) {
    train();
    return true;
  }
  const CheckOptions checking = options.getCheckOptions();
  host::RunOptions running = options.getRunOptions();
  Stages stages("dist-run", options.common.verbose);
  RunCompiler compiler(stages, checking.precision, options.common,
                       options.backend);
  RandomValues random;
  if (options.random != "off")
    random.random.rest = host::parseSeed(options.random);
  std::optional<Simulation> predicted;
  Prepared prepared = prepareProgram(compiler, options, random, predicted);
  const host::Program &program = prepared.program;
  if (!options.json)
    sayStreams(compiler);
  std::optional<Reference> single;
  if (options.verifies())
    single = compileReference(compiler, options, program.manifest.mesh.size());
  host::ResultFiles files(options.output, options.trace, program.manifest);
  running.keepsWholes = false;
  running.sink = files.sink();
  running.keepsParts = [&](const std::string &name) {
    return options.verifies() ||
           llvm::any_of(prepared.recorded, [&](const Recorded &recorded) {
             return recorded.result == name;
           });
  };
  stages.begin("run", "running");
  host::RunResult result = host::launch(program, prepared.values, running);
  running.sink = nullptr;
  if (!result.isRoot)
    return true;
  if (predicted && running.trace)
    result.trace = host::joinTraces(result.trace, formatTimeline(*predicted));
  files.commit(result.trace);

  Checks checks(result.outputs.size());
  int64_t leftOut = 0;
  if (single)
    leftOut = verifyResults(compiler, options, prepared, result, *single,
                            random, running, checks);
  checkRecorded(program, result, prepared.recorded, checking, checks);
  bool ok = llvm::all_of(checks, std::mem_fn(&Checked::areEqual));

  if (options.json) {
    std::optional<double> estimate;
    if (predicted)
      estimate = predicted->time.getTotal();
    reportJson(program, result, checks, ok, leftOut, estimate);
    return ok;
  }
  llvm::outs() << host::describeRun(program, result, !options.output.empty());
  sayPredicted(predicted, options.common.machine);
  return ok;
}

namespace {
/// In processes that were started together, what each says of its options is
/// kept back: one tells for all.
class HeldErrors {
public:
  HeldErrors() {
    if (!host::areStartedTogether())
      return;
    held = memfd_create("errors", MFD_CLOEXEC);
    own = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (held >= 0 && own >= 0)
      dup2(held, STDERR_FILENO);
  }
  ~HeldErrors() { llvm::errs() << take(); }

  /// What was said; from here on it is said at once.
  std::string take() {
    std::string text;
    if (held < 0 || own < 0)
      return text;
    dup2(own, STDERR_FILENO);
    text.resize(lseek(held, 0, SEEK_END));
    text.resize(std::max<ssize_t>(pread(held, text.data(), text.size(), 0), 0));
    close(std::exchange(held, -1));
    return text;
  }

private:
  int held = -1, own = -1;
};
} // namespace

static void readOptions(int argc, char **argv) {
  HeldErrors errors;
  parseOptions("dist-run", category, argc, argv,
               "Compiles a module of any level, once for all "
               "ranks, and runs it; or runs "
               "a bundle.\n",
               "\nEXAMPLES:\n"
               "  dist-run model.mlir --random\n"
               "  dist-run model.mlir --schedule tp.mlir --input x=x.npy "
               "--output results\n"
               "  dist-run model.mlir --schedule tp.mlir --random --verify\n",
               /*instead=*/nullptr, [&] {
                 std::string text = errors.take();
                 host::endWith(StringRef(text).rtrim().str(), tell);
                 llvm::errs() << text;
               });
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  host::handleSignals("dist-run");
  cl::HideUnrelatedOptions(category);
  registerStageOptions();
  readOptions(argc, argv);
  try {
    return finishOutput("dist-run", run() ? 0 : 1);
  } catch (const Diagnosed &) {
    std::vector<std::string> errors = getErrors();
    host::endWith(errors.empty() ? "" : errors.back(), tell);
    sayError(errors.empty() ? "" : errors.back(), options.json,
             /*isPrinted=*/true);
  } catch (const std::exception &error) {
    host::endWith(error.what(), tell);
    tell(error.what());
  }
  return finishOutput("dist-run", 1);
}
