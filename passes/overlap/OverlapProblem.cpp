//===- OverlapProblem.cpp - What may run beside what ----------------------===//

#include "passes/overlap/OverlapProblem.h"
#include "dialects/dist/IR/Axes.h"
#include "dialects/dist/IR/Program.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::dist;

static double getResultBytes(Operation *op) {
  double bytes = 0;
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && tensor.hasStaticShape())
      bytes += getTensorBytes(tensor);
  return bytes;
}

OverlapProblem mlir::dist::buildProblem(Block &block, MeshOp mesh,
                                        const MachineModel &machine) {
  OverlapProblem problem;
  problem.machine = machine;
  DenseMap<Operation *, unsigned> numbers;
  DenseMap<Attribute, unsigned> comms;
  llvm::StringMap<unsigned> links;
  // Ops with effects, and collectives within others, keep their order.
  std::optional<unsigned> lastOrdered;
  for (Operation &op : block.without_terminator()) {
    unsigned number = problem.tasks.size();
    numbers[&op] = number;
    OverlapTask task;
    task.op = &op;
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (collective && !isa<AllSliceOp>(op)) {
      task.kind = OverlapTask::Transfer;
      SmallVector<AxisRefAttr> axes = getAxisRefs(collective.getAxes());
      task.seconds = machine.getLinkSeconds(collective,
                                            getGroupSize(axes, mesh.getAxes()));
      task.comm =
          comms.try_emplace(collective.getAxes(), comms.size()).first->second;
      for (AxisRefAttr axis : axes)
        task.links.push_back(
            links.try_emplace(axis.getName(), links.size()).first->second);
    } else {
      task.seconds = machine.getComputeSeconds(&op);
      if (task.seconds == 0)
        task.kind = OverlapTask::Free;
    }
    if (task.kind != OverlapTask::Free)
      task.bytes = getResultBytes(&op);

    llvm::SmallSetVector<unsigned, 4> needs;
    bool hasTransfers = false;
    op.walk([&](Operation *inner) {
      hasTransfers |= inner != &op && isa<CollectiveOpInterface>(inner);
      for (Value operand : inner->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && source != &op && source->getBlock() == &block)
          needs.insert(numbers.lookup(source));
    });
    if (hasTransfers || !isMemoryEffectFree(&op)) {
      if (lastOrdered)
        needs.insert(*lastOrdered);
      lastOrdered = number;
    }
    task.needs.append(needs.begin(), needs.end());
    for (unsigned need : needs)
      problem.tasks[need].users.push_back(number);
    problem.tasks.push_back(std::move(task));
  }
  problem.numComms = comms.size();
  problem.numLinks = links.size();
  return problem;
}

OverlapOrder mlir::dist::getGivenOrder(const OverlapProblem &problem) {
  OverlapOrder order;
  llvm::append_range(order.order, llvm::seq<unsigned>(0, problem.tasks.size()));
  order.started.assign(problem.tasks.size(), false);
  return order;
}

OverlapCost mlir::dist::simulate(const OverlapProblem &problem,
                                 const OverlapOrder &order) {
  const MachineModel &machine = problem.machine;
  OverlapCost cost;
  std::vector<double> linkFree(problem.numLinks, 0);
  std::vector<double> doneAt(problem.tasks.size(), 0);
  // A buffer is alive until the last use of what is made of it for free.
  std::vector<unsigned> usesLeft(problem.tasks.size());
  for (auto [number, task] : llvm::enumerate(problem.tasks))
    usesLeft[number] = task.users.size();
  double now = 0, alive = 0;
  auto release = [&](unsigned number) {
    SmallVector<unsigned> pending = {number};
    while (!pending.empty()) {
      unsigned done = pending.pop_back_val();
      const OverlapTask &task = problem.tasks[done];
      alive -= task.bytes;
      if (task.kind == OverlapTask::Free)
        for (unsigned need : task.needs)
          if (--usesLeft[need] == 0)
            pending.push_back(need);
    }
  };
  for (unsigned number : order.order) {
    const OverlapTask &task = problem.tasks[number];
    // What started is waited for by its first user.
    for (unsigned need : task.needs)
      if (doneAt[need] > now) {
        cost.exposed += doneAt[need] - now;
        now = doneAt[need];
      }
    alive += task.bytes;
    cost.bytes = std::max(cost.bytes, alive);
    switch (task.kind) {
    case OverlapTask::Free:
      break;
    case OverlapTask::Compute: {
      double busyUntil = now;
      for (double free : linkFree)
        busyUntil = std::max(busyUntil, free);
      double beside = std::min(busyUntil - now, task.seconds);
      now += task.seconds + beside * machine.slowdown;
      break;
    }
    case OverlapTask::Transfer: {
      double end = now;
      for (unsigned link : task.links)
        end = std::max(end, linkFree[link]);
      end += task.seconds;
      for (unsigned link : task.links)
        linkFree[link] = end;
      if (order.started[number]) {
        now += machine.startSeconds;
        doneAt[number] = end;
      } else {
        cost.exposed += end - now;
        now = end;
      }
      break;
    }
    }
    if (task.kind != OverlapTask::Free)
      for (unsigned need : task.needs)
        if (--usesLeft[need] == 0)
          release(need);
  }
  for (double done : doneAt)
    now = std::max(now, done);
  cost.seconds = now;
  return cost;
}
