//===- Prepare.h - What is run, and on what ---------------------*- C++ -*-===//
//
// Reads the module or bundle, its inputs and all files, and checks them before
// anything is compiled.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TOOLS_RUN_PREPARE_H
#define DIST_TOOLS_RUN_PREPARE_H

#include "inputs/InputRanges.h"
#include "passes/report/Simulation.h"
#include "tools/common/RunCompiler.h"
#include "tools/run/Options.h"
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mlir::dist {

/// What ends the program where diagnostics have said why.
struct Diagnosed {};

/// Random inputs, and the names of those for which there is no range.
struct RandomValues {
  ::dist::RandomInputs random;
  std::set<std::string> contradictory;

  /// Takes the ranges that a program says.
  void take(IndexRanges found) {
    random.ranges = std::move(found.ranges);
    contradictory = {found.contradictory.begin(), found.contradictory.end()};
  }
};

/// Sizes that the module does not know: from --bind and the inputs' files.
/// Throws Diagnosed.
std::vector<SizeBinding> findSizes(ModuleOp module,
                                   const RunToolOptions &options);

/// The module that is run, of which each rank has its part; and the estimate
/// for it, with --machine. Throws Error or Diagnosed.
OwningOpRef<ModuleOp> loadDistributed(RunCompiler &compiler,
                                      RunToolOptions &options,
                                      RandomValues &values,
                                      std::optional<Simulation> &predicted);

/// What is run, and on what.
struct Prepared {
  ::dist::Program program;
  ::dist::Inputs values;
  /// What results are to be.
  std::vector<Recorded> recorded;
};

/// Reads all inputs and files, and checks them before anything is compiled.
/// Throws Error or Diagnosed.
Prepared prepareProgram(RunCompiler &compiler, RunToolOptions &options,
                        RandomValues &random,
                        std::optional<Simulation> &predicted,
                        bool isQuiet = false);

} // namespace mlir::dist

#endif // DIST_TOOLS_RUN_PREPARE_H
