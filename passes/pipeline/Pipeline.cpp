//===- Pipeline.cpp - Cuts a step of training into tasks ------------------===//

#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/pipeline/Balance.h"
#include "passes/pipeline/CutTasks.h"
#include "passes/pipeline/MicrobatchLoop.h"
#include "passes/pipeline/Passes.h"
#include "passes/pipeline/ReadBorders.h"
#include "passes/pipeline/TiedSums.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTPIPELINE
#include "passes/pipeline/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Fails if anything is sharded over the pipeline's axis, or sent along it.
static LogicalResult checkAxis(func::FuncOp function,
                               const PipelineNote &note) {
  auto uses = [&](Attribute attr) {
    bool isUsed = false;
    if (attr)
      attr.walk([&](AxisRefAttr axis) {
        isUsed |= axis.getName() == note.axis.getValue();
      });
    return isUsed;
  };
  auto fail = [&](InFlightDiagnostic error) -> InFlightDiagnostic {
    return std::move(error) << " over " << note.axis
                            << ", along which the pipeline has its stages: "
                               "nothing else is sharded over it";
  };
  for (unsigned i = 0, end = function.getNumArguments(); i < end; ++i)
    if (uses(function.getArgAttr(i, kShardingAttr)))
      return fail(function.emitError() << "argument " << i << " is sharded");
  for (unsigned i = 0, end = function.getNumResults(); i < end; ++i)
    if (uses(function.getResultAttr(i, kShardingAttr)))
      return fail(function.emitError() << "result " << i << " is sharded");
  WalkResult walked = function.walk([&](Operation *op) {
    if (op == function || !uses(op->getAttrDictionary()))
      return WalkResult::advance();
    fail(op->emitOpError("is"));
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

/// Erases what nobody reads: it would be in a task, and sent.
static void eraseUnread(scf::ForOp loop) {
  for (Operation *op = loop.getBody()->getTerminator()->getPrevNode(); op;) {
    Operation *before = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    op = before;
  }
}

namespace {
struct CutPipeline : dist::impl::DistPipelineBase<CutPipeline> {
  using DistPipelineBase::DistPipelineBase;

  void runOnOperation() override {
    if (failed(cut(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult cut(ModuleOp module) {
    if (llvm::none_of(module.getOps<MeshOp>(),
                      [](MeshOp mesh) { return mesh->hasAttr(kPipelineAttr); }))
      return success();
    FailureOr<MeshOp> mesh = findProgramMesh(module);
    FailureOr<FunctionOpInterface> entry = findEntryFunction(module);
    if (failed(mesh) || failed(entry))
      return failure();
    std::optional<PipelineNote> note = PipelineNote::get(*mesh);
    if (!note)
      return success();
    auto function = cast<func::FuncOp>(entry->getOperation());
    bool isCut = function.walk([](TaskOp) { return WalkResult::interrupt(); })
                     .wasInterrupted();
    if (isCut)
      return success();
    FailureOr<scf::ForOp> loop = findLoop(function, *mesh, microbatches);
    if (failed(loop) || failed(checkAxis(function, *note)))
      return failure();
    eraseUnread(*loop);
    {
      OuterReads outer(function, *loop);
      if (failed(choose(module, *mesh, *note, *loop, outer)))
        return failure();
      StagePlaces places(*loop, outer, *note);
      if (failed(places.place()))
        return failure();
      readBorders(*loop, places);
      loop = splitTiedSums(*loop,
                           [&](Operation *op) { return places.getStage(op); });
    }
    eraseUnread(*loop);
    OuterReads outer(function, *loop);
    StagePlaces places(*loop, outer, *note);
    if (failed(places.place()) || failed(places.findHomes()))
      return failure();
    if (failed(cutTasks(function, *loop, places, outer)))
      return failure();
    remarkEmpty(function, *note);
    return success();
  }

  /// Says which stages hold no parameter: few want that.
  static void remarkEmpty(func::FuncOp function, const PipelineNote &note) {
    llvm::DenseSet<int64_t> holders;
    for (unsigned i = 0, end = function.getNumArguments(); i < end; ++i)
      if (auto stage = function.getArgAttrOfType<IntegerAttr>(i, kStageAttr);
          stage && function.getArgAttr(i, kParameterAttr))
        holders.insert(stage.getInt());
    for (auto [stage, modules] : llvm::enumerate(note.stages))
      if (!holders.contains(stage))
        emitRemark(note.by) << "stage " << stage << " of the pipeline, \""
                            << modules.front().getValue() << "\""
                            << (modules.size() > 1 ? " and others," : ",")
                            << " has no parameters";
  }

  LogicalResult choose(ModuleOp module, MeshOp mesh, PipelineNote &note,
                       scf::ForOp loop, const OuterReads &outer) {
    std::optional<Machine> known;
    std::optional<StepTimes> times;
    if (!machine.empty()) {
      FailureOr<Machine> loaded =
          loadMachine(note.by, PipelineOp::getOperationName(), machine, link);
      if (failed(loaded) || failed(checkDevices(*loaded, mesh)))
        return failure();
      known = std::move(*loaded);
      times.emplace(module, *known, mesh);
    }
    if (failed(chooseStages(note, loop, outer, times ? &*times : nullptr)))
      return failure();
    mesh->setAttr(kPipelineAttr, note.toAttr(mesh.getContext()));
    return success();
  }
};
} // namespace
