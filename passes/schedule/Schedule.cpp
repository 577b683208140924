//===- Schedule.cpp - Reading and applying schedules ----------------------===//
//
// Schedule files, the mesh they bring along, and the run over the directives.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Schedule.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Parser/Parser.h"
#include "passes/schedule/Directives.h"
#include "passes/schedule/ScheduleApplication.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::dist;

FailureOr<ScheduleOp> mlir::dist::findSchedule(ModuleOp module,
                                               StringRef name) {
  SmallVector<ScheduleOp> schedules(module.getOps<ScheduleOp>());
  if (schedules.empty())
    return emitError(module.getLoc()) << "there is no dist.schedule";
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

FailureOr<ScheduleOp> mlir::dist::loadSchedule(ModuleOp module, StringRef file,
                                               StringRef name) {
  MLIRContext *context = module.getContext();
  auto text = llvm::MemoryBuffer::getFile(file);
  if (!text)
    return emitError(UnknownLoc::get(context))
           << "cannot read schedule file '" << file
           << "': " << text.getError().message();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
  // What is wrong in it, the parser says at its place.
  OwningOpRef<ModuleOp> parsed =
      parseSourceFile<ModuleOp>(sources, ParserConfig(context));
  if (!parsed)
    return failure();
  FailureOr<ScheduleOp> schedule = findSchedule(*parsed, name);
  if (failed(schedule))
    return failure();
  StringRef meshName = schedule->getMesh();
  auto brought = parsed->lookupSymbol<MeshOp>(meshName);
  Operation *present = module.lookupSymbol(meshName);
  if (!brought && !present)
    return emitError(schedule->getLoc())
           << "is on mesh @" << meshName
           << ", which neither its file nor the program defines";
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
  if (Operation *other = module.lookupSymbol(schedule->getSymName())) {
    InFlightDiagnostic diagnostic = emitError(schedule->getLoc())
                                    << "@" << schedule->getSymName()
                                    << " is defined in the program as well";
    diagnostic.attachNote(other->getLoc()) << "defined here";
    return diagnostic;
  }
  moveToFront(*schedule, module);
  if (!present)
    moveToFront(brought, module);
  return *schedule;
}

LogicalResult mlir::dist::applySchedule(ModuleOp module, ScheduleOp schedule,
                                        llvm::raw_ostream *report) {
  auto mesh = module.lookupSymbol<MeshOp>(schedule.getMesh());
  if (!mesh)
    return emitError(schedule.getLoc())
           << "is on mesh @" << schedule.getMesh() << ", which is not defined";
  ScheduleApplication application(module, mesh);
  for (auto directive :
       schedule.getBody().getOps<ScheduleDirectiveOpInterface>()) {
    FailureOr<unsigned> places = application.apply(directive);
    if (failed(places))
      return failure();
    if (report)
      *report << directive.describe() << ": " << *places
              << (*places == 1 ? " place\n" : " places\n");
  }
  application.finish();
  schedule.erase();
  return success();
}

void mlir::dist::registerScheduleDirectives(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DistDialect *) {
    attachShardDirective(*context);
    attachSyncDirective(*context);
  });
}
