//===- Distribute.cpp - --dist-distribute: any level to 3 or 4 ------------===//

#include "compiler/distribute/Phases.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "lowering/buffers/Passes.h"
#include "lowering/decompose/Passes.h"
#include "lowering/pipeline/Pipeline.h"
#include "lowering/rt/Passes.h"
#include "lowering/targets/Targets.h"
#include "passes/Passes.h"
#include "passes/sizes/BindSizes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTDISTRIBUTE
#include "compiler/distribute/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

StringRef mlir::dist::getOverlapMode(StringRef overlap, StringRef machine) {
  if (!overlap.empty())
    return overlap;
  return machine.empty() ? "off" : "auto";
}

int64_t mlir::dist::countTurns(StringRef turns) {
  int64_t count = 0;
  return turns.getAsInteger(10, count) ? 0 : count;
}

std::string mlir::dist::getTurnsAxis(StringRef turns) {
  return countTurns(turns) ? DistSplitBatchOptions().axis : turns.str();
}

/// A pipeline of one pass.
static OpPassManager makePipeline(std::unique_ptr<Pass> pass) {
  OpPassManager passes(ModuleOp::getOperationName());
  passes.addPass(std::move(pass));
  return passes;
}

/// The batch in one turn or in two.
static FailureOr<std::vector<Phase>>
getChoice(ModuleOp module, const DistDistributeOptions &options) {
  if (getOverlapMode(options.overlap, options.machine) != "auto")
    return module.emitError("--turns=auto goes with --overlap=auto, and needs "
                            "--machine, which says on what it is to pay");
  DistDistributeOptions one = options, two = options;
  one.turns = "";
  two.turns = "2";
  two.places = false; // the same
  DistChooseTurnsOptions choice;
  choice.one.push_back(makePipeline(createDistDistribute(one)));
  choice.two.push_back(makePipeline(createDistDistribute(two)));
  choice.machine = options.machine;
  choice.link = options.link;
  choice.margin = DistScheduleOverlapOptions().margin;
  choice.memory = options.overlapMemory;
  choice.report = options.report;
  std::vector<Phase> phases;
  phases.push_back({"schedule", makePipeline(createDistChooseTurns(choice))});
  return phases;
}

FailureOr<std::vector<Phase>>
mlir::dist::getPhases(ModuleOp module, const DistDistributeOptions &options) {
  std::string turns = options.turns;
  if (turns == "auto")
    return getChoice(module, options);
  if (turns == "1")
    turns = "";
  int level = getLevel(module);
  std::vector<Phase> phases;

  DistScheduleProgramOptions schedule;
  schedule.schedule = options.schedule;
  schedule.plan = options.plan;
  schedule.scheduleName = options.scheduleName;
  schedule.allowUnmatched = options.allowUnmatched;
  schedule.places = options.places;
  schedule.f64 = options.f64;
  schedule.mesh = options.mesh;
  schedule.bind = options.bind;
  schedule.turns = turns;
  phases.push_back(
      {"schedule", makePipeline(createDistScheduleProgram(schedule))});

  if (level != 3)
    for (const OpPassManager &passes : options.then)
      phases.push_back({"train", passes});

  DistPartitionProgramOptions partition;
  partition.fuseTransposes = options.fuseTransposes;
  partition.stopPlaced = options.stopPlaced;
  // Placed again, as its writer placed it for these sizes, it might come out
  // otherwise.
  partition.again = !options.mesh.empty() || !options.bind.empty() ||
                    !module.getOps<ScheduleOp>().empty() ||
                    !options.schedule.empty() || !options.plan.empty() ||
                    hasUnknownSizes(module);
  partition.turns = turns;
  partition.assumeMasks = options.assumeMasks;
  partition.machine = options.machine;
  partition.link = options.link;
  phases.push_back(
      {"placement", makePipeline(createDistPartitionProgram(partition))});

  if (level != 3 && !options.stopPlaced) {
    DistRecomputeOptions recompute;
    recompute.what = options.recompute;
    phases.push_back({"placement", makePipeline(createDistRecompute(recompute)),
                      "recompute"});
  }

  DistOverlapProgramOptions overlap;
  overlap.overlap = options.overlap;
  overlap.halos = options.halos;
  overlap.joinHalos = options.joinHalos;
  overlap.turns = turns;
  overlap.machine = options.machine;
  overlap.link = options.link;
  overlap.overlapMemory = options.overlapMemory;
  overlap.report = options.report;
  bool mayOverlap = getOverlapMode(overlap.overlap, overlap.machine) != "off" ||
                    !turns.empty() || !overlap.halos.empty() ||
                    !overlap.joinHalos.empty();
  phases.push_back({mayOverlap ? "overlap" : "placement",
                    makePipeline(createDistOverlapProgram(overlap))});
  if (!options.stopPlaced) {
    DistPipelineOptions pipeline;
    pipeline.machine = options.machine;
    pipeline.link = options.link;
    pipeline.microbatches = getTurnsAxis(turns);
    phases.push_back({"placement", makePipeline(createDistPipeline(pipeline))});
  }
  return phases;
}

void mlir::dist::addPipelineDialects(DialectRegistry &registry) {
  OpPassManager passes(ModuleOp::getOperationName());
  passes.addPass(createDistConvertToF64());
  passes.addPass(createDistApplySchedulePass());
  passes.addPass(createDistSplitBatch());
  buildSpmdPipeline(passes, /*fuseTransposes=*/true, /*turns=*/"turn");
  passes.addPass(createDistRecompute());
  passes.addPass(createDistUnrollAxis());
  passes.addPass(createDistJoinHalos());
  passes.addPass(createDistLowerHalos());
  addAttentionAcrossLoops(passes);
  passes.addPass(createDistChunkCollectives());
  passes.addPass(createDistBucketReductions());
  passes.addPass(createDistRotateLoops());
  passes.addPass(createDistScheduleOverlap());
  passes.addPass(createDistPipeline());
  // For their arenas.
  passes.addPass(createDistJoinParameters());
  buildLowerPipeline(passes, *getTargets().front(), LowerOptions());
  passes.getDependentDialects(registry);
}

namespace {
struct DistDistribute : dist::impl::DistDistributeBase<DistDistribute> {
  using DistDistributeBase::DistDistributeBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    addPipelineDialects(registry);
    for (const OpPassManager &passes : then)
      passes.getDependentDialects(registry);
  }

  DistDistributeOptions getOptions() const {
    DistDistributeOptions options;
    options.schedule = schedule;
    options.plan = plan;
    options.scheduleName = scheduleName;
    options.allowUnmatched = allowUnmatched;
    options.places = places;
    options.f64 = f64;
    options.mesh.assign(mesh.begin(), mesh.end());
    options.bind.assign(bind.begin(), bind.end());
    options.then.assign(then.begin(), then.end());
    options.fuseTransposes = fuseTransposes;
    options.stopPlaced = stopPlaced;
    options.assumeMasks = assumeMasks;
    options.recompute = recompute;
    options.turns = turns;
    options.overlap = overlap;
    options.halos = halos;
    options.joinHalos = joinHalos;
    options.machine = machine;
    options.link = link;
    options.overlapMemory = overlapMemory;
    options.report = report;
    return options;
  }

  void runOnOperation() override {
    FailureOr<std::vector<Phase>> phases =
        getPhases(getOperation(), getOptions());
    if (failed(phases))
      return signalPassFailure();
    for (Phase &phase : *phases)
      if (failed(runPipeline(phase.passes, getOperation())))
        return signalPassFailure();
    // Of others the passes that were run have told.
    markAllAnalysesPreserved();
  }
};
} // namespace
