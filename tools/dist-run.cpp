//===- dist-run.cpp - Compiles and runs a module, or runs a bundle --------===//
//
// One code path: a module is compiled into a temporary bundle, and bundles are
// run by the executor. --verify compares with the level-0 program on one rank.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "dist/Executor.h"
#include "dist/Npy.h"
#include "dist/OptionValues.h"
#include "mlir/Pass/PassManager.h"
#include "tools/driver/Compare.h"
#include "tools/driver/Driver.h"
#include "tools/driver/Options.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>

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
static cl::list<std::string>
    inputs("input",
           cl::desc("An input: NAME=FILE.npy, NAME=FILE.pb or "
                    "NAME=random[:SEED]; once for each"),
           cl::value_desc("NAME=VALUE"), cl::cat(category));
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
static cl::opt<double>
    relativeTolerance("rtol",
                      cl::desc("Relative tolerance (default: 1e-4, "
                               "with --verify=f64 1e-10)"),
                      cl::cat(category));
static cl::opt<double>
    absoluteTolerance("atol",
                      cl::desc("Absolute tolerance (default: 1e-5, "
                               "with --verify=f64 1e-10)"),
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

namespace {

/// What a comparison found, for the report.
struct Checked {
  std::string against;
  host::Difference difference;
};

struct Compiler {
  explicit Compiler(Progress &progress) : progress(progress) {
    DialectRegistry registry;
    registerEverything(registry);
    context.appendDialectRegistry(registry);
    printer = std::make_unique<DiagnosticPrinter>(&context);
  }

  OwningOpRef<ModuleOp> load(StringRef path) {
    progress.step("reading " + path.str());
    OwningOpRef<ModuleOp> module = loadModule(path, &context);
    if (module && inF64() && failed(convertToF64(*module)))
      return nullptr;
    return module;
  }

  /// Compiles into a temporary bundle and loads it; weights are found beside
  /// `file`. Throws host::Error.
  host::Program compile(ModuleOp module, StringRef file) {
    std::string weightsFile = weightsPath(module, file, common.weights);
    if (!weightsFile.empty())
      weightsFile = std::filesystem::absolute(weightsFile).string();
    module->setAttr(kWeightsAttr, StringAttr::get(&context, weightsFile));
    TemporaryFolder folder;
    if (folder.path().empty())
      throw host::Error("no temporary folder to compile into");
    BundleOptions options;
    options.codegen.cpu = common.cpu;
    auto step = [&](StringRef what) { progress.step(what); };
    options.progress = step;
    std::string bundle = folder.path() + "/program.dist";
    if (failed(writeBundle(module, bundle, options)))
      throw host::Error(file.str() + " could not be compiled");
    // The code stays mapped when the folder goes.
    return host::loadBundle(bundle);
  }

  Progress &progress;
  MLIRContext context;
  std::unique_ptr<DiagnosticPrinter> printer;
};

} // namespace

static bool isBundle(StringRef path) {
  return llvm::sys::fs::is_directory(path);
}

static const host::TensorDesc &findResult(const host::Manifest &manifest,
                                          StringRef name) {
  std::string known;
  for (const host::TensorDesc &desc : manifest.results) {
    if (desc.name == name)
      return desc;
    known += " " + desc.name;
  }
  throw host::Error("the program has no result '" + name.str() +
                    "'; its results are:" + known);
}

static std::string number(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", value);
  return text;
}

/// One comparison; says what differs.
static Checked check(const host::Program &program, const std::string &name,
                     const host::Tensor &actual, const host::Tensor &expected,
                     const std::string &against) {
  bool wide = inF64();
  host::Tolerance tolerance;
  tolerance.relative = relativeTolerance.getNumOccurrences()
                           ? relativeTolerance.getValue()
                       : wide ? 1e-10
                              : 1e-4;
  tolerance.absolute = absoluteTolerance.getNumOccurrences()
                           ? absoluteTolerance.getValue()
                       : wide ? 1e-10
                              : 1e-5;
  Checked checked{against, {}};
  try {
    checked.difference = compare(actual, expected, tolerance);
  } catch (const host::Error &error) {
    throw host::Error("result '" + name + "' " + error.what());
  }
  const host::Difference &found = checked.difference;
  if (found.equal) {
    if (!json)
      llvm::outs() << name << ": equal to " << against
                   << " (largest difference " << number(found.maxAbsolute)
                   << ", relative " << number(found.maxRelative) << ")\n";
    return checked;
  }
  const host::TensorDesc &desc = findResult(program.manifest, name);
  llvm::errs() << "dist-run: error: result '" << name << "' differs from "
               << against << " at " << found.wrong << " of " << actual.count()
               << " elements; the worst, " << host::toString(found.worst)
               << ", is " << number(found.actual) << " on rank "
               << host::holderOf(program.manifest, desc, found.worst)
               << ", expected " << number(found.expected) << " (tolerance "
               << number(tolerance.absolute) << " + "
               << number(tolerance.relative) << " * |expected|)\n";
  return checked;
}

/// Read once, for the program and what it is compared with.
static const std::map<std::string, host::Shape> &getInputShapes() {
  static const auto shapes = host::readInputShapes(inputs);
  return shapes;
}

/// Sizes that the module does not know: from --bind and the inputs' files.
static std::vector<SizeBinding> findSizes(ModuleOp module) {
  FailureOr<std::vector<SizeBinding>> sizes = parseBindings(common.bind);
  if (failed(sizes))
    throw host::Error("the sizes given cannot be used");
  if (hasUnknownSizes(module))
    for (const auto &[name, shape] : getInputShapes())
      addSizes(module, name, shape, *sizes);
  return *sizes;
}

/// The program to compare with, on one rank.
static host::Program compileReference(Compiler &compiler) {
  std::string file = reference.empty() ? input : reference;
  if (isBundle(file))
    throw host::Error("--verify of a bundle needs the level-0 program: "
                      "--reference FILE.mlir");
  OwningOpRef<ModuleOp> module = compiler.load(file);
  if (!module || failed(eraseAnnotations(*module)) ||
      failed(distribute(*module, {"", {}, findSizes(*module)})))
    throw host::Error("no program to compare with");
  return compiler.compile(*module, file);
}

static host::Program prepareProgram(Compiler &compiler) {
  if (isBundle(input)) {
    if (!common.schedule.empty() || !common.mesh.empty())
      throw host::Error(input + " is a bundle, compiled for a schedule and a "
                                "mesh: --schedule and --mesh do not apply");
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
  compiler.progress.step("applying the schedule");
  if (failed(distribute(*module,
                        {common.schedule, common.mesh, findSizes(*module)})))
    throw host::Error(input + " could not be partitioned");
  return compiler.compile(*module, input);
}

static void writeOutputs(const host::RunResult &result) {
  if (std::error_code error = llvm::sys::fs::create_directories(output))
    throw host::Error("--output " + output + ": " + error.message());
  for (const host::RunResult::Output &one : result.outputs) {
    std::string name = one.name;
    std::replace(name.begin(), name.end(), '/', '_');
    host::writeNpy(output + "/" + name + ".npy", one.tensor);
  }
}

static void
reportJson(const host::Program &program, const host::RunResult &result,
           const std::map<std::string, std::vector<Checked>> &checks, bool ok) {
  llvm::json::Array outputs;
  for (const host::RunResult::Output &one : result.outputs) {
    llvm::json::Object object{{"name", one.name}};
    auto found = checks.find(one.name);
    if (found != checks.end()) {
      double absolute = 0, relative = 0;
      for (const Checked &checked : found->second) {
        absolute = std::max(absolute, checked.difference.maxAbsolute);
        relative = std::max(relative, checked.difference.maxRelative);
      }
      // JSON has no infinity.
      auto value = [](double number) {
        return std::isfinite(number) ? llvm::json::Value(number)
                                     : llvm::json::Value(nullptr);
      };
      object["max_abs_err"] = value(absolute);
      object["max_rel_err"] = value(relative);
      for (const Checked &checked : found->second) {
        if (checked.difference.equal)
          continue;
        object["worst"] = llvm::json::Object{
            {"index", llvm::json::Array(checked.difference.worst)},
            {"actual", value(checked.difference.actual)},
            {"expected", value(checked.difference.expected)},
            {"rank", host::holderOf(program.manifest,
                                    findResult(program.manifest, one.name),
                                    checked.difference.worst)}};
      }
    }
    outputs.push_back(std::move(object));
  }
  llvm::json::Array seconds;
  for (double value : result.seconds)
    seconds.push_back(value);
  llvm::outs() << llvm::json::Value(llvm::json::Object{
                      {"ok", ok},
                      {"ranks", program.manifest.mesh.size()},
                      {"outputs", std::move(outputs)},
                      {"seconds", std::move(seconds)}})
               << "\n";
}

/// Runs, compares and reports; whether all results agree.
static bool run() {
  if (backend != "threads")
    throw host::Error("--backend " + backend +
                      ": not in this build; known is threads");
  if (verify != "off" && !verify.empty() && verify != "f64")
    throw host::Error("--verify=" + verify +
                      ": expected --verify or "
                      "--verify=f64");
  if (repeat < 1)
    throw host::Error("--repeat " + std::to_string(repeat) +
                      ": must be at least 1");
  host::RunOptions options;
  options.weights = common.weights;
  options.repeat = repeat;
  options.trace = trace;
  if (!link.empty())
    options.link = host::parseLink(link);

  Progress progress("dist-run");
  Compiler compiler(progress);
  host::Program program = prepareProgram(compiler);
  std::vector<std::string> given(inputs.begin(), inputs.end());
  host::Inputs values = host::readInputs(given, program.manifest);
  progress.step("running");
  host::RunResult result = host::execute(program, values, options);
  if (!output.empty())
    writeOutputs(result);

  std::map<std::string, std::vector<Checked>> checks;
  bool ok = true;
  auto note = [&](const std::string &name, Checked checked) {
    ok &= checked.difference.equal;
    checks[name].push_back(std::move(checked));
  };
  if (verifying()) {
    host::Program single = compileReference(compiler);
    progress.step("running on one rank, to compare");
    host::RunOptions once;
    once.weights = common.weights;
    host::RunResult expected = host::execute(single, values, once);
    for (size_t i = 0; i < result.outputs.size(); ++i) {
      const host::RunResult::Output &one = result.outputs[i];
      auto other = llvm::find_if(expected.outputs, [&](const auto &candidate) {
        return candidate.name == one.name;
      });
      if (other == expected.outputs.end())
        throw host::Error("the program to compare with has no result '" +
                          one.name + "'");
      note(one.name, check(program, one.name, one.tensor, other->tensor,
                           "the program on one rank"));
    }
  }
  for (StringRef option : expect) {
    auto [name, file] = option.split('=');
    if (name.empty() || file.empty())
      throw host::Error("--expect " + option.str() +
                        ": expected NAME=FILE.npy");
    findResult(program.manifest, name);
    for (const host::RunResult::Output &one : result.outputs)
      if (one.name == name)
        note(one.name, check(program, one.name, one.tensor,
                             host::readNpy(file.str()), file.str()));
  }

  if (json) {
    reportJson(program, result, checks, ok);
    return ok;
  }
  for (const host::RunResult::Output &one : result.outputs)
    llvm::outs() << one.name << ": " << host::dtypeName(one.tensor.dtype)
                 << host::toString(one.tensor.shape)
                 << (output.empty() ? "" : " written") << "\n";
  llvm::outs() << program.manifest.mesh.size() << " ranks, "
               << result.seconds.size()
               << (result.seconds.size() == 1 ? " run" : " runs") << ", best "
               << llvm::format("%.3f",
                               1e3 * *std::min_element(result.seconds.begin(),
                                                       result.seconds.end()))
               << " ms\n";
  return ok;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  registerPassManagerCLOptions();
  cl::ParseCommandLineOptions(argc, argv,
                              "Compiles a module of any level, once for all "
                              "ranks, and runs it; or runs "
                              "a bundle.\n");
  try {
    return run() ? 0 : 1;
  } catch (const std::exception &error) {
    if (json)
      llvm::outs() << llvm::json::Value(llvm::json::Object{
                          {"ok", false}, {"error", error.what()}})
                   << "\n";
    llvm::errs() << "dist-run: error: " << error.what() << "\n";
    return 1;
  }
}
