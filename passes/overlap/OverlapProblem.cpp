//===- OverlapProblem.cpp - What may run beside what ----------------------===//

#include "passes/overlap/OverlapProblem.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Streams.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/overlap/KernelUnits.h"
#include "passes/schedule/names/ModuleNotes.h"
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

/// The note for the innermost module that has one; null if no module has one.
static Attribute findWish(Operation *op, MeshOp mesh) {
  const NamedAttribute *note =
      findModuleNote(op, mesh->getAttrOfType<DictionaryAttr>(kOverlapAttr));
  return note ? note->getValue() : Attribute();
}

OverlapTask::Wish mlir::dist::getWish(Operation *op, MeshOp mesh) {
  Attribute wish = findWish(op, mesh);
  if (!wish)
    return OverlapTask::None;
  // A collective in chunks is meant to run beside something.
  auto always = dyn_cast<BoolAttr>(wish);
  return always && !always.getValue() ? OverlapTask::Never
                                      : OverlapTask::Always;
}

DictionaryAttr mlir::dist::getChunkWish(Operation *op, MeshOp mesh) {
  return dyn_cast_or_null<DictionaryAttr>(findWish(op, mesh));
}

namespace {
class ProblemBuilder {
public:
  ProblemBuilder(Block &block, MeshOp mesh, StepTimes &times,
                 CommNumbers &comms)
      : block(block), mesh(mesh), times(times), comms(comms) {}

  OverlapProblem build();

private:
  /// For an op of the block, including the ops in it.
  double getSeconds(Operation *op) {
    auto [entry, isNew] = seconds.try_emplace(op, 0);
    if (isNew)
      entry->second = times.getCost(op).time.getTotal();
    return entry->second;
  }
  bool isFree(Operation *op) { return getSeconds(op) == 0; }
  unsigned getComm(ArrayAttr axes) {
    return comms.try_emplace(axes, comms.size()).first->second;
  }
  void addTask(ArrayRef<Operation *> ops);
  void countBytes(OverlapTask &task);
  void keepOrder(unsigned number, llvm::SmallSetVector<unsigned, 4> &needs);

  Block &block;
  MeshOp mesh;
  StepTimes &times;
  CommNumbers &comms;
  OverlapProblem problem;
  DenseMap<Operation *, double> seconds;
  DenseMap<Operation *, unsigned> numbers;
  llvm::StringMap<unsigned> links;
  /// Ops with effects, and collectives within others, keep their order.
  std::optional<unsigned> lastOrdered;
  /// Synchronous transfers, and the ops computed since.
  std::optional<unsigned> lastFixed;
  SmallVector<unsigned> sinceFixed;
};
} // namespace

/// For a task: the bytes alive after it, and during it.
void ProblemBuilder::countBytes(OverlapTask &task) {
  // A view keeps its source alive.
  llvm::SmallPtrSet<Operation *, 8> inside(task.ops.begin(), task.ops.end());
  DenseMap<Operation *, Operation *> lastUse;
  llvm::SmallPtrSet<Operation *, 8> escaping;
  for (Operation *op : llvm::reverse(task.ops)) {
    Operation *last = op;
    for (Operation *user : op->getUsers()) {
      Operation *here = block.findAncestorOpInBlock(*user);
      bool isView = inside.contains(here) && isFree(here);
      if (!inside.contains(here) || (isView && escaping.contains(here))) {
        escaping.insert(op);
        continue;
      }
      Operation *until = isView ? lastUse.lookup(here) : here;
      if (last->isBeforeInBlock(until))
        last = until;
    }
    lastUse[op] = last;
  }
  DenseMap<Operation *, double> released;
  double alive = 0;
  for (Operation *op : task.ops) {
    if (isFree(op))
      continue;
    double bytes = getResultBytes(op);
    alive += bytes;
    task.innerBytes = std::max(task.innerBytes, alive);
    if (escaping.contains(op))
      task.bytes += bytes;
    else
      released[lastUse[op]] += bytes;
    if (auto done = released.find(op); done != released.end())
      alive -= done->second;
  }
}

void ProblemBuilder::keepOrder(unsigned number,
                               llvm::SmallSetVector<unsigned, 4> &needs) {
  OverlapTask &task = problem.tasks[number];
  bool isOrdered = false;
  for (Operation *op : task.ops) {
    isOrdered |= !isMemoryEffectFree(op);
    op->walk([&](Operation *inner) {
      if (ArrayAttr axes = inner == op ? ArrayAttr() : getCommAxes(inner))
        task.innerComms.push_back(getComm(axes));
    });
  }
  if (isOrdered || !task.innerComms.empty()) {
    if (lastOrdered)
      needs.insert(*lastOrdered);
    lastOrdered = number;
  }
  if (task.wish == OverlapTask::Never) {
    needs.insert(sinceFixed.begin(), sinceFixed.end());
    sinceFixed.clear();
  }
  if (task.kind == OverlapTask::Free)
    return;
  if (lastFixed)
    needs.insert(*lastFixed);
  if (task.wish == OverlapTask::Never)
    lastFixed = number;
  else
    sinceFixed.push_back(number);
}

