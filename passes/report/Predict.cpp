//===- Predict.cpp - What a step is estimated to take ---------------------===//

#include "passes/report/Predict.h"
#include "dist/Tensor.h"

using namespace mlir;
using namespace mlir::dist;
namespace host = ::dist;

Simulation mlir::dist::predict(ModuleOp module, const std::string &machine,
                               const std::string &link, bool wantTimeline) {
  FailureOr<Machine> loaded =
      loadMachine(module.getLoc(), "--machine", machine, link);
  if (failed(loaded))
    throw host::Error("--machine " + machine + " cannot be used");
  FailureOr<Simulation> simulation = simulate(module, *loaded, wantTimeline);
  if (failed(simulation))
    throw host::Error("the program cannot be simulated on --machine " +
                      machine);
  return std::move(*simulation);
}
