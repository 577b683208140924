//===- Diagnostics.h - What a checked pipeline says -------------*- C++ -*-===//

#ifndef DIST_TEST_GENERATOR_DIAGNOSTICS_H
#define DIST_TEST_GENERATOR_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include <functional>
#include <string>

namespace mlir::dist::test {

/// Tells which pass runs.
struct PassWatcher : PassInstrumentation {
  explicit PassWatcher(std::function<void(StringRef)> onPass)
      : onPass(std::move(onPass)) {}
  void runBeforePass(Pass *pass, Operation *) override {
    if (!pass->getArgument().empty())
      onPass(pass->getArgument());
  }
  std::function<void(StringRef)> onPass;
};

/// Gathers errors; those that have a place count.
struct Diagnostics : ScopedDiagnosticHandler {
  explicit Diagnostics(MLIRContext *context)
      : ScopedDiagnosticHandler(context) {
    setHandler([this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
          message.empty()) {
        message = diagnostic.str();
        isLocated = false;
        diagnostic.getLocation()->walk([&](Location part) {
          isLocated |= isa<FileLineColLoc>(part);
          return WalkResult::advance();
        });
      }
      return success();
    });
  }
  std::string message;
  bool isLocated = false;
};

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_DIAGNOSTICS_H
