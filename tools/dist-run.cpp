//===- dist-run.cpp - Compiles and runs a module, or runs a bundle --------===//
//
// One code path: a module is compiled into a temporary bundle, and bundles are
// run by the executor. --verify compares with the level-0 program on one rank.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "dist/Launcher.h"
#include "dist/Npy.h"
#include "dist/OptionValues.h"
#include "dist/OutputFile.h"
#include "dist/Outputs.h"
#include "lowering/files/OutputStream.h"
#include "lowering/targets/Targets.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tools/driver/CommandLine.h"
#include "tools/driver/Compare.h"
#include "tools/driver/CompareJson.h"
#include "tools/driver/Driver.h"
#include "tools/driver/InputRanges.h"
#include "tools/driver/Options.h"
#include "tools/driver/TimeLimit.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
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

static cl::opt<std::string> input(cl::Positional,
                                  cl::desc("IN.mlir or OUT.dist"), cl::Required,
                                  cl::cat(category));
static cl::opt<std::string> backend("backend",
                                    cl::desc("What runs the ranks: threads"),
                                    cl::init("threads"), cl::cat(category));
static cl::list<std::string> inputs("input", cl::desc(host::inputForms),
                                    cl::value_desc("NAME=VALUE"),
                                    cl::cat(category));
static cl::opt<std::string> randomInputs(
    "random", cl::desc("Random values for inputs that --input does not give"),
    cl::value_desc("SEED"), cl::ValueOptional, cl::init("off"),
    cl::cat(category));
static cl::opt<std::string>
    output("output", cl::desc("Folder that receives NAME.npy for each result"),
           cl::value_desc("FOLDER"), cl::cat(category));
