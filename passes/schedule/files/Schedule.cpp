//===- Schedule.cpp - Reading and applying schedules ----------------------===//
//
// Schedule files, the mesh they bring along, and the run over the directives.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/files/Schedule.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/SourceText.h"
#include "dist/OutputFile.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Parser/Parser.h"
#include "passes/schedule/directives/Directives.h"
#include "passes/schedule/directives/FeatureBlocks.h"
#include "passes/schedule/directives/FeatureSharding.h"
#include "passes/schedule/directives/ScheduleApplication.h"
#include "passes/schedule/directives/ScheduleFunctions.h"
#include "passes/schedule/files/Include.h"
#include "passes/schedule/files/Plan.h"
#include "passes/schedule/files/SyntaxHelp.h"
#include "passes/sizes/StaticBounds.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::dist;

FailureOr<ScheduleOp> mlir::dist::findSchedule(ModuleOp module,
                                               StringRef name) {
  SmallVector<ScheduleOp> schedules(module.getOps<ScheduleOp>());
  if (schedules.empty())
    return emitError(module.getLoc())
           << "there is no dist.schedule; name a file with one "
              "(--schedule FILE, or file=FILE of the pass)";
  if (name.empty() && schedules.size() == 1)
    return schedules.front();
  for (ScheduleOp schedule : schedules)
    if (schedule.getSymName() == name)
      return schedule;
  InFlightDiagnostic diagnostic = emitError(module.getLoc());
  if (name.empty())
    diagnostic
        << "there are " << schedules.size()
        << " schedules; choose one by its name (--schedule-name NAME, or "
           "schedule=NAME of the pass) of ";
  else
    diagnostic << "there is no schedule @" << name << ", but ";
  llvm::interleaveComma(schedules, diagnostic, [&](ScheduleOp schedule) {
    diagnostic << "@" << schedule.getSymName();
  });
  return diagnostic;
}

/// Moves `op` before the first op of `module`.
static void moveToFront(Operation *op, ModuleOp module) {
  op->remove();
  module.getBody()->push_front(op);
}

/// Moves `schedule` and the mesh that it is on out of `holder` into `module`.
static LogicalResult moveIn(ScheduleOp schedule, ModuleOp holder,
                            ModuleOp module) {
  StringRef meshName = schedule.getMesh();
  auto brought = holder.lookupSymbol<MeshOp>(meshName);
  Operation *present = module.lookupSymbol(meshName);
  if (!brought && !present) {
    InFlightDiagnostic diagnostic = emitError(schedule.getLoc());
    diagnostic << "dist.schedule @" << schedule.getSymName()
               << " is on mesh @" << meshName
               << ", which neither its file nor the program defines";
    for (auto mesh : holder.getOps<MeshOp>())
      diagnostic.attachNote(mesh.getLoc())
          << "the file has mesh @" << mesh.getSymName();
    return diagnostic;
  }
  if (brought && present) {
    auto mesh = dyn_cast<MeshOp>(present);
    if (!mesh || mesh.getAxesAttr() != brought.getAxesAttr()) {
      InFlightDiagnostic diagnostic = emitError(brought.getLoc());
      if (mesh)
        diagnostic << "mesh @" << meshName << " is " << brought.getAxesAttr()
                   << " here, but " << mesh.getAxesAttr() << " in the program";
      else
        diagnostic << "@" << meshName << " is no mesh in the program";
      diagnostic.attachNote(present->getLoc()) << "defined here";
      return diagnostic;
    }
  }
  if (Operation *other = module.lookupSymbol(schedule.getSymName())) {
    InFlightDiagnostic diagnostic = emitError(schedule->getLoc())
                                    << "@" << schedule.getSymName()
                                    << " is defined in the program as well";
    diagnostic.attachNote(other->getLoc()) << "defined here";
    return diagnostic;
  }
  moveFunctions(schedule, holder, module);
  moveToFront(schedule, module);
  if (!present)
    moveToFront(brought, module);
  return success();
}

/// The text of a file that holds `what`; no output replaces it.
static FailureOr<std::unique_ptr<llvm::MemoryBuffer>>
readFile(MLIRContext *context, StringRef what, StringRef file) {
  auto text = readText(file);
  if (!text)
    return emitError(UnknownLoc::get(context))
           << "cannot read " << what << " file '" << file
           << "': " << llvm::toString(text.takeError());
  ::dist::noteInput(file.str());
  return std::move(*text);
}

FailureOr<ScheduleOp> mlir::dist::loadPlan(ModuleOp module, StringRef file) {
  auto text = readFile(module.getContext(), "plan", file);
  if (failed(text))
    return failure();
  FailureOr<PlannedSchedule> planned =
      readPlan((*text)->getBuffer(), file, module);
  if (failed(planned) ||
      failed(moveIn(planned->schedule, *planned->holder, module)))
    return failure();
  return planned->schedule;
}

FailureOr<OwningOpRef<ModuleOp>>
mlir::dist::parseScheduleFile(MLIRContext *context, StringRef file) {
  auto text = readFile(context, "schedule", file);
  if (failed(text))
    return failure();
  if (isBytecode((*text)->getMemBufferRef()))
    return emitError(UnknownLoc::get(context))
           << file << " is MLIR bytecode; a schedule is text";
  if (std::string kind = describeForeign(file, (*text)->getBuffer());
      !kind.empty())
    return emitError(UnknownLoc::get(context)) << file << " " << kind;
  if (std::string deep = findTooDeep((*text)->getBuffer()); !deep.empty())
    return emitError(UnknownLoc::get(context)) << file << ":" << deep;
  OwningOpRef<ModuleOp> parsed;
  {
    SyntaxHelp help(context, (*text)->getBuffer());
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
    parsed = parseSourceFile<ModuleOp>(
        sources, ParserConfig(context, /*verifyAfterParse=*/false));
  }
  if (!parsed || failed(verifyInput(parsed.get())))
    return failure();
  return parsed;
}