void ProblemBuilder::addTask(ArrayRef<Operation *> ops) {
  unsigned number = problem.tasks.size();
  OverlapTask &task = problem.tasks.emplace_back();
  task.ops.assign(ops.begin(), ops.end());
  bool hasEffects = false;
  for (Operation *op : ops) {
    numbers[op] = number;
    task.seconds += getSeconds(op);
    hasEffects |= !isMemoryEffectFree(op);
  }
  if (ArrayAttr axes = getCommAxes(ops.front())) {
    task.kind = OverlapTask::Transfer;
    task.comm = getComm(axes);
    for (AxisRefAttr axis : getAxisRefs(axes))
      task.links.push_back(
          links.try_emplace(axis.getName(), links.size()).first->second);
    task.bytes = task.innerBytes = getResultBytes(ops.front());
    task.wish = getWish(ops.front(), mesh);
  } else if (task.seconds == 0 && !hasEffects) {
    task.kind = OverlapTask::Free;
  } else {
    countBytes(task);
  }
  llvm::SmallSetVector<unsigned, 4> needs;
  for (Operation *op : ops)
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && source->getBlock() == &block)
          if (unsigned need = numbers.lookup(source); need != number)
            needs.insert(need);
    });
  task.numReads = needs.size();
  keepOrder(number, needs);
  task.needs.append(needs.begin(), needs.end());
  for (unsigned need : needs)
    problem.tasks[need].users.push_back(number);
}

OverlapProblem ProblemBuilder::build() {
  problem.startSeconds = times.getModel().getStartSeconds();
  problem.slowdown = times.getModel().getSlowdown();
  for (const auto &unit :
       findKernelUnits(block, [&](Operation *op) { return isFree(op); }))
    addTask(unit);
  problem.numComms = comms.size();
  problem.numLinks = links.size();
  return std::move(problem);
}

OverlapProblem mlir::dist::buildProblem(Block &block, MeshOp mesh,
                                        StepTimes &times, CommNumbers &comms) {
  return ProblemBuilder(block, mesh, times, comms).build();
}

OverlapOrder mlir::dist::getGivenOrder(const OverlapProblem &problem) {
  OverlapOrder order;
  llvm::append_range(order.order, llvm::seq<unsigned>(0, problem.tasks.size()));
  order.started.assign(problem.tasks.size(), false);
  return order;
}

OverlapCost mlir::dist::simulate(const OverlapProblem &problem,
                                 const OverlapOrder &order) {
  OverlapCost cost;
  std::vector<double> linkFree(problem.numLinks, 0);
  std::vector<double> doneAt(problem.tasks.size(), 0);
  // A buffer is alive until the last use of its views. An op that only comes
  // after its maker uses nothing.
  std::vector<unsigned> usesLeft(problem.tasks.size());
  for (const OverlapTask &task : problem.tasks)
    for (unsigned need : task.getReads())
      ++usesLeft[need];
  double now = 0, alive = 0;
  auto release = [&](unsigned number) {
    SmallVector<unsigned> pending = {number};
    while (!pending.empty()) {
      unsigned done = pending.pop_back_val();
      const OverlapTask &task = problem.tasks[done];
      alive -= task.bytes;
      if (task.kind == OverlapTask::Free)
        for (unsigned need : task.getReads())
          if (--usesLeft[need] == 0)
            pending.push_back(need);
    }
  };
  for (unsigned number : order.order) {
    const OverlapTask &task = problem.tasks[number];
    // The first user of a started transfer waits for it.
    for (unsigned need : task.getReads())
      if (doneAt[need] > now) {
        cost.exposed += doneAt[need] - now;
        now = doneAt[need];
      }
    cost.bytes = std::max(cost.bytes, alive + task.innerBytes);
    alive += task.bytes;
    switch (task.kind) {
    case OverlapTask::Free:
      break;
    case OverlapTask::Compute: {
      double busyUntil = now;
      for (double free : linkFree)
        busyUntil = std::max(busyUntil, free);
      double beside = std::min(busyUntil - now, task.seconds);
      now += task.seconds + beside * problem.slowdown;
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
        now += problem.startSeconds;
        cost.starting += problem.startSeconds;
        doneAt[number] = end;
      } else {
        cost.exposed += end - now;
        now = end;
      }
      break;
    }
    }
    if (task.kind != OverlapTask::Free)
      for (unsigned need : task.getReads())
        if (--usesLeft[need] == 0)
          release(need);
  }
  for (double done : doneAt)
    if (done > now) {
      cost.exposed += done - now;
      now = done;
    }
  cost.seconds = now;
  return cost;
}
