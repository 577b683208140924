//===- EraseAnnotations.cpp - Any level but 3 to level 0 ------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Random.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_ERASEANNOTATIONSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Attributes that describe the placement of a value, and not the value.
static bool isAnnotation(Operation *op) {
  return isa<MeshOp, ScheduleOp, ShardingConstraintOp, FollowOp,
             OptimizationBarrierOp, SyncOp, ReshardOp, ManualReshardOp>(op);
}

namespace {
struct EraseAnnotationsPass
    : mlir::dist::impl::EraseAnnotationsPassBase<EraseAnnotationsPass> {
  using EraseAnnotationsPassBase::EraseAnnotationsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (getLevel(module) == 3) {
      module.emitError("is the program of one device, which has no other form");
      return signalPassFailure();
    }
    for (FunctionOpInterface function : getScheduleFunctions(module))
      function.erase();
    SmallVector<Operation *> ops;
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (StringRef name :
           {StringRef(kShardingsAttr), StringRef(kShardingAttr),
            StringRef(kFuseAttr), StringRef(kBackwardAttr),
            StringRef(kRecomputedAttr), StringRef(kWindowCauseAttr),
            StringRef(kAskedForAttr)})
        op->removeDiscardableAttr(name);
      if (auto words = dyn_cast<RandomWordsOp>(op)) {
        words.removeAxesAttr();
        words.removeByAttr();
      }
      if (isAnnotation(op)) {
        ops.push_back(op);
        return WalkResult::skip();
      }
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        for (auto update : {updateArgAttrs, updateResultAttrs})
          update(function, [](unsigned, NamedAttrList &list) {
            for (StringRef name :
                 {StringRef(kShardingAttr), StringRef(kStoredAttr),
                  StringRef(kCauseAttr)})
              list.erase(name);
          });
      return WalkResult::advance();
    });
    for (Operation *op : ops) {
      if (op->getNumResults() == 1)
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
    }
  }
};
} // namespace
