//===- Verify.cpp - The program on one rank, to compare with --------------===//

#include "tools/run/Verify.h"
#include "dialects/dist/Utils/Program.h"
#include "dist/StreamMode.h"
#include "lowering/files/OutputStream.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/spmd/partition/RandomStreams.h"
#include "tools/common/TimeLimit.h"
#include "tools/run/Messages.h"
#include <cstdlib>

using namespace mlir;
using namespace mlir::dist;
namespace host = ::dist;

Reference mlir::dist::compileReference(RunCompiler &compiler,
                                       const RunToolOptions &options,
                                       int64_t ranks) {
  std::string file =
      options.reference.empty() ? options.input : options.reference;
  if (RunToolOptions::isBundle(file))
    throw host::Error("--verify of a bundle needs the level-0 program: "
                      "--reference FILE.mlir");
  OwningOpRef<ModuleOp> module = compiler.load(file);
  DistDistributeOptions unscheduled;
  if (module)
    unscheduled.bind = formatBindings(findSizes(*module, options));
  if (!module || failed(eraseAnnotations(*module, compiler.stages)) ||
      failed(distribute(*module, unscheduled, compiler.stages)) ||
      (compiler.streams && failed(numberStreams(*module, *compiler.streams))))
    throw host::Error("no program to compare with");
  Reference result;
  result.mayNotEnd =
      module->walk([](scf::WhileOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!options.getCheckOptions().hasTolerance()) {
    OwningOpRef<ModuleOp> copy = module->clone();
    result.perturbed = compiler.compile(*copy, file, Form::Perturbed, ranks);
  }
  result.plain = compiler.compile(*module, file, Form::Plain, ranks);
  return result;
}

/// Runs the reference program, on one rank. `seconds` is the time of the ranks.
static host::Expected runReference(const RunToolOptions &options,
                                   const Reference &single,
                                   const host::Inputs &values, double seconds) {
  // A loop that rounding keeps from ending on one rank may end on several.
  constexpr double kLeast = 60, kTimes = 1000;
  double limit = std::max(kLeast, kTimes * seconds);
  std::optional<host::TimeLimit> time;
  if (single.mayNotEnd)
    time.emplace(limit, [=, json = options.json.getValue()] {
      sayError("the program to compare with has a loop that turns until "
               "something holds, and has not ended on one rank after " +
                   std::to_string(static_cast<int64_t>(limit)) +
                   " s, which the ranks have after " + std::to_string(seconds) +
                   " s: rounding may keep it from ending",
               json);
      finishOutput("dist-run", 1);
      std::_Exit(1);
    });
  host::RunOptions once;
  once.weights = options.common.weights;
  once.directConvolutions = true;
  return host::runExpected(single.plain,
                           single.perturbed ? &*single.perturbed : nullptr,
                           values, once, options.perturbedRuns);
}

/// Where rounding may hide mistakes, both programs are compared with all
/// floating-point work in f64 as well: that tells whether they are the same.
static std::vector<host::Difference> compareInF64(Stages &stages,
                                                  RunToolOptions &options,
                                                  const RandomValues &given,
                                                  host::RunOptions running) {
  RunCompiler compiler(stages, Precision::F64, options.common, options.backend);
  // Warnings have been printed of the program that was asked for.
  ScopedDiagnosticHandler onlyErrors(
      &compiler.context, [](Diagnostic &diagnostic) {
        return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
      });
  RandomValues random = given;
  std::optional<Simulation> predicted;
  auto [program, values, unused] =
      prepareProgram(compiler, options, random, predicted, /*isQuiet=*/true);
  Reference single =
      compileReference(compiler, options, program.manifest.mesh.size());
  stages.begin("f64", "running both with all floating-point work in f64");
  running.repeat = 1;
  running.trace = running.profile = false;
  host::RunResult result = host::launch(program, values, running);
  host::Expected expected =
      runReference(options, single, values, result.seconds.front());
  return checkReference(program, result, expected, options.getCheckOptions(),
                        Precision::F64);
}

int64_t
mlir::dist::verifyResults(RunCompiler &compiler, RunToolOptions &options,
                          const Prepared &prepared,
                          const host::RunResult &result,
                          const Reference &single, const RandomValues &random,
                          const host::RunOptions &running, Checks &checks) {
  compiler.stages.begin("reference", "running on one rank, to compare");
  CheckOptions checking = options.getCheckOptions();
  checking.streams = static_cast<bool>(compiler.streams);
  host::Expected expected =
      runReference(options, single, prepared.values, result.seconds.front());
  std::vector<host::Difference> own = checkReference(
      prepared.program, result, expected, checking, checking.precision);
  auto isUndecided = [](const host::Difference &found) {
    return found.undecided;
  };
  std::vector<host::Difference> wide;
  if (!options.isInF64() && !checking.hasTolerance() && !options.isBundle() &&
      (compiler.hasShortFloats || llvm::any_of(own, isUndecided)))
    wide = compareInF64(compiler.stages, options, random, running);
  addReference(own, wide, result, checking, checks);
  return expected.failedRuns;
}
