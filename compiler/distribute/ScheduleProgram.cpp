//===- ScheduleProgram.cpp - Schedule, mesh and sizes: level 0 to 1 -------===//

#include "compiler/distribute/Phases.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "dist/Mesh.h"
#include "lowering/decompose/Passes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "passes/Passes.h"
#include "passes/schedule/files/Include.h"
#include "passes/schedule/files/Schedule.h"
#include "passes/sizes/BindSizes.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTSCHEDULEPROGRAM
#include "compiler/distribute/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// An error that is about an option alone, so that it has no place.
static InFlightDiagnostic emitOptionError(ModuleOp module) {
  return emitError(UnknownLoc::get(module.getContext()));
}

/// What are whole axes by now is named as such: "tp"(1)2 of an axis that had 4
/// devices and has 2.
static void nameWholeAxes(ModuleOp module, StringRef name, int64_t size) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](AxisRefAttr axis) {
    bool isWhole = axis.getName() == name && axis.isSubAxis() &&
                   axis.getPre() == 1 && axis.getSize() == size;
    return isWhole ? AxisRefAttr::get(axis.getContext(), name, 1, 0) : axis;
  });
  replacer.recursivelyReplaceElementsIn(module);
}

/// Writes sizes such as "tp=4" into the module's meshes.
static LogicalResult overrideMesh(ModuleOp module,
                                  ArrayRef<std::string> options) {
  llvm::StringSet<> given;
  for (StringRef option : options) {
    auto [name, value] = option.split('=');
    if (!given.insert(name).second)
      return emitOptionError(module)
             << "--mesh " << option << ": axis '" << name << "' is given twice";
    int64_t size;
    if (name.empty() || value.getAsInteger(10, size) || size < 1 ||
        size > ::dist::maxRanks)
      return emitOptionError(module)
             << "--mesh " << option
             << ": expected AXIS=SIZE with a size of 1 to " << ::dist::maxRanks
             << ", such as tp=4";
    bool found = false;
    std::string known;
    for (MeshOp mesh : module.getOps<MeshOp>()) {
      SmallVector<MeshAxisAttr> axes;
      for (MeshAxisAttr axis : mesh.getAxes()) {
        bool same = axis.getName() == name;
        found |= same;
        known += " " + axis.getName().str();
        axes.push_back(same ? MeshAxisAttr::get(module.getContext(), name, size)
                            : axis);
      }
      if (std::string place = describeLocation(mesh.getLoc()); !place.empty())
        known += " (" + place + ")";
      mesh.setAxesAttr(MeshAxesAttr::get(module.getContext(), axes));
    }
    if (!found)
      return emitOptionError(module)
             << "--mesh " << option << ": no mesh has an axis '" << name << "'"
             << (known.empty() ? "; a schedule (--schedule) brings a mesh"
                               : "; the axes are:" + known);
    nameWholeAxes(module, name, size);
  }
  return success();
}

/// Programs are on tensors: what goes around them, to memory or to the machine,
/// or has no value at all, nothing here can check.
static LogicalResult checkProgram(ModuleOp module) {
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect == "memref" || dialect == "llvm")
      return op->emitOpError(
          "is on memory; programs of levels 0 to 3 are on tensors");
    if (dialect == "ub" || dialect == "vector")
      return op->emitOpError("is of no dialect of programs of levels 0 to 3, "
                             "which are on tensors and numbers");
    return success();
  });
  return failure(result.wasInterrupted());
}

/// Whether turns= says something of this program.
static LogicalResult checkTurns(ModuleOp module, StringRef turns) {
  if (turns.empty())
    return success();
  FailureOr<MeshOp> mesh = findProgramMesh(module);
  if (failed(mesh))
    return failure();
  if (!*mesh)
    return module.emitError("--turns=")
           << turns
           << ": the program has no dist.mesh, so that nothing is sent "
           << "that turns could hide (--schedule)";
  int64_t count = 0;
  if (!turns.getAsInteger(10, count)) {
    if (getLevel(module) > 1)
      return module.emitError("--turns=")
             << turns << ": the program is placed already; the batch is cut "
             << "before (level 0 or 1)";
    return success();
  }
  if (mesh->getAxisSize(turns) > 0)
    return success();
  InFlightDiagnostic error =
      module.emitError("--turns=")
      << turns << ": neither a number of turns, nor auto, nor an axis of the "
      << "mesh, which has ";
  llvm::interleaveComma(mesh->getAxes(), error, [&](MeshAxisAttr axis) {
    error << '"' << axis.getName() << '"';
  });
  return error;
}

