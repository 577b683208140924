//===- Pipeline.cpp - Cuts a step of training into tasks ------------------===//

#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/pipeline/CutTasks.h"
#include "passes/pipeline/Passes.h"
#include "passes/pipeline/ReadBorders.h"
#include "passes/pipeline/TiedSums.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTPIPELINE
#include "passes/pipeline/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// The loop over microbatches: the one that has ops of the model's modules.
static FailureOr<scf::ForOp> findLoop(func::FuncOp function,
                                      const PipelineNote &note) {
  scf::ForOp found;
  for (auto loop : function.getBody().front().getOps<scf::ForOp>()) {
    bool hasModules = llvm::any_of(
        *loop.getBody(), [](Operation &op) { return op.hasAttr(kScopeAttr); });
    if (!hasModules)
      continue;
    if (found)
      return loop.emitError("is a second loop: which of the two is the one "
                            "over microbatches?");
    found = loop;
  }
  if (!found)
    return emitError(note.by) << "there is no loop over microbatches, which "
                                 "the stages are to work on in turns: give "
                                 "--accumulate (accumulate=K of "
                                 "--dist-train-step)";
  return found;
}

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
  void runOnOperation() override {
    if (failed(cut(getOperation())))
      signalPassFailure();
  }

private:
  static LogicalResult cut(ModuleOp module) {
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
    FailureOr<scf::ForOp> loop = findLoop(function, *note);
    if (failed(loop) || failed(checkAxis(function, *note)))
      return failure();
    eraseUnread(*loop);
    {
      OuterReads outer(function, *loop);
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
    if (failed(places.place()))
      return failure();
    return cutTasks(function, *loop, places, outer);
  }
};
} // namespace