static cl::opt<std::string> verify(
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
static cl::opt<double> relativeTolerance(
    "rtol",
    cl::desc("Relative tolerance, in place of what rounding is found to change "
             "(with --atol alone, and for --expect: 1e-4; with --verify=f64 "
             "1e-10)"),
    cl::cat(category));
static cl::opt<double> absoluteTolerance(
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
static cl::opt<bool> json("json", cl::desc("Last line is one JSON object"),
                          cl::cat(category));
static cl::opt<int64_t> repeat("repeat",
                               cl::desc("How often to run, on the same inputs"),
                               cl::init(1), cl::cat(category));
static cl::opt<std::string> trace("trace",
                                  cl::desc("Chrome trace of the last run"),
                                  cl::value_desc("FILE.json"),
                                  cl::cat(category));
static cl::opt<std::string>
    link("link", cl::desc("Pretend that ranks are joined by such a link"),
         cl::value_desc("latency=20us,bandwidth=1GB/s"), cl::cat(category));

static bool verifying() { return verify != "off" || !reference.empty(); }
static bool inF64() { return verify == "f64"; }
/// The tolerances of comparisons with all floating-point work in f64.
static constexpr double kF64Tolerance = 1e-10;
/// Whether --verify goes by tolerances that are given, not by what rounding
/// changes.
static bool hasTolerance() {
  return relativeTolerance.getNumOccurrences() > 0 ||
         absoluteTolerance.getNumOccurrences() > 0;
}

/// Whether a module computes with floats of less than 32 bits.
static bool findShortFloats(ModuleOp module) {
  auto isShort = [](Type type) {
    auto number = dyn_cast<FloatType>(getElementTypeOrSelf(type));
    return number && number.getWidth() < 32;
  };
  return module
      .walk([&](Operation *op) {
        return llvm::any_of(op->getOperandTypes(), isShort) ||
                       llvm::any_of(op->getResultTypes(), isShort)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {

/// What the comparisons of a result found, for the report.
struct Checked {
  std::vector<host::Difference> own, f64;
  bool areEqual() const {
    auto isEqual = [](const host::Difference &found) { return found.equal; };
    return llvm::all_of(own, isEqual) && llvm::all_of(f64, isEqual);
  }
};
using Checks = std::vector<Checked>;

/// Which comparison of a program is meant: of the program as it is; or of both
/// with all floating-point work in f64.
enum class Precision { Own, F64 };

/// Of the comparison that --verify asks for.
Precision getPrecision() { return inF64() ? Precision::F64 : Precision::Own; }

/// What a program is compiled for: to be run; to be compared with; to be run
/// with random rounding errors, which is slow enough for vectors to pay.
enum class Form { Fast, Plain, Perturbed };

/// The program to compare with, and what says how far rounding moves it.
struct Reference {
  host::Program plain;
  std::optional<host::Program> perturbed;
  /// Whether it has loops that turn until something holds.
  bool mayNotEnd = false;
};

struct Compiler {
  Compiler(Stages &stages, Precision precision)
      : stages(stages), precision(precision) {
    DialectRegistry registry;
    registerAll(registry);
    context.appendDialectRegistry(registry);
    printer = std::make_unique<DiagnosticPrinter>(&context);
  }

  OwningOpRef<ModuleOp> load(StringRef path) {
    OwningOpRef<ModuleOp> module = loadModule(path, &context, stages);
    if (module && precision == Precision::Own)
      hasShortFloats |= findShortFloats(*module);
    if (module && precision == Precision::F64 &&
        failed(convertToF64(*module, stages)))
      return nullptr;
    return module;
  }

  /// Compiles into a temporary bundle and loads it; weights are found beside
  /// `file`. `ranks` has the program that this one is compared with, if it is.
  /// Throws host::Error.
  host::Program compile(ModuleOp module, StringRef file, Form form = Form::Fast,
                        int64_t ranks = 0) {
    std::string weightsFile = weightsPath(module, file, common.weights);
    if (!weightsFile.empty())
      weightsFile = std::filesystem::absolute(weightsFile).string();
    host::noteInput(weightsFile);
    // Their path may be no UTF-8, as what stands in a manifest must be.
    module->removeAttr(kWeightsAttr);
    SmallString<128> name;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, name);
    llvm::sys::path::append(name, "dist-run");
    host::TemporaryPath folder(host::TemporaryPath::beside(name.str().str()));
    if (std::error_code error = llvm::sys::fs::create_directory(
            folder.path(), /*IgnoreExisting=*/false, llvm::sys::fs::owner_all))
      throw host::Error(
          folder.path() +
          ": no temporary folder to compile into: " + error.message());
    BundleOptions options;
    options.target = findTarget(host::targetOf(backend));
    if (!options.target)
      throw host::Error("--backend " + backend + " needs that target");
    options.codegen.cpu = common.cpu;
    options.plain = form != Form::Fast;
    options.ranks = ranks;
    options.perturb = form == Form::Perturbed;
    // Vectorizers are one thing less that both sides share, and most of the
    // time that plain loops take to compile.
    if (form == Form::Plain)
      options.codegen.optLevel = 1;
    options.codegen.beginStage = [&](StringRef name,
                                     StringRef what) -> TimingScope & {
      return stages.begin(name, what);
    };
    std::string bundle = folder.path() + "/program.dist";
    if (failed(writeBundle(module, bundle, options)))
      throw host::Error(file.str() + " could not be compiled");
    // The code stays mapped when the folder goes.
    host::Program program = host::loadBundle(bundle);
    program.manifest.weights = weightsFile;
    return program;
  }

  Stages &stages;
  Precision precision;
  /// Whether a module that was loaded has floats of less than 32 bits, of which
  /// rounding decides so much that mistakes may hide in it.
  bool hasShortFloats = false;
  MLIRContext context;
  std::unique_ptr<DiagnosticPrinter> printer;
};

} // namespace

static bool isBundle(StringRef path) {
  return llvm::sys::fs::is_directory(path);
}

static size_t findResult(const host::Manifest &manifest, StringRef name) {
  std::string known;
  for (size_t i = 0; i < manifest.results.size(); ++i) {
    if (manifest.results[i].name == name)
      return i;
    known += " " + manifest.results[i].name;
  }
  throw host::Error("the program has no result '" + name.str() +
                    "'; its results are:" + (known.empty() ? " none" : known));
}

static host::Tolerance findTolerance(Precision precision) {
  host::Tolerance tolerance;
  bool isF64 = precision == Precision::F64;
  auto value = [](const cl::opt<double> &option, double standard) {
    if (option.getNumOccurrences() == 0)
      return standard;
    if (!std::isfinite(option) || option < 0)
      throw host::Error("--" + option.ArgStr.str() + " " +
                        std::to_string(option) +
                        ": a tolerance is a finite number of at least 0");
    return option.getValue();
  };
  tolerance.relative = value(relativeTolerance, isF64 ? kF64Tolerance : 1e-4);
  tolerance.absolute = value(absoluteTolerance, isF64 ? kF64Tolerance : 1e-5);
  tolerance.allowNonfinite = allowNonfinite;
  return tolerance;
}

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
    throw host::Error("the sizes given cannot be used");
  if (hasUnknownSizes(module))
    for (const auto &[name, shape] : getInputShapes(module))
      addSizes(module, name, shape, *sizes);
  return *sizes;
}

/// The program to compare with, on one rank.
static Reference compileReference(Compiler &compiler, int64_t ranks) {
  std::string file = reference.empty() ? input : reference;
  if (isBundle(file))
    throw host::Error("--verify of a bundle needs the level-0 program: "
                      "--reference FILE.mlir");
  OwningOpRef<ModuleOp> module = compiler.load(file);
  if (!module || failed(eraseAnnotations(*module, compiler.stages)) ||
      failed(distribute(*module, {"", "", {}, findSizes(*module)},
                        compiler.stages)))
    throw host::Error("no program to compare with");
  Reference result;
  result.mayNotEnd =
      module->walk([](scf::WhileOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!hasTolerance()) {
    OwningOpRef<ModuleOp> copy = module->clone();
    result.perturbed = compiler.compile(*copy, file, Form::Perturbed, ranks);
  }
  result.plain = compiler.compile(*module, file, Form::Plain, ranks);
  return result;
}

/// The ranges; the inputs for which there is none are `contradictory`.
static std::map<std::string, host::IntegerRanges>
takeRanges(IndexRanges found, std::set<std::string> &contradictory) {
  contradictory = {found.contradictory.begin(), found.contradictory.end()};
  return std::move(found.ranges);
}

static host::Program prepareProgram(Compiler &compiler,
                                    host::RandomInputs &random,
                                    std::set<std::string> &contradictory) {
  if (isBundle(input)) {
    if (!common.schedule.empty() || !common.plan.empty() ||
        !common.mesh.empty() || !common.scheduleName.empty() ||
        common.allowUnmatched)
      throw host::Error(input +
                        " is a bundle, compiled for a schedule and a mesh: "
                        "--schedule, --plan, --allow-unmatched and --mesh do "
                        "not apply");
    if (!common.bind.empty())
      throw host::Error(input + " is a bundle, whose sizes are all known: "
                                "--bind does not apply");
    if (inF64())
      throw host::Error(input + " is a bundle, which cannot be converted to "
                                "f64: --verify=f64 needs a module");
    return host::loadBundle(input);
  }
  OwningOpRef<ModuleOp> module = compiler.load(input);
  if (!module)
    throw host::Error(input + " could not be read");
  random.ranges = takeRanges(findIndexRanges(*module), contradictory);
  if (failed(distribute(*module, common.getScheduleOptions(findSizes(*module)),
                        compiler.stages)))
    throw host::Error(input + " could not be partitioned");
  return compiler.compile(*module, input);
}

/// The values of the program's inputs, those that are random in the ranges that
/// the program to compare with says.
static host::Inputs readValues(Compiler &compiler, const host::Program &program,
                               host::RandomInputs random,
                               std::set<std::string> contradictory,
                               bool isQuiet = false) {
  std::vector<std::string> given(inputs.begin(), inputs.end());
  auto ranges = host::findRandomRanges(given, program.manifest, random);
  if (!reference.empty() && !ranges.empty()) {
    if (OwningOpRef<ModuleOp> module = compiler.load(reference))
      random.ranges = takeRanges(findIndexRanges(*module), contradictory);
    ranges = host::findRandomRanges(given, program.manifest, random);
  }
  if (!json && !isQuiet)
    for (const auto &[name, columns] : ranges) {
      llvm::outs() << name << ": random integers ";
      for (const auto &[column, range] : llvm::enumerate(columns))
        llvm::outs() << (column == 0 ? "from " : ", ") << range.low << " to "
                     << range.high;
      if (columns.size() > 1)
        llvm::outs() << " by column";
      if (contradictory.count(name))
        llvm::outs() << ", as none is in range of all that it indexes";
      llvm::outs() << "\n";
    }
  return host::readInputs(given, program.manifest, random);
}

/// One comparison.
static host::Difference check(const host::Program &program,
                              const host::RunResult::Output &actual,
                              const host::TensorDesc &desc,
                              const host::Tensor &expected,
                              host::Tolerance tolerance) {
  try {
    return host::compare(program.manifest.mesh, desc, actual.parts, expected,
                         tolerance);
  } catch (const host::Error &error) {
    throw host::Error("result '" + desc.name + "' " + error.what());
  }
}

/// Says what a comparison of a result found.
static void report(const std::string &name, const host::Difference &found,
                   const std::string &against, Precision precision) {
  if (found.equal) {
    if (!json)
      llvm::outs() << name << ": " << host::describe(found, against) << "\n";
    return;
  }
  llvm::errs() << "dist-run: error: result '" << name << "' "
               << host::describe(found, against);
  if (found.undecided)
    llvm::errs() << (precision == Precision::F64
                         ? "; --rtol and --atol compare by tolerances"
                         : "; --verify=f64 tells mistakes from rounding");
  llvm::errs() << "\n";
}

/// Compares all results with those of the program on one rank. Results of one
/// name are compared in their order.
static std::vector<host::Difference>
checkReference(const host::Program &program, const host::RunResult &result,
               const host::Expected &single, Precision precision) {
  const host::RunResult &expected = single.results;
  std::vector<bool> used(expected.outputs.size());
  if (single.failedRuns > 0 && !json)
    llvm::outs() << "rounding decides whether the program ends well: "
                 << single.failedRuns << " of " << single.runs
                 << " perturbed runs are left out (" << single.failure << ")\n";
  std::vector<host::Difference> checks;
  int64_t elements = 0;
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const std::string &name = result.outputs[i].name;
    size_t other = 0;
    while (other < used.size() &&
           (used[other] || expected.outputs[other].name != name))
      ++other;
    if (other == used.size())
      throw host::Error("the program to compare with has no result '" + name +
                        "'");
    used[other] = true;
    host::Tolerance tolerance = findTolerance(precision);
    if (!single.spreads.empty())
      tolerance.spread = &single.spreads[other];
    checks.push_back(check(program, result.outputs[i],
                           program.manifest.results[i],
                           expected.outputs[other].tensor, tolerance));
    elements += checks.back().elements;
  }
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i])
      throw host::Error("the program has no result '" +
                        expected.outputs[i].name +
                        "', which the program to compare with has");
  if (elements == 0)
    throw host::Error("nothing to compare: the program has no results, or "
                      "none with elements");
  return checks;
}

namespace {
/// A recorded result, and which one it is of.
struct Recorded {
  size_t result;
  std::string file;
  host::Tensor tensor;
};
} // namespace

/// What --expect names.
static std::vector<Recorded> readRecorded(const host::Manifest &manifest) {
  std::vector<std::string> names;
  for (const host::TensorDesc &desc : manifest.results)
    names.push_back(desc.name);
  std::vector<Recorded> recorded;
  for (const std::string &option : expect) {
    auto [name, file] = host::splitNamed(option, names);
    if (name.empty() || file.empty())
      throw host::Error("--expect " + option + ": expected NAME=FILE.npy");
    recorded.push_back({findResult(manifest, name), file, host::readNpy(file)});
  }
  return recorded;
}

/// Compares results with recorded ones. These may be of a wider type.
static void checkRecorded(const host::Program &program,
                          const host::RunResult &result,
                          ArrayRef<Recorded> recorded, Checks &checks) {
  for (const auto &[i, file, expected] : recorded) {
    host::TensorDesc desc = program.manifest.results[i];
    if (host::isFloat(desc.dtype) == host::isFloat(expected.dtype) &&
        (host::convertsExactly(desc.dtype, expected.dtype) ||
         host::convertsExactly(expected.dtype, desc.dtype)))
      desc.dtype = expected.dtype;
    checks[i].own.push_back(check(program, result.outputs[i], desc, expected,
                                  findTolerance(getPrecision())));
    report(desc.name, checks[i].own.back(), file, getPrecision());
  }
}

static void reportJson(const host::Program &program,
                       const host::RunResult &result, const Checks &checks,
                       bool ok, int64_t leftOut) {
  llvm::json::Array outputs;
  for (auto [one, found] : llvm::zip_equal(result.outputs, checks)) {
    llvm::json::Object object{{"name", one.name}};
    if (!found.own.empty())
      addChecks(object, found.own);
    if (!found.f64.empty()) {
      llvm::json::Object f64;
      addChecks(f64, found.f64);
      object["f64"] = std::move(f64);
    }
    outputs.push_back(std::move(object));
  }
  llvm::json::Array seconds;
  for (double value : result.seconds)
    seconds.push_back(value);
  llvm::json::Object object{{"ok", ok},
                            {"ranks", program.manifest.mesh.size()},
                            {"outputs", std::move(outputs)},
                            {"seconds", std::move(seconds)}};
  if (leftOut > 0)
    object["perturbed_runs_left_out"] = leftOut;
  llvm::outs() << llvm::json::Value(std::move(object)) << "\n";
}

/// Says that the program ends with an error.
static void sayError(StringRef error) {
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
  llvm::errs() << "dist-run: error: " << error << "\n";
}

/// Runs what is compared with, on one rank. `seconds` is what the ranks took.
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
  return host::runExpected(single.plain,
                           single.perturbed ? &*single.perturbed : nullptr,
                           values, once, perturbedRuns);
}

