//===- ApplySchedule.cpp - Schedules and plans: level 0 to 1 --------------===//

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/schedule/files/Schedule.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTAPPLYPLANPASS
#define GEN_PASS_DEF_DISTAPPLYSCHEDULEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Applies the schedule, if it was found, and drops the others, which were
/// alternatives: nobody is to apply one on top.
static LogicalResult applyOnly(ModuleOp module, FailureOr<ScheduleOp> schedule,
                               bool report, bool allowUnmatched) {
  if (failed(schedule) ||
      failed(applySchedule(module, *schedule, report ? &llvm::errs() : nullptr,
                           allowUnmatched)))
    return failure();
  for (ScheduleOp other :
       llvm::make_early_inc_range(module.getOps<ScheduleOp>()))
    other.erase();
  return success();
}

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
    if (failed(applyOnly(getOperation(), found, report, allowUnmatched)))
      signalPassFailure();
  }
};

struct DistApplyPlanPass
    : dist::impl::DistApplyPlanPassBase<DistApplyPlanPass> {
  using DistApplyPlanPassBase::DistApplyPlanPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    DistApplyPlanPassBase::getDependentDialects(registry);
    registerScheduleDirectives(registry);
  }

  void runOnOperation() override {
    if (failed(applyOnly(getOperation(), loadPlan(getOperation(), file), report,
                         allowUnmatched)))
      signalPassFailure();
  }
};
} // namespace
