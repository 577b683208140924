//===- ScheduleOverlap.cpp - Collectives run beside computation -----------===//

#include "dialects/dist/IR/Program.h"
#include "dialects/dist/IR/Streams.h"
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

/// How many transfers are started and not yet used.
static constexpr unsigned kWindows[] = {1, 2, 4, 8};

static void apply(const OverlapProblem &problem, const OverlapOrder &order) {
  Builder builder(problem.tasks.front().op->getContext());
  Operation *terminator = problem.tasks.front().op->getBlock()->getTerminator();
  for (unsigned number : order.order) {
    const OverlapTask &task = problem.tasks[number];
    task.op->moveBefore(terminator);
    if (order.started[number])
      task.op->setAttr(kStreamAttr,
                       builder.getI32IntegerAttr(1 + task.comm % kMaxStream));
  }
}

namespace {
struct ScheduleOverlap
    : mlir::dist::impl::DistScheduleOverlapBase<ScheduleOverlap> {
  using DistScheduleOverlapBase::DistScheduleOverlapBase;

  FailureOr<MachineModel> getMachine() {
    MachineModel machine{
        gflops * 1e9, memoryBandwidth * 1e9, {}, startMicros * 1e-6, slowdown};
    if (link.empty())
      return emitError(getOperation().getLoc())
             << "--dist-schedule-overlap needs to know the links: "
                "link={latency=20us,bandwidth=1GB/s}";
    try {
      machine.link = ::dist::parseLink(link);
    } catch (const std::exception &error) {
      return emitError(getOperation().getLoc())
             << "--dist-schedule-overlap: " << error.what();
    }
    if (!(gflops > 0) || !(memoryBandwidth > 0) || !(startMicros >= 0) ||
        !(slowdown >= 0) || !(margin >= 0) || !(memory > 0))
      return emitError(getOperation().getLoc())
             << "--dist-schedule-overlap: gflops, memory-bandwidth and memory "
                "must be above 0, start-us, slowdown and margin at least 0";
    return machine;
  }

  void schedule(Block &block, MeshOp mesh, const MachineModel &machine) {
    OverlapProblem problem = buildProblem(block, mesh, machine);
    if (problem.numComms == 0)
      return;
    OverlapCost given = simulate(problem, getGivenOrder(problem));
    std::optional<OverlapOrder> best;
    OverlapCost least = given;
    for (unsigned window : kWindows) {
      OverlapOrder order = listSchedule(problem, window);
      OverlapCost cost = simulate(problem, order);
      if (cost.bytes <= memory * given.bytes && cost.seconds < least.seconds) {
        least = cost;
        best = std::move(order);
      }
    }
    bool fires = best && least.seconds < (1 - margin) * given.seconds;
    if (report)
      emitRemark(block.getParentOp()->getLoc())
          << (fires ? "overlapped" : "left as it is") << ": "
          << llvm::formatv("{0:F3} ms as given ({1:F3} waiting, {2} bytes), "
                           "{3:F3} ms at best ({4:F3} waiting, {5} bytes)",
                           given.seconds * 1e3, given.exposed * 1e3,
                           int64_t(given.bytes), least.seconds * 1e3,
                           least.exposed * 1e3, int64_t(least.bytes))
                 .str();
    if (fires)
      apply(problem, *best);
  }

  void runOnOperation() override {
    FailureOr<MachineModel> machine = getMachine();
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(machine) || failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return;
    SmallVector<Block *> blocks;
    WalkResult checked = getOperation().walk([&](Operation *op) {
      if (op->hasAttr(kStreamAttr)) {
        op->emitOpError() << "has '" << kStreamAttr
                          << "' already: a program is scheduled once";
        return WalkResult::interrupt();
      }
      if (isa<CollectiveOpInterface>(op) &&
          (blocks.empty() || blocks.back() != op->getBlock()))
        blocks.push_back(op->getBlock());
      return WalkResult::advance();
    });
    if (checked.wasInterrupted())
      return signalPassFailure();
    // Inner blocks come first, and again after what is within their ops.
    llvm::SmallPtrSet<Block *, 4> seen;
    for (Block *block : blocks)
      if (seen.insert(block).second)
        schedule(*block, *mesh, *machine);
  }
};
} // namespace