/// Where rounding may hide mistakes, both programs are compared with all
/// floating-point work in f64 as well: that tells whether they are the same.
static std::vector<host::Difference> compareInF64(Stages &stages,
                                                  host::RandomInputs random,
                                                  host::RunOptions options) {
  Compiler compiler(stages, Precision::F64);
  std::set<std::string> contradictory;
  host::Program program = prepareProgram(compiler, random, contradictory);
  host::Inputs values =
      readValues(compiler, program, random, contradictory, /*isQuiet=*/true);
  Reference single = compileReference(compiler, program.manifest.mesh.size());
  stages.begin("f64", "running both with all floating-point work in f64");
  options.repeat = 1;
  options.trace = false;
  host::RunResult result = host::launch(program, values, options);
  host::Expected expected =
      runReference(single, values, result.seconds.front());
  return checkReference(program, result, expected, Precision::F64);
}

/// Compares with the program on one rank; where the types are short or rounding
/// decides too much, in f64 too. How many perturbed runs were left out.
static int64_t verifyResults(Compiler &compiler, const host::Program &program,
                             const host::RunResult &result,
                             const Reference &single,
                             const host::Inputs &values,
                             const host::RandomInputs &random,
                             const host::RunOptions &options, Checks &checks) {
  compiler.stages.begin("reference", "running on one rank, to compare");
  host::Expected expected =
      runReference(single, values, result.seconds.front());
  std::vector<host::Difference> own =
      checkReference(program, result, expected, getPrecision());
  auto isUndecided = [](const host::Difference &found) {
    return found.undecided;
  };
  std::vector<host::Difference> wide;
  if (!inF64() && !hasTolerance() && !isBundle(input) &&
      (compiler.hasShortFloats || llvm::any_of(own, isUndecided)))
    wide = compareInF64(compiler.stages, random, options);
  const std::string against = "the program on one rank";
  for (auto [i, found] : llvm::enumerate(own)) {
    const std::string &name = result.outputs[i].name;
    bool isSameInF64 = !wide.empty() && wide[i].equal;
    if (isSameInF64 && found.undecided && found.wrong == 0) {
      found.undecided = false;
      found.equal = allowNonfinite || (!found.actualNonfinite.any() &&
                                       !found.expectedNonfinite.any());
    }
    checks[i].own.push_back(found);
    report(name, found, against, getPrecision());
    if (wide.empty())
      continue;
    // Said where it is news.
    checks[i].f64.push_back(wide[i]);
    if (!wide[i].equal || found.undetermined > 0)
      report(name, wide[i], against + " with all floating-point work in f64",
             Precision::F64);
  }
  return expected.failedRuns;
}

