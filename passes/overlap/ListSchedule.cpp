//===- ListSchedule.cpp - A list schedule of compute and links ------------===//
//
// Time goes forward; transfers start as soon as their operand is there and the
// window allows, and of the computations that need not wait, the next one in
// the order given goes on, so that what kernels fuse stays together.
//
//===----------------------------------------------------------------------===//

#include "passes/overlap/OverlapProblem.h"
#include <queue>
#include <set>

using namespace mlir;
using namespace mlir::dist;

namespace {

class ListScheduler {
public:
  ListScheduler(const OverlapProblem &problem, unsigned window)
      : problem(problem), window(window), missing(problem.tasks.size()),
        availableAt(problem.tasks.size(), 0), placed(problem.tasks.size()),
        used(problem.tasks.size()), linkFree(problem.numLinks, 0) {}

  OverlapOrder run();

private:
  void becomeReady(unsigned number);
  void schedule(unsigned number, double available);
  void place(unsigned number);
  void markUsed(unsigned number);
  void startTransfer(unsigned number);
  void compute(unsigned number);
  void findStarted();

  const OverlapProblem &problem;
  unsigned window;
  double now = 0;
  unsigned last = 0, inFlight = 0;
  /// Needs that are not scheduled yet.
  std::vector<unsigned> missing;
  std::vector<double> availableAt;
  std::vector<bool> placed, used;
  std::vector<double> linkFree;
  /// Computations that need not wait, and those that do, by when they need not.
  std::set<unsigned> ready, transfers;
  using Later = std::pair<double, unsigned>;
  std::priority_queue<Later, std::vector<Later>, std::greater<Later>> later;
  OverlapOrder result;
};

} // namespace

/// Tasks without cost are done at once, and placed where they are needed.
void ListScheduler::becomeReady(unsigned number) {
  SmallVector<unsigned> pending = {number};
  while (!pending.empty()) {
    unsigned next = pending.pop_back_val();
    const OverlapTask &task = problem.tasks[next];
    double available = 0;
    for (unsigned need : task.needs)
      available = std::max(available, availableAt[need]);
    availableAt[next] = available;
    if (task.kind == OverlapTask::Transfer)
      transfers.insert(next);
    else if (task.kind == OverlapTask::Compute)
      later.push({available, next});
    else
      for (unsigned user : task.users)
        if (--missing[user] == 0)
          pending.push_back(user);
  }
}

/// Puts the task, and what is free and it needs, at the end of the order.
void ListScheduler::place(unsigned number) {
  SmallVector<std::pair<unsigned, unsigned>> stack = {{number, 0}};
  while (!stack.empty()) {
    auto &[top, next] = stack.back();
    ArrayRef<unsigned> needs = problem.tasks[top].needs;
    while (next < needs.size() && placed[needs[next]])
      ++next;
    if (next < needs.size()) {
      unsigned need = needs[next++];
      stack.push_back({need, 0});
      continue;
    }
    if (!placed[top]) {
      placed[top] = true;
      result.order.push_back(top);
    }
    stack.pop_back();
  }
}

/// Transfers that the task uses, itself or through what is free, leave the
/// window.
void ListScheduler::markUsed(unsigned number) {
  SmallVector<unsigned> pending;
  llvm::append_range(pending, problem.tasks[number].needs);
  while (!pending.empty()) {
    unsigned need = pending.pop_back_val();
    if (used[need])
      continue;
    used[need] = true;
    const OverlapTask &task = problem.tasks[need];
    if (task.kind == OverlapTask::Transfer)
      --inFlight;
    else if (task.kind == OverlapTask::Free)
      llvm::append_range(pending, task.needs);
  }
}

void ListScheduler::schedule(unsigned number, double available) {
  place(number);
  markUsed(number);
  availableAt[number] = available;
  for (unsigned user : problem.tasks[number].users)
    if (--missing[user] == 0)
      becomeReady(user);
}

void ListScheduler::startTransfer(unsigned number) {
  const OverlapTask &task = problem.tasks[number];
  transfers.erase(number);
  now = std::max(now, availableAt[number]);
  double end = now;
  for (unsigned link : task.links)
    end = std::max(end, linkFree[link]);
  end += task.seconds;
  for (unsigned link : task.links)
    linkFree[link] = end;
  ++inFlight;
  now += problem.startSeconds;
  schedule(number, end);
}

void ListScheduler::compute(unsigned number) {
  now += problem.tasks[number].seconds;
  last = number;
  schedule(number, now);
}

/// On a stream is what has something computed beside it. On each communicator
/// all that is called while something is in flight is on the stream as well; or
/// nothing is in flight, where that is to be done where it stands.
void ListScheduler::findStarted() {
  unsigned count = problem.tasks.size();
  result.started.assign(count, false);
  std::vector<unsigned> computedBefore(count + 1), firstUse(count, count);
  unsigned computed = 0;
  for (auto [at, number] : llvm::enumerate(result.order)) {
    for (unsigned need : problem.tasks[number].getReads())
      firstUse[need] = std::min<unsigned>(firstUse[need], at);
    computedBefore[at] = computed;
    computed += problem.tasks[number].kind == OverlapTask::Compute;
  }
  computedBefore[count] = computed;
  std::vector<unsigned> flightEnds(problem.numComms, 0);
  for (auto [at, number] : llvm::enumerate(result.order)) {
    const OverlapTask &task = problem.tasks[number];
    if (task.kind != OverlapTask::Transfer || task.wish == OverlapTask::Never ||
        problem.tasks[number].users.empty())
      continue;
    unsigned first = firstUse[number];
    if (computedBefore[first] > computedBefore[at] ||
        at < flightEnds[task.comm]) {
      result.started[number] = true;
      flightEnds[task.comm] = std::max(flightEnds[task.comm], first);
    }
  }
  // From the last: the next call that is done where it stands.
  std::vector<unsigned> nextCall(problem.numComms, count);
  for (unsigned at = count; at-- > 0;) {
    unsigned number = result.order[at];
    const OverlapTask &task = problem.tasks[number];
    for (unsigned comm : task.innerComms)
      nextCall[comm] = at;
    if (task.kind != OverlapTask::Transfer)
      continue;
    if (nextCall[task.comm] < firstUse[number])
      result.started[number] = false;
    if (!result.started[number])
      nextCall[task.comm] = at;
  }
}

OverlapOrder ListScheduler::run() {
  for (auto [number, task] : llvm::enumerate(problem.tasks))
    missing[number] = task.needs.size();
  for (auto [number, task] : llvm::enumerate(problem.tasks))
    if (task.needs.empty())
      becomeReady(number);
  while (true) {
    while (!later.empty() && later.top().first <= now) {
      ready.insert(later.top().second);
      later.pop();
    }
    bool canCompute = !ready.empty() || !later.empty();
    if (!transfers.empty() && (inFlight < window || !canCompute)) {
      startTransfer(*transfers.begin());
      continue;
    }
    if (!canCompute)
      break;
    if (ready.empty()) {
      now = later.top().first;
      continue;
    }
    auto next = ready.lower_bound(last);
    if (next == ready.end())
      next = ready.begin();
    unsigned number = *next;
    ready.erase(next);
    compute(number);
  }
  // What is free and used by the terminator alone.
  for (size_t number = 0; number < problem.tasks.size(); ++number)
    place(number);
  findStarted();
  return std::move(result);
}

OverlapOrder mlir::dist::listSchedule(const OverlapProblem &problem,
                                      unsigned window) {
  return ListScheduler(problem, window).run();
}
