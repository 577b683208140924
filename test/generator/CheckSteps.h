//===- CheckSteps.h - The steps of one check --------------------*- C++ -*-===//

#ifndef DIST_TEST_GENERATOR_CHECKSTEPS_H
#define DIST_TEST_GENERATOR_CHECKSTEPS_H

#include "mlir/Pass/PassManager.h"
#include "test/generator/Check.h"
#include "test/generator/Diagnostics.h"

namespace mlir::dist::test {

/// Keeps the verdict of a check: which pass ran last, and what was said.
class CheckSteps {
public:
  CheckSteps(MLIRContext *context, const CheckOptions &options)
      : options(options), diagnostics(context) {}

  /// Tells that a pass, or another step of that name, begins.
  void enter(StringRef pass) {
    verdict.pass = pass.str();
    if (options.onPass)
      options.onPass(pass);
  }

  /// Tells of each pass of a pipeline.
  void watch(PassManager &passes) {
    passes.addInstrumentation(
        std::make_unique<PassWatcher>([this](StringRef pass) { enter(pass); }));
  }

  Verdict finish(Outcome outcome, const Twine &detail) {
    verdict.outcome = outcome;
    verdict.detail = detail.str();
    return verdict;
  }

  /// The verdict after a step failed: an error that has a place is a rejection.
  Verdict refuse(const Twine &otherwise = "") {
    return finish(diagnostics.isLocated ? Outcome::Rejected : Outcome::Broken,
                  diagnostics.message + otherwise);
  }

  const CheckOptions &options;
  Diagnostics diagnostics;
  Verdict verdict;
};

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_CHECKSTEPS_H
