//===- ScheduleOverlap.cpp - Collectives run beside computation -----------===//

#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Streams.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/overlap/OverlapProblem.h"
#include "passes/overlap/Passes.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTSCHEDULEOVERLAP
#include "passes/overlap/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

static void apply(const OverlapProblem &problem, const OverlapOrder &order) {
  Operation *terminator =
      problem.tasks.front().ops.front()->getBlock()->getTerminator();
  OpBuilder builder(terminator);
  bool followsKernels = false, isAnyStarted = false;
  for (unsigned number : order.order) {
    const OverlapTask &task = problem.tasks[number];
    // Units are kept apart here; fences of the order given are done with.
    if (isa<FenceOp>(task.ops.front())) {
      task.ops.front()->erase();
      continue;
    }
    // A transfer in flight is waited for at the fence, not within the unit.
    if (task.kind == OverlapTask::Compute &&
        (followsKernels || (isAnyStarted && task.ops.size() > 1)))
      FenceOp::create(builder, task.ops.front()->getLoc());
    isAnyStarted |= order.started[number];
    if (task.kind != OverlapTask::Free)
      followsKernels = task.kind == OverlapTask::Compute;
    for (Operation *op : task.ops)
      op->moveBefore(terminator);
    if (order.started[number])
      task.ops.front()->setAttr(
          kStreamAttr, builder.getI32IntegerAttr(1 + task.comm % kMaxStream));
  }
}

/// The number of transfers with the directive `always` that are on a stream.
static unsigned countGranted(const OverlapProblem &problem,
                             const OverlapOrder &order) {
  unsigned count = 0;
  for (auto [number, task] : llvm::enumerate(problem.tasks))
    count += task.wish == OverlapTask::Always && order.started[number];
  return count;
}

static std::string describe(const ListPolicy &policy) {
  StringRef what = policy.priority == ListPolicy::Given ? "as given"
                   : policy.priority == ListPolicy::Transfers
                       ? "for the next transfer"
                       : "by the longest path";
  return llvm::formatv("up to {0} in flight, {1}", policy.window, what).str();
}

static std::string describe(const OverlapCost &cost) {
  return llvm::formatv("{0:F3} ms ({1:F3} waiting, {2} bytes)",
                       cost.seconds * 1e3, cost.exposed * 1e3,
                       int64_t(cost.bytes))
      .str();
}

namespace {
struct ScheduleOverlap
    : mlir::dist::impl::DistScheduleOverlapBase<ScheduleOverlap> {
  using DistScheduleOverlapBase::DistScheduleOverlapBase;

  FailureOr<Machine> getMachine() {
    Location loc = getOperation().getLoc();
    if (!(margin >= 0) || !(memory > 0))
      return emitError(loc) << "--dist-schedule-overlap: margin must be at "
                               "least 0, and memory above it";
    return loadMachine(loc, "--dist-schedule-overlap", machineName, link);
  }

  void schedule(Block &block, MeshOp mesh, StepTimes &times,
                CommNumbers &comms) {
    OverlapProblem problem = buildProblem(block, mesh, times, comms);
    if (problem.numComms == 0)
      return;
    OverlapCost given = simulate(problem, getGivenOrder(problem));
    std::optional<OverlapOrder> best;
    OverlapCost least;
    unsigned mostGranted = 0;
    SmallVector<std::string> candidates;
    for (const ListPolicy &policy : getListPolicies()) {
      OverlapOrder order = listSchedule(problem, policy);
      OverlapCost cost = simulate(problem, order);
      bool fits = cost.bytes <= memory * given.bytes;
      candidates.push_back(
          llvm::formatv("{0}: {1}{2}", describe(policy), describe(cost),
                        fits ? "" : ", which is more memory than allowed"));
      unsigned granted = countGranted(problem, order);
      if (fits && (!best || granted > mostGranted ||
                   (granted == mostGranted && cost.seconds < least.seconds))) {
        least = cost;
        mostGranted = granted;
        best = std::move(order);
      }
    }
    bool wins = best && least.getCautious() < (1 - margin) * given.seconds;
    bool isAsked = best && mostGranted > 0;
    if (report) {
      InFlightDiagnostic remark = emitRemark(block.getParentOp()->getLoc());
      remark << (wins      ? "overlapped: "
                 : isAsked ? "overlapped, as asked for: "
                           : "left as it is: ")
             << describe(given) << " as given, "
             << (best ? describe(least) + " at best"
                      : "and no order that needs no more memory than allowed "
                        "(memory=, --overlap-memory)");
      if (best && !wins && least.seconds < (1 - margin) * given.seconds)
        remark
            << ", which would not be saved if starts cost half as much again";
      for (const std::string &candidate : candidates)
        remark.attachNote() << candidate;
    }
    if (wins || isAsked)
      apply(problem, *best);
  }

  void runOnOperation() override {
    FailureOr<Machine> machine = getMachine();
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(machine) || failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return;
    WalkResult checked = getOperation().walk([&](Operation *op) {
      if (op->hasAttr(kStreamAttr)) {
        op->emitOpError() << "has '" << kStreamAttr
                          << "' already: a program is scheduled once";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (checked.wasInterrupted())
      return signalPassFailure();
    StepTimes times(getOperation(), *machine, *mesh);
    CommNumbers comms;
    // Inner blocks come first: the time of a loop depends on them.
    getOperation().walk([&](Block *block) {
      if (llvm::any_of(*block, [](Operation &op) { return isTransfer(&op); }))
        schedule(*block, *mesh, times, comms);
    });
  }
};
} // namespace
