//===- ApplySchedule.cpp - Schedule into program: level 0 to 1 ------------===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/schedule/Schedule.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTAPPLYSCHEDULEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct DistApplySchedulePass
    : dist::impl::DistApplySchedulePassBase<DistApplySchedulePass> {
  using DistApplySchedulePassBase::DistApplySchedulePassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    DistApplySchedulePassBase::getDependentDialects(registry);
    registerScheduleDirectives(registry);
  }

  void runOnOperation() override {
    FailureOr<ScheduleOp> found =
        file.empty() ? findSchedule(getOperation(), schedule)
                     : loadSchedule(getOperation(), file, schedule);
    if (failed(found) ||
        failed(applySchedule(getOperation(), *found,
                             report ? &llvm::errs() : nullptr)))
      return signalPassFailure();
    // The others were alternatives: nobody is to apply one on top.
    for (ScheduleOp other :
         llvm::make_early_inc_range(getOperation().getOps<ScheduleOp>()))
      other.erase();
  }
};
} // namespace
