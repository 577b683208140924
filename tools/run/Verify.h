//===- Verify.h - The program on one rank, to compare with ------*- C++ -*-===//

#ifndef DIST_TOOLS_RUN_VERIFY_H
#define DIST_TOOLS_RUN_VERIFY_H

#include "tools/run/Prepare.h"
#include <optional>

namespace mlir::dist {

/// The program to compare with, and what says how far rounding moves it.
struct Reference {
  ::dist::Program plain;
  std::optional<::dist::Program> perturbed;
  /// Whether it has loops that turn until something holds.
  bool mayNotEnd = false;
};

/// The program to compare with, on one rank. Throws Error or Diagnosed.
Reference compileReference(RunCompiler &compiler, const RunToolOptions &options,
                           int64_t ranks);

/// Compares with the program on one rank; where the types are short or rounding
/// decides too much, in f64 too. How many perturbed runs were left out.
int64_t verifyResults(RunCompiler &compiler, RunToolOptions &options,
                      const Prepared &prepared, const ::dist::RunResult &result,
                      const Reference &single, const RandomValues &random,
                      const ::dist::RunOptions &running, Checks &checks);

} // namespace mlir::dist

#endif // DIST_TOOLS_RUN_VERIFY_H
