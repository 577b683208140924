//===- KeepWithinMemory.cpp - The first way that memory is enough for -----===//

#include "dialects/dist/Utils/Streams.h"
#include "compiler/distribute/Candidates.h"
#include "compiler/distribute/Phases.h"
#include "dialects/dist/Utils/Program.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTKEEPWITHINMEMORY
#include "compiler/distribute/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct DistKeepWithinMemory
    : dist::impl::DistKeepWithinMemoryBase<DistKeepWithinMemory> {
  using DistKeepWithinMemoryBase::DistKeepWithinMemoryBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    addPipelineDialects(registry);
    for (const OpPassManager &passes : tries)
      passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OwningOpRef<ModuleOp> given = module.clone();
    std::optional<FailureOr<int64_t>> before;
    for (OpPassManager &passes : tries) {
      if (before)
        restore(*given);
      if (failed(runPipeline(passes, module)))
        return signalPassFailure();
      if (!hasStreams(module))
        return;
      if (!before)
        before = planArena(*given);
      if (fitsMemory(module, *before, memory, report, "what is overlapped"))
        return;
    }
    // What a schedule asks for stays.
    FailureOr<MeshOp> mesh = findProgramMesh(*given);
    if (failed(mesh))
      return signalPassFailure();
    if (before && !(*mesh && (*mesh)->hasAttr(kOverlapAttr)))
      restore(*given);
  }

  void restore(ModuleOp given) {
    OwningOpRef<ModuleOp> copy = given.clone();
    swapModules(getOperation(), *copy);
    getAnalysisManager().clear();
  }
};
} // namespace
