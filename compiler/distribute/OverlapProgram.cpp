//===- OverlapProgram.cpp - Communication and computation: level 3 to 4 ---===//

#include "compiler/distribute/Candidates.h"
#include "compiler/distribute/Phases.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Streams.h"
#include "lowering/pipeline/Pipeline.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/schedule/names/ModuleNotes.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTOVERLAPPROGRAM
#include "compiler/distribute/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Warns of directives that only the passes read that are not run.
static LogicalResult warnOfDirectives(ModuleOp module) {
  FailureOr<MeshOp> mesh = findProgramMesh(module);
  if (failed(mesh))
    return failure();
  auto modules = *mesh ? (*mesh)->getAttrOfType<DictionaryAttr>(kOverlapAttr)
                       : DictionaryAttr();
  for (NamedAttribute entry :
       modules ? modules.getValue() : ArrayRef<NamedAttribute>()) {
    auto always = dyn_cast<BoolAttr>(entry.getValue());
    if (always && !always.getValue())
      continue;
    auto chunks = dyn_cast<DictionaryAttr>(entry.getValue());
    Location loc =
        chunks ? Location(chunks.getAs<LocationAttr>("by")) : mesh->getLoc();
    emitWarning(loc) << "dist.overlap: what it says of module \""
                     << getNotedModule(entry.getName()) << "\""
                     << " is done with --overlap=auto only, and not now";
    return success();
  }
  return success();
}

namespace {
/// What the options come to for a program.
struct Wishes {
  bool overlap;
  std::string halos, joins;
  /// What the turns of a pipeline are: its pass makes the loop.
  bool areMicrobatches = false;

  bool isAny(StringRef turns) const {
    return overlap || !turns.empty() || halos != "exchange" || joins != "never";
  }
};

struct DistOverlapProgram
    : dist::impl::DistOverlapProgramBase<DistOverlapProgram> {
  using DistOverlapProgramBase::DistOverlapProgramBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    addPipelineDialects(registry);
  }

  /// Options of a pass that decides by the machine's figures.
  template <typename Options> Options on() {
    Options options;
    options.machineName = machine;
    options.link = link;
    options.report = report;
    return options;
  }

  /// What was asked for, as it is written on the command line.
  std::string listAsked() {
    SmallVector<std::string> asked;
    auto note = [&](StringRef name, StringRef value) {
      if (!value.empty())
        asked.push_back(("--" + name + "=" + value).str());
    };
    note("overlap", overlap == "off" ? "" : overlap.getValue());
    note("halos", halos);
    note("join-halos", joinHalos);
    note("turns", turns);
    return llvm::join(asked, ", ");
  }

  /// Checks the options against the program.
  FailureOr<Wishes> findWishes(ModuleOp module);

  /// Collectives beside computation, within `memory` times the bytes that are
  /// estimated for the order given.
  void addOverlap(OpPassManager &passes, double memory);
  void addPasses(OpPassManager &passes, const Wishes &wishes);

  void runOnOperation() override {
    // What passes change, they say themselves.
    markAllAnalysesPreserved();
    FailureOr<Wishes> wishes = findWishes(getOperation());
    if (failed(wishes))
      return signalPassFailure();
    if (!wishes->isAny(turns))
      return;
    OpPassManager passes(ModuleOp::getOperationName());
    addPasses(passes, *wishes);
    if (failed(runPipeline(passes, getOperation())))
      signalPassFailure();
  }
};
} // namespace

