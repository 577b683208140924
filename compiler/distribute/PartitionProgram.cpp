//===- PartitionProgram.cpp - Placed and cut up: level 1 or 2 to 3 --------===//

#include "compiler/distribute/Phases.h"
#include "dialects/dist/Utils/Program.h"
#include "passes/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTPARTITIONPROGRAM
#include "compiler/distribute/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct DistPartitionProgram
    : dist::impl::DistPartitionProgramBase<DistPartitionProgram> {
  using DistPartitionProgramBase::DistPartitionProgramBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    addPipelineDialects(registry);
  }

  void addPasses(OpPassManager &passes, int level) {
    if (level == 3) {
      // As the user's file has it: what is made here is checked as it is made.
      passes.addPass(createVerifySpmdPass());
      if (fuseTransposes)
        addFuseTransposes(passes);
      return;
    }
    std::string turnsAxis = getTurnsAxis(turns);
    MachineNames on{machine, link};
    // A link alone is what dist-run pretends.
    if (on.machine.empty())
      on.link.clear();
    if (level == 2 && !again) {
      passes.addPass(createVerifyPlacedPass());
      if (!turnsAxis.empty()) {
        WholeSumsPassOptions whole;
        whole.axis = turnsAxis;
        passes.addPass(createWholeSumsPass(whole));
        passes.addPass(createVerifyPlacedPass());
      }
    } else {
      buildPlacementPipeline(passes, turnsAxis, assumeMasks);
    }
    if (!stopPlaced)
      buildPartitionPipeline(passes, fuseTransposes, on);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // What passes change, they say themselves.
    markAllAnalysesPreserved();
    int level = getLevel(module);
    if (level == 0) {
      if (!fuseTransposes)
        return;
      module.emitError("--fuse-transposes: there is no schedule or plan, "
                       "so that nothing is sent");
      return signalPassFailure();
    }
    OpPassManager passes(ModuleOp::getOperationName());
    addPasses(passes, level);
    if (failed(runPipeline(passes, module)))
      signalPassFailure();
  }
};
} // namespace
