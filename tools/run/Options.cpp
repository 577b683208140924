//===- Options.cpp - Options of dist-run ----------------------------------===//

#include "tools/run/Options.h"
#include "dist/EmulatedLink.h"
#include "dist/OptionValues.h"
#include "dist/StreamMode.h"
#include "verify/Allowance.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <optional>

using namespace mlir;
using namespace mlir::dist;
namespace cl = llvm::cl;
namespace host = ::dist;

/// Made when it is asked for: options are made before main.
static const std::string &getInputHelp() {
  static const std::string text =
      std::string(host::inputForms) + host::rangeHelp;
  return text;
}

RunToolOptions::RunToolOptions(cl::OptionCategory &category)
    : common(category), training(category),
      input(cl::Positional, cl::desc("IN.mlir or OUT.dist"), cl::Required,
            cl::cat(category)),
      backend("backend", cl::desc(host::backendHelp), cl::value_desc("NAME"),
              cl::cat(category)),
      processes("n", cl::desc(host::processesHelp), cl::value_desc("N"),
                cl::Prefix, cl::cat(category)),
      bindAddress("bind-address", cl::desc(host::bindAddressHelp),
                  cl::value_desc("ADDRESS"), cl::cat(category)),
      inputsFrom("inputs", cl::desc(host::inputsHelp),
                 cl::value_desc("shared|root"), cl::cat(category)),
      mpi("mpi", cl::desc(host::mpiHelp), cl::value_desc("openmpi|mpich"),
          cl::cat(category)),
      port("port", cl::desc(host::portHelp), cl::init(0), cl::cat(category)),
      reductions("reductions", cl::desc(host::reductionsHelp),
                 cl::value_desc("place|mpi"), cl::cat(category)),
      driver("driver", cl::desc(host::driverHelp),
             cl::value_desc("emulated|FILE.so"), cl::cat(category)),
      graph("graph", cl::desc(host::graphHelp), cl::value_desc("compute|off"),
            cl::cat(category)),
      timeout("timeout", cl::desc(host::timeoutHelp), cl::value_desc("SECONDS"),
              cl::cat(category)),
      inputs("input", cl::desc(getInputHelp()), cl::value_desc("NAME=VALUE"),
             cl::cat(category)),
      random("random", cl::desc(host::randomHelp), cl::value_desc("SEED"),
             cl::ValueOptional, cl::init("off"), cl::cat(category)),
      output("output",
             cl::desc("Folder that receives NAME.npy for each result"),
             cl::value_desc("FOLDER"), cl::cat(category)),
      verify("verify",
             cl::desc("Compare with the level-0 program on one rank; =f64: "
                      "both with all floating-point work in f64"),
             cl::value_desc("f64"), cl::ValueOptional, cl::init("off"),
             cl::cat(category)),
      reference("reference", cl::desc("The level-0 program to compare with"),
                cl::value_desc("FILE.mlir"), cl::cat(category)),
      expect("expect", cl::desc("Compare a result with a recorded one"),
             cl::value_desc("NAME=FILE.npy"), cl::cat(category)),
      relativeTolerance("rtol",
                        cl::desc("Relative tolerance, in place of what "
                                 "rounding is found to change (with --atol "
                                 "alone, and for --expect: 1e-4; with "
                                 "--verify=f64 1e-10)"),
                        cl::cat(category)),
      absoluteTolerance("atol",
                        cl::desc("Absolute tolerance, likewise (with --rtol "
                                 "alone, and for --expect: 1e-5; with "
                                 "--verify=f64 1e-10)"),
                        cl::cat(category)),
      perturbedRuns("perturbed-runs",
                    cl::desc("How often the program to compare with is run "
                             "with random rounding errors, to find what each "
                             "element may differ by"),
                    cl::init(host::kPerturbedRuns), cl::cat(category)),
      allowNonfinite("allow-nonfinite",
                     cl::desc("NaN equals NaN and an infinity itself; else a "
                              "result that has them is no match"),
                     cl::cat(category)),
      json("json", cl::desc(host::jsonHelp), cl::cat(category)),
      repeat("repeat", cl::desc(host::repeatHelp), cl::init(1),
             cl::cat(category)),
      trace("trace",
            cl::desc("The last run as a trace, which Perfetto shows, or as a "
                     "page for a browser (*.html); with --machine beside the "
                     "estimate"),
            cl::value_desc("FILE.json|FILE.html"), cl::cat(category)),
      profile("profile", cl::desc(host::profileHelp), cl::cat(category)),
      link("link", cl::desc(host::linkHelp), cl::value_desc(host::linkForm),
           cl::cat(category)),
      streams("streams", cl::desc(host::streamsHelp), cl::value_desc("MODE"),
              cl::cat(category)) {}