FailureOr<ScheduleOp> mlir::dist::loadSchedule(ModuleOp module, StringRef file,
                                               StringRef name) {
  MLIRContext *context = module.getContext();
  if (file.ends_with(".json")) {
    if (!name.empty())
      return emitError(UnknownLoc::get(context))
             << file << " is a plan, which has no schedule @" << name;
    return loadPlan(module, file);
  }
  FailureOr<OwningOpRef<ModuleOp>> parsed = parseScheduleFile(context, file);
  if (failed(parsed))
    return failure();
  FailureOr<ScheduleOp> schedule = findSchedule(**parsed, name);
  if (failed(schedule) || failed(moveIn(*schedule, **parsed, module)))
    return failure();
  return *schedule;
}

/// Splits fused projections for the directives that shard them block by block.
/// The targets of these are looked up again when they are applied.
static LogicalResult splitProjections(ModuleOp module, ScheduleOp schedule,
                                      MeshOp mesh) {
  MeshLayout layout(mesh);
  std::optional<ScopeIndex> scopes;
  Origins origins;
  FeatureBlocks blocks(origins);
  for (auto directive : schedule.getBody().getOps<ShardOp>()) {
    if (!directive.getBlocks() && directive.getKind() != ShardTarget::Heads)
      continue;
    if (!scopes)
      scopes.emplace(module);
    auto any = cast<ScheduleDirectiveOpInterface>(directive.getOperation());
    if (failed(splitFusedProjections(directive, *scopes,
                                     matchTargets(*scopes, any), layout,
                                     origins, blocks)))
      return failure();
  }
  return blocks.finish();
}

/// Applies all directives of one kind before any other, and notes at how many
/// places.
template <typename Directive>
static LogicalResult applyAll(ModuleOp module, ScheduleOp schedule, MeshOp mesh,
                              const ScheduleFunctions &functions,
                              bool allowUnmatched,
                              llvm::DenseMap<Operation *, unsigned> &places) {
  std::optional<ScheduleApplication> application;
  for (auto directive : schedule.getBody().getOps<Directive>()) {
    if (!application)
      application.emplace(module, mesh, functions, allowUnmatched);
    FailureOr<unsigned> count = application->apply(
        cast<ScheduleDirectiveOpInterface>(directive.getOperation()));
    if (failed(count))
      return failure();
    places[directive] = *count;
  }
  return success();
}

LogicalResult mlir::dist::applySchedule(ModuleOp module, ScheduleOp schedule,
                                        llvm::raw_ostream *report,
                                        bool allowUnmatched) {
  auto mesh = module.lookupSymbol<MeshOp>(schedule.getMesh());
  if (!mesh)
    return emitError(schedule.getLoc())
           << "is on mesh @" << schedule.getMesh() << ", which is not defined";
  if (failed(expandIncludes(schedule)) ||
      failed(checkPipeline(schedule, mesh, /*isApplied=*/false)))
    return failure();
  ScheduleFunctions functions(module);
  llvm::DenseMap<Operation *, unsigned> places;
  // Directives that change ops come before those that place them.
  if (failed(applyAll<ReplaceOp>(module, schedule, mesh, functions,
                                 allowUnmatched, places)) ||
      failed(applyAll<DecomposeOp>(module, schedule, mesh, functions,
                                   allowUnmatched, places)) ||
      failed(splitProjections(module, schedule, mesh)) ||
      failed(applyAll<FuseOp>(module, schedule, mesh, functions, allowUnmatched,
                              places)))
    return failure();
  ScheduleApplication application(module, mesh, functions, allowUnmatched);
  auto describe = [&] {
    for (auto directive :
         schedule.getBody().getOps<ScheduleDirectiveOpInterface>())
      if (auto found = places.find(directive);
          report && found != places.end()) {
        StringRef note = application.getNote(directive);
        *report << directive.describe() << ": " << found->second
                << (found->second == 1 ? " place" : " places")
                << (note.empty() ? "" : "; ") << note << "\n";
      }
  };
  // For the original ops, before directives insert others between them.
  if (llvm::any_of(schedule.getBody().getOps<ScheduleDirectiveOpInterface>(),
                   [](ScheduleDirectiveOpInterface directive) {
                     return directive.getTargetKind() == TargetKind::Value;
                   }))
    application.getScopes().addValueNames();
  for (auto directive :
       schedule.getBody().getOps<ScheduleDirectiveOpInterface>()) {
    if (places.contains(directive))
      continue;
    FailureOr<unsigned> count = application.apply(directive);
    if (failed(count)) {
      describe();
      return failure();
    }
    places[directive] = *count;
  }
  if (failed(application.finish(places)) ||
      failed(checkPipeline(schedule, mesh, /*isApplied=*/true)))
    return failure();
  describe();
  schedule.erase();
  return success();
}

void mlir::dist::registerScheduleDirectives(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DistDialect *) {
    attachDecomposeDirective(*context);
    attachFuseDirective(*context);
    attachModuleDirectives(*context);
    attachOverlapDirective(*context);
    attachPipelineDirectives(*context);
    attachRandomDirective(*context);
    attachReplaceDirective(*context);
    attachNotedDirectives(*context);
    attachShardDirective(*context);
    attachSyncDirective(*context);
  });
}
