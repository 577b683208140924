//===- ChooseTurns.cpp - The batch in one turn or in two ------------------===//

#include "compiler/distribute/Candidates.h"
#include "compiler/distribute/Phases.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/report/Simulation.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCHOOSETURNS
#include "compiler/distribute/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct DistChooseTurns : dist::impl::DistChooseTurnsBase<DistChooseTurns> {
  using DistChooseTurnsBase::DistChooseTurnsBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    addPipelineDialects(registry);
    for (const auto *pipelines : {&one, &two})
      for (const OpPassManager &passes : *pipelines)
        passes.getDependentDialects(registry);
  }

  /// What a step of the module is estimated to take.
  FailureOr<double> estimate(ModuleOp module) {
    FailureOr<Machine> loaded =
        loadMachine(module.getLoc(), "--turns=auto", machine, link);
    if (failed(loaded))
      return failure();
    FailureOr<Simulation> simulation =
        simulate(module, *loaded, /*wantEvents=*/false);
    if (failed(simulation))
      return failure();
    return simulation->time.getTotal();
  }

  LogicalResult run(ListOption<OpPassManager> &pipelines) {
    for (OpPassManager &passes : pipelines)
      if (failed(runPipeline(passes, getOperation())))
        return failure();
    return success();
  }

  void runOnOperation() override {
    if (failed(choose(getOperation())))
      signalPassFailure();
  }

  LogicalResult choose(ModuleOp module) {
    OwningOpRef<ModuleOp> other = module.clone();
    if (failed(run(one)))
      return failure();
    // The module is that in two turns from here on, the other that in one.
    swapModules(module, *other);
    getAnalysisManager().clear();
    // Why two are not possible, where they are not.
    std::string why;
    FailureOr<double> seconds = failure();
    {
      ScopedDiagnosticHandler handler(
          module.getContext(), [&](Diagnostic &diagnostic) {
            if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
                why.empty())
              why = diagnostic.str();
            return success();
          });
      if (succeeded(run(two)))
        seconds = estimate(module);
    }
    FailureOr<double> least = estimate(*other);
    if (failed(least))
      return failure();
    bool wins = succeeded(seconds) && *seconds < (1 - margin) * *least &&
                fitsMemory(module, planArena(*other), memory, report,
                           "what is in two turns");
    if (report) {
      InFlightDiagnostic remark =
          module.emitRemark()
          << (wins ? "in two turns of the batch: " : "in one turn: ");
      if (succeeded(seconds))
        remark << llvm::formatv("{0:F3} ms estimated in one, {1:F3} ms in two, "
                                "which are taken if they save {2}%",
                                *least * 1e3, *seconds * 1e3, 100 * margin)
                      .str();
      else
        remark << "two are not possible: " << why;
    }
    if (!wins) {
      swapModules(module, *other);
      getAnalysisManager().clear();
    }
    return success();
  }
};
} // namespace