namespace {
struct DistScheduleProgram
    : mlir::dist::impl::DistScheduleProgramBase<DistScheduleProgram> {
  using DistScheduleProgramBase::DistScheduleProgramBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    addPipelineDialects(registry);
  }

  void runOnOperation() override {
    if (failed(scheduleProgram(getOperation())))
      signalPassFailure();
  }

  LogicalResult run(ModuleOp module, std::unique_ptr<Pass> pass) {
    OpPassManager passes(ModuleOp::getOperationName());
    passes.addPass(std::move(pass));
    return runPipeline(passes, module);
  }

  /// Moves the schedule of the options into the module, if they name a file.
  /// Returns the name of the one that is to be applied; "" for the only one.
  FailureOr<std::string> readSchedule(ModuleOp module, int level) {
    for (ScheduleOp own : module.getOps<ScheduleOp>())
      if (module.getOps<FunctionOpInterface>().empty())
        return own.emitError("here is a schedule, and no program: the program "
                             "comes first, and --schedule names the schedule");
    if (!schedule.empty() && !plan.empty())
      return module.emitError("--schedule ")
             << schedule << " and --plan " << plan
             << " are two schedules; give one";
    const std::string &file = plan.empty() ? schedule : plan;
    if (file.empty())
      return scheduleName.getValue();
    if (level == 3)
      return module.emitError(
          "is already the program of one device; a schedule "
          "applies to the model (level 0 to 1)");
    for (ScheduleOp own : module.getOps<ScheduleOp>())
      return own.emitError("the module has a schedule of its own, so that ")
             << file << " would be a second one";
    if (!plan.empty() && !scheduleName.empty())
      return module.emitError("--schedule-name ")
             << scheduleName << ": the plan " << file << " has no name";
    FailureOr<ScheduleOp> loaded =
        plan.empty() ? loadSchedule(module, file, scheduleName)
                     : loadPlan(module, file);
    if (failed(loaded))
      return failure();
    return loaded->getSymName().str();
  }

  LogicalResult scheduleProgram(ModuleOp module) {
    FailureOr<std::vector<SizeBinding>> sizes =
        parseBindings(SmallVector<std::string>(bind.begin(), bind.end()),
                      [&](const Twine &message) {
                        emitOptionError(module) << "--bind " << message;
                      });
    if (failed(sizes) || failed(checkProgram(module)))
      return failure();
    int64_t number = 0;
    if (!StringRef(turns).getAsInteger(10, number) && number < 1)
      return module.emitError("--turns=")
             << turns << ": one turn or more are possible";
    int level = getLevel(module);
    FailureOr<std::string> name = readSchedule(module, level);
    if (failed(name) || (!scheduleName.empty() &&
                         failed(findSchedule(module, scheduleName))))
      return failure();
    bool hasSchedule = !module.getOps<ScheduleOp>().empty();
    if (f64 && hasSchedule) {
      // Functions come with its file, and with those that it includes.
      FailureOr<ScheduleOp> applied = findSchedule(module, *name);
      if (failed(applied) || failed(expandIncludes(*applied)) ||
          (!getScheduleFunctions(module).empty() &&
           failed(run(module, createDistConvertToF64()))))
        return failure();
    }
    if (level == 3 && !mesh.empty())
      return module.emitError(
          "is already the program of one device, for a mesh "
          "of fixed size; --mesh cannot change it");
    if (failed(overrideMesh(
            module, SmallVector<std::string>(mesh.begin(), mesh.end()))))
      return failure();
    if ((!sizes->empty() || hasUnknownSizes(module)) &&
        failed(bindSizes(module, *sizes)))
      return failure();
    if (level == 3)
      return checkTurns(module, turns);
    if (allowUnmatched && !hasSchedule)
      return module.emitError("--allow-unmatched: there is no schedule or plan "
                              "that it would apply to");
    if (level == 0 && !hasSchedule)
      return success();
    if (hasSchedule) {
      DistApplySchedulePassOptions apply;
      apply.schedule = *name;
      apply.allowUnmatched = allowUnmatched;
      apply.report = places;
      if (failed(run(module, createDistApplySchedulePass(apply))))
        return failure();
    }
    if (failed(checkTurns(module, turns)))
      return failure();
    int64_t count = countTurns(turns);
    if (count == 0)
      return success();
    DistSplitBatchOptions split;
    split.turns = count;
    return run(module, createDistSplitBatch(split));
  }
};
} // namespace
