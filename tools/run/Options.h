//===- Options.h - Options of dist-run --------------------------*- C++ -*-===//

#ifndef DIST_TOOLS_RUN_OPTIONS_H
#define DIST_TOOLS_RUN_OPTIONS_H

#include "compiler/Options.h"
#include "dist/Launcher.h"
#include "train/Train.h"
#include "verify/Comparisons.h"
#include "llvm/Support/CommandLine.h"
#include <string>
#include <vector>

namespace mlir::dist {

/// One static object of the tool.
struct RunToolOptions {
  explicit RunToolOptions(llvm::cl::OptionCategory &category);

  /// Throws Error for values that cannot be, and for options that would do
  /// nothing.
  void check() const;
  /// Throws Error for options that a bundle cannot take.
  void checkBundle() const;

  bool isBundle() const { return isBundle(input); }
  static bool isBundle(StringRef path);
  /// Whether results are compared with those of the level-0 program.
  bool verifies() const { return verify != "off" || !reference.empty(); }
  bool isInF64() const { return verify == "f64"; }
  /// The values of --input.
  std::vector<std::string> getInputs() const {
    return {inputs.begin(), inputs.end()};
  }
  CheckOptions getCheckOptions() const;
  ::dist::RunOptions getRunOptions() const;

  CompileOptions common;
  TrainOptions training;
  llvm::cl::opt<std::string> input, backend;
  llvm::cl::opt<int64_t> processes;
  llvm::cl::opt<std::string> bindAddress;
  llvm::cl::opt<std::string> inputsFrom, mpi;
  llvm::cl::opt<int64_t> port;
  llvm::cl::opt<std::string> reductions;
  llvm::cl::opt<std::string> driver, graph;
  llvm::cl::opt<double> timeout;
  llvm::cl::list<std::string> inputs;
  llvm::cl::opt<std::string> random, output, verify, reference;
  llvm::cl::list<std::string> expect;
  llvm::cl::opt<std::string> relativeTolerance, absoluteTolerance;
  llvm::cl::opt<int64_t> perturbedRuns;
  llvm::cl::opt<bool> allowNonfinite, json;
  llvm::cl::opt<int64_t> repeat;
  llvm::cl::opt<std::string> trace;
  llvm::cl::opt<bool> profile;
  llvm::cl::opt<std::string> link, streams;
};

} // namespace mlir::dist

#endif // DIST_TOOLS_RUN_OPTIONS_H
