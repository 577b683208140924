//===- ListSchedule.cpp - A list schedule of compute and links ------------===//
//
// Simulates time. Transfers start as soon as their operand is available and the
// window allows it. Of the available computations one runs next; the policy
// chooses it.
//
//===----------------------------------------------------------------------===//

#include "passes/overlap/OverlapProblem.h"
#include <limits>
#include <optional>
#include <queue>
#include <set>

using namespace mlir;
using namespace mlir::dist;

namespace {

/// Computations that need not wait, in groups; those of the group with the
/// least key come first.
class ReadyTasks {
public:
  ReadyTasks(const OverlapProblem &problem, ListPolicy::Priority priority);

  bool empty() const { return order.empty(); }
  void insert(unsigned number);
  /// From the first group: the task after `last` in the original order, or the
  /// first.
  unsigned takeAfter(unsigned last);

private:
  void groupByTransfers(const OverlapProblem &problem);
  void groupByPaths(const OverlapProblem &problem);

  const OverlapProblem &problem;
  ListPolicy::Priority priority;
  std::vector<unsigned> groupOf;
  std::vector<double> keys;
  std::vector<std::set<unsigned>> members;
  /// Groups that are not empty, with their keys.
  std::set<std::pair<double, unsigned>> order;
};

class ListScheduler {
public:
  ListScheduler(const OverlapProblem &problem, ListPolicy policy)
      : problem(problem), window(policy.window), missing(problem.tasks.size()),
        availableAt(problem.tasks.size(), 0), placed(problem.tasks.size()),
        used(problem.tasks.size()), linkFree(problem.numLinks, 0),
        ready(problem, policy.priority) {}

  OverlapOrder run();

private:
  void becomeReady(unsigned number);
  void schedule(unsigned number, double available);
  void place(unsigned number);
  void markUsed(unsigned number);
  void findLast();
  bool pays(unsigned number) const;
  bool isNear(unsigned number) const;
  std::optional<unsigned> chooseTransfer(bool canCompute) const;
  void startTransfer(unsigned number);
  void compute(unsigned number);
  void findFirstUses(std::vector<unsigned> &firstUse,
                     std::vector<unsigned> &computedBefore) const;
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
  std::set<unsigned> transfers;
  /// Transfers that only the end of the block waits for, gradients say; those
  /// that can start, and the longest computation that they may lag behind.
  std::vector<bool> isLast;
  std::set<unsigned> lastTransfers;
  double longest = 0;
  /// Computations that need not wait, and those that do, by when they need not.
  ReadyTasks ready;
  using Later = std::pair<double, unsigned>;
  std::priority_queue<Later, std::vector<Later>, std::greater<Later>> later;
  OverlapOrder result;
};

} // namespace

ReadyTasks::ReadyTasks(const OverlapProblem &problem,
                       ListPolicy::Priority priority)
    : problem(problem), priority(priority), groupOf(problem.tasks.size(), 0),
      keys(1, 0) {
  if (priority == ListPolicy::Transfers)
    groupByTransfers(problem);
  else if (priority == ListPolicy::Paths)
    groupByPaths(problem);
  members.resize(keys.size());
}

/// A group is the tasks that the same transfer needs, the next one in the
/// original order. Its key is the computation left in them.
void ReadyTasks::groupByTransfers(const OverlapProblem &problem) {
  unsigned count = problem.tasks.size();
  keys.assign(count + 1, 0);
  for (unsigned number = count; number-- > 0;) {
    unsigned &group = groupOf[number];
    group = count;
    for (unsigned user : problem.tasks[number].users)
      group = std::min(group, problem.tasks[user].kind == OverlapTask::Transfer
                                  ? user
                                  : groupOf[user]);
    if (problem.tasks[number].kind == OverlapTask::Compute)
      keys[group] += problem.tasks[number].seconds;
  }
  // Tasks that no transfer needs can wait.
  keys[count] = std::numeric_limits<double>::infinity();
}

/// Each task is a group.
void ReadyTasks::groupByPaths(const OverlapProblem &problem) {
  keys.assign(problem.tasks.size(), 0);
  for (unsigned number = problem.tasks.size(); number-- > 0;) {
    groupOf[number] = number;
    for (unsigned user : problem.tasks[number].users)
      keys[number] = std::min(keys[number], keys[user]);
    keys[number] -= problem.tasks[number].seconds;
  }
}

void ReadyTasks::insert(unsigned number) {
  unsigned group = groupOf[number];
  if (members[group].empty())
    order.insert({keys[group], group});
  members[group].insert(number);
}

unsigned ReadyTasks::takeAfter(unsigned last) {
  unsigned group = order.begin()->second;
  order.erase(order.begin());
  auto next = members[group].lower_bound(last);
  if (next == members[group].end())
    next = members[group].begin();
  unsigned number = *next;
  members[group].erase(next);
  if (priority == ListPolicy::Transfers)
    keys[group] -= problem.tasks[number].seconds;
  if (!members[group].empty())
    order.insert({keys[group], group});
  return number;
}

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
      (isLast[next] ? lastTransfers : transfers).insert(next);
    else if (task.kind == OverlapTask::Compute)
      later.push({available, next});
    else
      for (unsigned user : task.users)
        if (--missing[user] == 0)
          pending.push_back(user);
  }
}

