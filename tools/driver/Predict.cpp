//===- Predict.cpp - What a step is foreseen to take ----------------------===//

#include "tools/driver/Predict.h"
#include "dist/EmulatedLink.h"
#include "dist/Tensor.h"

using namespace mlir;
using namespace mlir::dist;
namespace host = ::dist;

Simulation mlir::dist::predict(ModuleOp module, const std::string &machine,
                               const std::string &link, bool wantTimeline) {
  FailureOr<Machine> loaded = Machine::load(machine, module->getContext());
  if (failed(loaded))
    throw host::Error("--machine " + machine + " cannot be used");
  if (!link.empty()) {
    host::EmulatedLink given = host::parseLink(link);
    loaded->setLink(given.latencySeconds, given.bytesPerSecond);
  }
  FailureOr<Simulation> simulation = simulate(module, *loaded, wantTimeline);
  if (failed(simulation))
    throw host::Error("the program cannot be simulated on --machine " +
                      machine);
  return std::move(*simulation);
}