FailureOr<Wishes> DistOverlapProgram::findWishes(ModuleOp module) {
  StringRef mode = getOverlapMode(overlap, machine);
  bool isWanted = mode == "auto", isAsked = !overlap.empty();
  if (!isWanted && mode != "off")
    return module.emitError("--overlap=")
           << overlap << ": expected off or auto";
  if (overlap == "off" && hasStreams(module))
    return module.emitError("--overlap=off: the program has collectives on "
                            "streams already; give the one that it was made "
                            "of");
  // What these move may not come from one stage to another.
  bool hasPipeline = llvm::any_of(module.getOps<MeshOp>(), [](MeshOp mesh) {
    return mesh->hasAttr(kPipelineAttr);
  });
  if (hasPipeline) {
    if ((isWanted && isAsked) || (!joinHalos.empty() && joinHalos != "never"))
      return module.emitError()
             << listAsked()
             << ": does not go with a dist.pipeline yet: leave it out";
    isWanted = false;
  }
  // Nothing is sent, or what is sent has its order.
  if (isWanted && !isAsked && (getLevel(module) != 3 || hasStreams(module)))
    isWanted = false;
  if (!isWanted && failed(warnOfDirectives(module)))
    return failure();
  if (isWanted && machine.empty())
    return module.emitError(
        "--overlap=auto needs --machine, which says on what "
        "it is to pay");
  Wishes wishes{isWanted, halos, joinHalos, hasPipeline};
  if (wishes.halos.empty())
    wishes.halos = isWanted ? "auto" : "exchange";
  if (wishes.halos == "auto" && machine.empty())
    return module.emitError("--halos=auto needs --machine, which says on what "
                            "it is to pay");
  if (wishes.joins.empty())
    wishes.joins = isWanted && isAsked ? "auto" : "never";
  if (!llvm::is_contained({"auto", "never", "always"}, wishes.joins))
    return module.emitError("--join-halos=")
           << wishes.joins << ": expected auto, never or always";
  if (wishes.joins == "auto" && machine.empty())
    return module.emitError("--join-halos=auto needs --machine, which says on "
                            "what it is to pay");
  if (wishes.isAny(turns) && getLevel(module) != 3)
    return module.emitError()
           << listAsked()
           << ": there is no schedule or plan, so that the program runs on one "
              "device and nothing is sent; give one with --schedule, or leave "
              "this out";
  if (isWanted && !(overlapMemory > 0))
    return module.emitError("--overlap-memory=")
           << overlapMemory << ": must be more than 0";
  return wishes;
}

void DistOverlapProgram::addOverlap(OpPassManager &passes, double memory) {
  addAttentionAcrossLoops(passes);
  passes.addPass(createDistChunkCollectives());
  passes.addPass(createDistBucketReductions(on<DistBucketReductionsOptions>()));
  auto rotation = on<DistRotateLoopsOptions>();
  rotation.memory = memory;
  passes.addPass(createDistRotateLoops(rotation));
  auto schedule = on<DistScheduleOverlapOptions>();
  schedule.memory = memory;
  passes.addPass(createDistScheduleOverlap(schedule));
}

void DistOverlapProgram::addPasses(OpPassManager &passes,
                                   const Wishes &wishes) {
  if (!turns.empty() && !wishes.areMicrobatches) {
    DistUnrollAxisOptions unroll;
    unroll.axis = getTurnsAxis(turns);
    passes.addPass(createDistUnrollAxis(unroll));
    passes.addPass(createCSEPass());
    passes.addPass(createVerifySpmdPass());
  }
  if (wishes.joins != "never") {
    auto joining = on<DistJoinHalosOptions>();
    joining.join = wishes.joins;
    passes.addPass(createDistJoinHalos(joining));
    passes.addPass(createCSEPass());
    passes.addPass(createVerifySpmdPass());
  }
  auto lowering = on<DistLowerHalosOptions>();
  lowering.to = wishes.halos;
  passes.addPass(createDistLowerHalos(lowering));
  if (!wishes.overlap)
    return;
  // Turns were asked for: what they would be held to is the program in one
  // turn, which is not at hand.
  if (!turns.empty())
    return addOverlap(passes, overlapMemory);
  DistKeepWithinMemoryOptions within;
  within.memory = overlapMemory;
  within.report = report;
  double lower = std::min(1.0, overlapMemory.getValue()) +
                 std::max(overlapMemory - 1, 0.0) / 4;
  for (double memory : {overlapMemory.getValue(), lower})
    addOverlap(within.tries.emplace_back(ModuleOp::getOperationName()), memory);
  passes.addPass(createDistKeepWithinMemory(within));
}
