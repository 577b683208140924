//===- Comparisons.cpp - What --verify and --expect do --------------------===//

#include "verify/Comparisons.h"
#include "dist/Npy.h"
#include "dist/OptionValues.h"
#include "verify/CompareJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
namespace host = ::dist;

/// The tolerances of comparisons with all floating-point work in f64.
static constexpr double kF64Tolerance = 1e-10;

bool Checked::areEqual() const {
  auto isEqual = [](const host::Difference &found) { return found.equal; };
  return llvm::all_of(own, isEqual) && llvm::all_of(f64, isEqual);
}

host::Tolerance mlir::dist::findTolerance(const CheckOptions &options,
                                          Precision precision) {
  host::Tolerance tolerance;
  bool isF64 = precision == Precision::F64;
  auto take = [](const char *name, std::optional<double> given,
                 double standard) {
    if (given && (!std::isfinite(*given) || *given < 0))
      throw host::Error(std::string("--") + name + " " +
                        std::to_string(*given) +
                        ": a tolerance is a finite number of at least 0");
    return given.value_or(standard);
  };
  tolerance.relative =
      take("rtol", options.relative, isF64 ? kF64Tolerance : 1e-4);
  tolerance.absolute =
      take("atol", options.absolute, isF64 ? kF64Tolerance : 1e-5);
  tolerance.allowNonfinite = options.allowNonfinite;
  return tolerance;
}

/// One comparison.
static host::Difference check(const host::Program &program,
                              const host::Output &actual, dist_dtype dtype,
                              const host::Tensor &expected,
                              host::Tolerance tolerance) {
  std::vector<host::TensorDesc> results;
  for (size_t number : actual.results) {
    results.push_back(program.manifest.results[number]);
    results.back().dtype = dtype;
  }
  try {
    return host::compare(program.manifest.mesh, results, actual.parts, expected,
                         tolerance);
  } catch (const host::Error &error) {
    throw host::Error("result '" + actual.name + "' " + error.what());
  }
}

/// Says what a comparison of a result found.
static void report(const std::string &name, const host::Difference &found,
                   const std::string &against, const CheckOptions &options,
                   Precision precision) {
  if (found.equal) {
    if (!options.json)
      llvm::outs() << name << ": " << host::describe(found, against) << "\n";
    return;
  }
  llvm::errs() << "dist-run: error: result '" << name << "' "
               << host::describe(found, against);
  if (found.undecided)
    llvm::errs()
        << (precision == Precision::F64
                ? "; --verify, in both types, tells zeros from mistakes; "
                  "--rtol and --atol compare by tolerances"
                : "; --verify=f64 tells mistakes from rounding");
  llvm::errs() << "\n";
}

std::vector<host::Difference>
mlir::dist::checkReference(const host::Program &program,
                           const host::RunResult &result,
                           const host::Expected &single,
                           const CheckOptions &options, Precision precision) {
  const host::RunResult &expected = single.results;
  std::vector<bool> used(expected.outputs.size());
  if (single.failedRuns > 0 && !options.json)
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
    host::Tolerance tolerance = findTolerance(options, precision);
    if (!single.spreads.empty())
      tolerance.spread = &single.spreads[other];
    checks.push_back(check(program, result.outputs[i],
                           result.outputs[i].tensor.dtype,
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

void mlir::dist::addReference(ArrayRef<host::Difference> own,
                              ArrayRef<host::Difference> wide,
                              const host::RunResult &result,
                              const CheckOptions &options, Checks &checks) {
  const std::string against =
      options.streams
          ? "the program on one rank that draws from the same streams"
          : "the program on one rank";
  for (auto [i, each] : llvm::enumerate(own)) {
    host::Difference found = each;
    const std::string &name = result.outputs[i].name;
    host::Difference inF64;
    if (!wide.empty()) {
      inF64 = wide[i];
      host::Tolerance tolerance;
      tolerance.allowNonfinite = options.allowNonfinite;
      acceptRoundedZeros(found, inF64, tolerance);
    }
    bool isSameInF64 = !wide.empty() && inF64.equal;
    if (isSameInF64 && found.undecided && found.wrong == 0) {
      found.undecided = false;
      found.equal = options.allowNonfinite || (!found.actualNonfinite.any() &&
                                               !found.expectedNonfinite.any());
    }
    checks[i].own.push_back(found);
    report(name, found, against, options, options.precision);
    if (wide.empty())
      continue;
    // Said where it is news.
    checks[i].f64.push_back(inF64);
    if (!inF64.equal || found.undetermined > 0)
      report(name, inF64, against + " with all floating-point work in f64",
             options, Precision::F64);
  }
}

std::vector<Recorded> mlir::dist::readRecorded(ArrayRef<std::string> expect,
                                               const host::Manifest &manifest) {
  std::vector<std::string> names;
  for (const host::TensorDesc &desc : manifest.results)
    if (!llvm::is_contained(names, desc.name))
      names.push_back(desc.name);
  std::vector<Recorded> recorded;
  for (const std::string &option : expect) {
    auto [name, file] = host::splitNamed(option, names);
    if (name.empty() || file.empty())
      throw host::Error("--expect " + option + ": expected NAME=FILE.npy");
    if (!llvm::is_contained(names, name))
      throw host::Error(
          "the program has no result '" + name + "'; its results are:" +
          (names.empty() ? " none" : " " + llvm::join(names, " ")));
    recorded.push_back({name, file, host::readNpy(file)});
  }
  return recorded;
}

void mlir::dist::checkRecorded(const host::Program &program,
                               const host::RunResult &result,
                               ArrayRef<Recorded> recorded,
                               const CheckOptions &options, Checks &checks) {
  for (const auto &[name, file, expected] : recorded) {
    size_t i = 0;
    while (result.outputs[i].name != name)
      ++i;
    dist_dtype dtype = result.outputs[i].tensor.dtype;
    if (host::isFloat(dtype) == host::isFloat(expected.dtype) &&
        (host::convertsExactly(dtype, expected.dtype) ||
         host::convertsExactly(expected.dtype, dtype)))
      dtype = expected.dtype;
    checks[i].own.push_back(check(program, result.outputs[i], dtype, expected,
                                  findTolerance(options, options.precision)));
    report(name, checks[i].own.back(), file, options, options.precision);
  }
}

void mlir::dist::reportJson(const host::Program &program,
                            const host::RunResult &result, const Checks &checks,
                            bool ok, int64_t leftOut,
                            std::optional<double> predicted) {
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
  if (predicted)
    object["predicted_seconds"] = *predicted;
  if (result.profile)
    object["profile"] = llvm::cantFail(
        llvm::json::parse(host::formatProfileJson(*result.profile)));
  llvm::outs() << llvm::json::Value(std::move(object)) << "\n";
}