/// Puts the task, and free tasks that it needs, at the end of the order.
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

/// Transfers that the task uses, itself or through free tasks, leave the
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

/// Finds the transfers whose results, and views of them, nothing in the block
/// uses.
void ListScheduler::findLast() {
  isLast.assign(problem.tasks.size(), true);
  for (unsigned number = problem.tasks.size(); number-- > 0;) {
    const OverlapTask &task = problem.tasks[number];
    for (unsigned user : task.users)
      if (problem.tasks[user].kind != OverlapTask::Free || !isLast[user])
        isLast[number] = false;
    if (task.kind == OverlapTask::Compute)
      longest = std::max(longest, task.seconds);
  }
}

/// Whether more can be hidden than it costs to start the transfer beside
/// computation.
bool ListScheduler::pays(unsigned number) const {
  const OverlapTask &task = problem.tasks[number];
  return task.seconds > problem.startSeconds ||
         task.wish == OverlapTask::Always;
}

/// Whether the transfer's links are free before long.
bool ListScheduler::isNear(unsigned number) const {
  return llvm::all_of(problem.tasks[number].links, [&](unsigned link) {
    return linkFree[link] <= now + longest;
  });
}

/// Transfers that computation waits for come first, and the window bounds them.
/// Those that the end of the block waits for run when links would be idle.
std::optional<unsigned> ListScheduler::chooseTransfer(bool canCompute) const {
  if (!transfers.empty() && (inFlight < window || !canCompute))
    return *transfers.begin();
  if (!lastTransfers.empty() && (!canCompute || isNear(*lastTransfers.begin())))
    return *lastTransfers.begin();
  return std::nullopt;
}

void ListScheduler::startTransfer(unsigned number) {
  const OverlapTask &task = problem.tasks[number];
  (isLast[number] ? lastTransfers : transfers).erase(number);
  now = std::max(now, availableAt[number]);
  double end = now;
  for (unsigned link : task.links)
    end = std::max(end, linkFree[link]);
  end += task.seconds;
  for (unsigned link : task.links)
    linkFree[link] = end;
  if (!pays(number))
    now = end;
  else
    now += problem.startSeconds;
  // A synchronous transfer is not in flight, and transfers that only the end
  // waits for do not count.
  if (isLast[number] || !pays(number))
    used[number] = true;
  else
    ++inFlight;
  schedule(number, end);
}

void ListScheduler::compute(unsigned number) {
  now += problem.tasks[number].seconds;
  last = number;
  schedule(number, now);
}

/// For each task, the position in the order of the first use of its results;
/// and for each position, the number of computations before it.
void ListScheduler::findFirstUses(std::vector<unsigned> &firstUse,
                                  std::vector<unsigned> &computedBefore) const {
  unsigned count = problem.tasks.size(), computed = 0;
  firstUse.assign(count, count);
  computedBefore.resize(count + 1);
  for (auto [at, number] : llvm::enumerate(result.order)) {
    for (unsigned need : problem.tasks[number].getReads())
      firstUse[need] = std::min<unsigned>(firstUse[need], at);
    computedBefore[at] = computed;
    computed += problem.tasks[number].kind == OverlapTask::Compute;
  }
  computedBefore[count] = computed;
}

/// A collective is on a stream if something is computed beside it. While
/// something is in flight on a communicator, all its calls are on the stream.
/// Before a synchronous call, nothing is in flight.
void ListScheduler::findStarted() {
  unsigned count = problem.tasks.size();
  result.started.assign(count, false);
  std::vector<unsigned> computedBefore, firstUse;
  findFirstUses(firstUse, computedBefore);
  std::vector<unsigned> flightEnds(problem.numComms, 0);
  for (auto [at, number] : llvm::enumerate(result.order)) {
    const OverlapTask &task = problem.tasks[number];
    if (task.kind != OverlapTask::Transfer || task.wish == OverlapTask::Never ||
        task.ops.front()->use_empty())
      continue;
    unsigned first = firstUse[number];
    if ((computedBefore[first] > computedBefore[at] && pays(number)) ||
        at < flightEnds[task.comm]) {
      result.started[number] = true;
      flightEnds[task.comm] = std::max(flightEnds[task.comm], first);
    }
  }
  // From the last: the next synchronous call.
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
  findLast();
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
    if (auto transfer = chooseTransfer(canCompute)) {
      startTransfer(*transfer);
      continue;
    }
    if (!canCompute)
      break;
    if (ready.empty()) {
      now = later.top().first;
      continue;
    }
    compute(ready.takeAfter(last));
  }
  // Free tasks that only the terminator uses.
  for (size_t number = 0; number < problem.tasks.size(); ++number)
    place(number);
  findStarted();
  return std::move(result);
}

OverlapOrder mlir::dist::listSchedule(const OverlapProblem &problem,
                                      ListPolicy policy) {
  return ListScheduler(problem, policy).run();
}

SmallVector<ListPolicy> mlir::dist::getListPolicies() {
  SmallVector<ListPolicy> policies;
  for (auto priority :
       {ListPolicy::Given, ListPolicy::Transfers, ListPolicy::Paths})
    for (unsigned window : {1, 2, 4, 8})
      policies.push_back({window, priority});
  return policies;
}