/// Throws Error for options that would do nothing.
static void checkOptionsApply() {
  bool compares = verifying() || !expect.empty();
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &relativeTolerance, &absoluteTolerance, &allowNonfinite})
    if (option->getNumOccurrences() > 0 && !compares)
      throw host::Error("--" + option->ArgStr.str() +
                        ": nothing is compared; --verify, --reference or "
                        "--expect says with what");
  if (perturbedRuns.getNumOccurrences() > 0 && (!verifying() || hasTolerance()))
    throw host::Error("--perturbed-runs: no program is run so; it goes with "
                      "--verify or --reference, without --rtol and --atol");
  if (common.cpu.getNumOccurrences() > 0 && isBundle(input) &&
      reference.empty())
    throw host::Error("--mcpu: " + input +
                      " is a bundle, which is compiled already");
}

/// Runs, compares and reports; whether all results agree.
static bool run() {
  host::checkBackend(backend);
  if (verify != "off" && !verify.empty() && verify != "f64")
    throw host::Error("--verify=" + verify +
                      ": expected --verify or "
                      "--verify=f64");
  if (repeat < 1)
    throw host::Error("--repeat " + std::to_string(repeat) +
                      ": must be at least 1");
  if (perturbedRuns < 1)
    throw host::Error("--perturbed-runs " + std::to_string(perturbedRuns) +
                      ": must be at least 1; --rtol and --atol compare "
                      "without");
  findTolerance(getPrecision());
  checkOptionsApply();
  host::RunOptions options;
  options.backend = backend;
  options.weights = common.weights;
  options.repeat = repeat;
  options.trace = !trace.empty();
  options.keepParts = verifying() || !expect.empty();
  // What reads padding is wrong, and shows.
  options.padding = verifying() ? host::Padding::Poison : host::Padding::Zero;
  if (!link.empty())
    options.link = host::parseLink(link);

  Stages stages("dist-run", common.verbose);
  Compiler compiler(stages, getPrecision());
  host::RandomInputs random;
  if (randomInputs != "off")
    random.rest = host::parseSeed(randomInputs);
  std::set<std::string> contradictory;
  host::Program program = prepareProgram(compiler, random, contradictory);
  host::Inputs values = readValues(compiler, program, random, contradictory);
  // What results are compared with is read before any file is written, so that
  // it is no output.
  std::optional<Reference> single;
  if (verifying())
    single = compileReference(compiler, program.manifest.mesh.size());
  std::vector<Recorded> recorded = readRecorded(program.manifest);
  stages.begin("run", "running");
  host::RunResult result = host::launch(program, values, options);
  if (!result.isRoot)
    return true;
  host::writeOutputs(output, trace, result);

  Checks checks(result.outputs.size());
  int64_t leftOut = 0;
  if (single)
    leftOut = verifyResults(compiler, program, result, *single, values, random,
                            options, checks);
  checkRecorded(program, result, recorded, checks);
  bool ok = llvm::all_of(checks, std::mem_fn(&Checked::areEqual));

  if (json) {
    reportJson(program, result, checks, ok, leftOut);
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
  } catch (const std::exception &error) {
    sayError(error.what());
    return finishOutput("dist-run", 1);
  }
}