bool RunToolOptions::isBundle(StringRef path) {
  return llvm::sys::fs::is_directory(path);
}

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

CheckOptions RunToolOptions::getCheckOptions() const {
  CheckOptions options;
  options.relative = parseTolerance(relativeTolerance);
  options.absolute = parseTolerance(absoluteTolerance);
  options.allowNonfinite = allowNonfinite;
  options.json = json;
  options.precision = isInF64() ? Precision::F64 : Precision::Own;
  return options;
}

host::RunOptions RunToolOptions::getRunOptions() const {
  host::RunOptions options;
  options.backend = backend;
  options.processes = processes;
  if (timeout.getNumOccurrences())
    options.timeoutSeconds = timeout;
  options.bindAddress = bindAddress;
  options.port = port;
  options.inputs = inputsFrom;
  options.mpi = mpi;
  options.reductions = reductions;
  options.driver = driver;
  options.graph = graph;
  options.weights = common.weights;
  options.repeat = repeat;
  options.trace = !trace.empty();
  options.profile = profile;
  // What reads padding is wrong, and shows.
  options.padding = verifies() ? host::Padding::Poison : host::Padding::Zero;
  // What sums may differ by is what is allowed.
  options.directConvolutions = verifies();
  if (!link.empty())
    options.link = host::parseLink(link);
  if (!streams.empty())
    options.streams = host::parseStreamMode(streams);
  return options;
}

void RunToolOptions::checkBundle() const {
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
  if (isInF64())
    throw host::Error(input + " is a bundle, which cannot be converted to "
                              "f64: --verify=f64 needs a module");
}

/// Throws Error for options that would do nothing.
static void checkApply(const RunToolOptions &options) {
  options.training.check({&options.verify, &options.reference,
                          std::addressof(options.expect), &options.output,
                          &options.repeat, &options.trace, &options.profile,
                          &options.json, &options.random});
  if (options.training.train && !options.inputsFrom.empty())
    throw host::Error("--inputs " + options.inputsFrom +
                      ": rank 0 reads all inputs and data of --train");
  if (!options.training.resume.empty() && !options.common.weights.empty())
    throw host::Error("--weights: --resume reads the parameters of " +
                      options.training.resume);
  bool compares = options.verifies() || !options.expect.empty();
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &options.relativeTolerance, &options.absoluteTolerance,
           &options.allowNonfinite})
    if (option->getNumOccurrences() > 0 && !compares)
      throw host::Error("--" + option->ArgStr.str() +
                        ": nothing is compared; --verify, --reference or "
                        "--expect says with what");
  if (options.perturbedRuns.getNumOccurrences() > 0 &&
      (!options.verifies() || options.getCheckOptions().hasTolerance()))
    throw host::Error("--perturbed-runs: no program is run so; it goes with "
                      "--verify or --reference, without --rtol and --atol");
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &options.common.cpu, &options.common.optLevel})
    if (option->getNumOccurrences() > 0 && options.isBundle() &&
        options.reference.empty())
      throw host::Error("--" + option->ArgStr.str() + ": " + options.input +
                        " is a bundle, which is compiled already");
}

void RunToolOptions::check() const {
  if (processes.getNumOccurrences() && processes < 1)
    throw host::Error("-n " + std::to_string(processes) +
                      ": must be at least 1");
  if (verify != "off" && !verify.empty() && verify != "f64")
    throw host::Error("--verify=" + verify +
                      ": expected --verify or --verify=f64");
  if (repeat < 1)
    throw host::Error("--repeat " + std::to_string(repeat) +
                      ": must be at least 1");
  if (perturbedRuns < 1)
    throw host::Error("--perturbed-runs " + std::to_string(perturbedRuns) +
                      ": must be at least 1; --rtol and --atol compare "
                      "without");
  CheckOptions checking = getCheckOptions();
  findTolerance(checking, checking.precision);
  checkApply(*this);
  if (verifies() && host::areRanksOfMpi(getRunOptions()))
    throw host::Error("--verify needs the ranks of one host: start one process "
                      "without MPI; the bits are the same");
}
