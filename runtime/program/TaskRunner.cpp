//===- TaskRunner.cpp - The tasks of one rank of a pipeline ---------------===//

#include "runtime/program/TaskRunner.h"
#include "runtime/pipeline/Table.h"

#include <algorithm>
#include <chrono>

using namespace dist;
using Operand = TaskDesc::Operand;
using Turn = TaskPlan::Turn;

static bool isInLoop(const TaskDesc &task) {
  return task.kind != TaskDesc::Begin && task.kind != TaskDesc::End;
}

static int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch() /
         std::chrono::nanoseconds(1);
}

/// "F3", or "begin" and "end".
static std::string nameTask(const TaskDesc &task, int64_t microbatch) {
  constexpr const char *kNames[] = {"begin", "F", "B", "W", "end"};
  std::string name = kNames[static_cast<int>(task.kind)];
  return isInLoop(task) ? name + std::to_string(microbatch) : name;
}

/// "B of stage 1, microbatch 4: ".
static std::string describe(const TaskDesc &task, int64_t microbatch) {
  constexpr const char *kNames[] = {"begin", "F", "B", "W", "end"};
  std::string text = kNames[static_cast<int>(task.kind)] +
                     (" of stage " + std::to_string(task.stage));
  if (isInLoop(task))
    text += ", microbatch " + std::to_string(microbatch);
  return text + ": ";
}

/// As traces have it.
static const char *kindOf(const TaskDesc &task) {
  constexpr const char *kNames[] = {"other", "forward", "backward", "weight",
                                    "other"};
  return kNames[static_cast<int>(task.kind)];
}

/// All that a coordinate does in a step.
static std::vector<Turn> listTurns(const PipelineDesc &desc,
                                   const pipeline::Table &table,
                                   int64_t place) {
  std::vector<Turn> turns, ends;
  std::map<std::pair<TaskDesc::Kind, int64_t>, size_t> inLoop;
  for (size_t i = 0; i < desc.tasks.size(); ++i) {
    const TaskDesc &task = desc.tasks[i];
    if (desc.placeOf[task.stage] != place)
      continue;
    if (isInLoop(task))
      inLoop[{task.kind, task.stage}] = i;
    else
      (task.kind == TaskDesc::Begin ? turns : ends).push_back({i, -1});
  }
  using pipeline::Kind;
  for (const pipeline::Task &task : table.rows[place]) {
    // A stage may lack one: the first has no gradients to send.
    auto add = [&](TaskDesc::Kind kind) {
      if (auto found = inLoop.find({kind, task.stage}); found != inLoop.end())
        turns.push_back({found->second, task.microbatch});
    };
    if (task.kind == Kind::Forward)
      add(TaskDesc::Forward);
    if (task.kind == Kind::Backward || task.kind == Kind::Both)
      add(TaskDesc::Backward);
    if (task.kind == Kind::Weight || task.kind == Kind::Both)
      add(TaskDesc::Weight);
  }
  std::sort(ends.begin(), ends.end(), [&](const Turn &a, const Turn &b) {
    return std::pair(desc.tasks[a.task].part, a.task) <
           std::pair(desc.tasks[b.task].part, b.task);
  });
  turns.insert(turns.end(), ends.begin(), ends.end());
  return turns;
}

TaskPlan::TaskPlan(const PipelineDesc &pipeline, int64_t place)
    : pipeline(pipeline), place(place), uses(pipeline.slots.size()) {
  for (size_t i = 0; i < pipeline.tasks.size(); ++i)
    for (const Operand &result : pipeline.tasks[i].results)
      if (result.kind == Operand::Slot) {
        uses[result.index].maker = pipeline.placeOf[pipeline.tasks[i].stage];
        uses[result.index].task = i;
      }
  for (const TaskDesc &task : pipeline.tasks)
    for (const Operand &argument : task.arguments) {
      if (argument.kind != Operand::Slot)
        continue;
      Use &use = uses[argument.index];
      int64_t target = pipeline.placeOf[task.stage];
      use.reads += target == place;
      if (target != use.maker &&
          std::find(use.targets.begin(), use.targets.end(), target) ==
              use.targets.end())
        use.targets.push_back(target);
      if (target == place && use.maker != place)
        incoming[use.maker];
    }
  pipeline::Table table = pipeline::readTable(pipeline.table, "the table");
  turns = listTurns(pipeline, table, place);
  for (const Turn &turn : turns)
    arenaBytes = std::max(arenaBytes, pipeline.tasks[turn.task].arenaBytes);
  for (auto &[from, order] : incoming)
    for (const Turn &turn : listTurns(pipeline, table, from))
      for (const Operand &result : pipeline.tasks[turn.task].results)
        if (result.kind == Operand::Slot) {
          const std::vector<int64_t> &targets = uses[result.index].targets;
          if (std::find(targets.begin(), targets.end(), place) != targets.end())
            order.push_back(keyOf(result.index, turn.microbatch));
        }
}

int64_t TaskPlan::countBytes() const {
  // Memory is used again by values of as many bytes.
  std::map<int64_t, std::pair<int64_t, int64_t>> bySize; // now, at most
  std::map<Key, int64_t> left;                           // readers
  std::map<int64_t, size_t> received;
  auto bytesOf = [&](const Key &key) {
    return pipeline.slots[key.first].bytes();
  };
  auto add = [&](const Key &key) {
    if (!left.try_emplace(key, uses[key.first].reads).second)
      return;
    auto &[now, most] = bySize[bytesOf(key)];
    most = std::max(most, now += bytesOf(key));
  };
  auto end = [&](const Key &key) {
    auto found = left.find(key);
    if (key.second < 0 || --found->second > 0)
      return;
    bySize[bytesOf(key)].first -= bytesOf(key);
    left.erase(found);
  };
  for (const Turn &turn : turns) {
    const TaskDesc &task = pipeline.tasks[turn.task];
    for (const Operand &argument : task.arguments) {
      if (argument.kind != Operand::Slot)
        continue;
      Key key = keyOf(argument.index, turn.microbatch);
      auto from = incoming.find(uses[argument.index].maker);
      while (!left.count(key) && from != incoming.end() &&
             received[from->first] < from->second.size())
        add(from->second[received[from->first]++]);
    }
    for (const Operand &result : task.results)
      if (result.kind == Operand::Slot)
        add(keyOf(result.index, turn.microbatch));
    // One that is only sent is there no longer.
    for (const Operand &result : task.results)
      if (result.kind == Operand::Slot && uses[result.index].reads == 0)
        end(keyOf(result.index, turn.microbatch));
    for (const Operand &argument : task.arguments)
      if (argument.kind == Operand::Slot)
        end(keyOf(argument.index, turn.microbatch));
  }
  int64_t bytes = arenaBytes;
  for (const auto &[size, peak] : bySize)
    bytes += peak.second;
  return bytes;
}

TaskRunner::TaskRunner(const Program &program, dist_rank &rank,
                       const std::vector<void *> &arguments,
                       const std::vector<void *> &results)
    : program(program), pipeline(*program.manifest.pipeline), rank(rank),
      plan(pipeline, rank.topology.mesh.coordinate(rank.index, pipeline.axis)),
      arguments(arguments), results(results) {
  arena = rank.backend.allocate(plan.arenaBytes);
  number = rank.backend.allocate(sizeof(int64_t));
}

/// Records what the rank has done since `start`.
void TaskRunner::note(TraceEvent event, int64_t start) {
  event.rank = rank.index;
  event.startNanos = start;
  event.endNanos = now();
  std::vector<TraceEvent> events;
  events.push_back(std::move(event));
  rank.backend.addTrace(std::move(events));
}

/// What goes between this rank and the one of another coordinate.
TaskMessage TaskRunner::messageOf(const Key &key, int64_t other) const {
  const Mesh &mesh = rank.topology.mesh;
  int64_t weight = 1;
  for (size_t i = pipeline.axis + 1; i < mesh.axes.size(); ++i)
    weight *= mesh.axes[i].size;
  return {rank.index + (other - plan.place) * weight, pipeline.axis,
          key.first * (pipeline.microbatches + 1) + key.second + 1,
          pipeline.slots[key.first].bytes()};
}

/// Memory for a value of a slot.
std::shared_ptr<void> TaskRunner::take(int64_t slot) {
  int64_t bytes = pipeline.slots[slot].bytes();
  std::vector<std::shared_ptr<void>> &list = spare[bytes];
  if (list.empty())
    return rank.backend.allocate(bytes);
  std::shared_ptr<void> data = std::move(list.back());
  list.pop_back();
  return data;
}

/// Where a value is; waits for it if another rank makes it. Null after a
/// failure.
void *TaskRunner::find(const Key &key) {
  if (auto found = live.find(key); found != live.end())
    return found->second.data.get();
  int64_t maker = plan.uses[key.first].maker;
  auto from = plan.incoming.find(maker);
  // In the order in which they are sent: some are for a later task.
  while (from != plan.incoming.end() && received[maker] < from->second.size()) {
    const Key &next = from->second[received[maker]++];
    TaskMessage message = messageOf(next, maker);
    int64_t start = rank.tracing ? now() : 0;
    std::shared_ptr<void> data = rank.backend.receive(message);
    if (!data)
      return nullptr;
    if (rank.tracing) {
      const TaskDesc &task = pipeline.tasks[plan.uses[next.first].task];
      note({.name = "bubble: " + nameTask(task, next.second) + " of stage " +
                    std::to_string(task.stage),
            .task = "waiting",
            .peer = message.peer,
            .tag = message.tag},
           start);
    }
    live[next] = {data, plan.uses[next.first].reads};
    if (next == key)
      return data.get();
  }
  rank.backend.fail("slot " + std::to_string(key.first) +
                    " of the pipeline is read before it is made");
  return nullptr;
}

/// A task has read a value; after the last one, its memory is another's.
void TaskRunner::endRead(const Key &key) {
  if (key.second < 0)
    return;
  auto found = live.find(key);
  if (--found->second.readers > 0)
    return;
  if (plan.uses[key.first].maker == plan.place)
    spare[pipeline.slots[key.first].bytes()].push_back(
        std::move(found->second.data));
  live.erase(found);
}

bool TaskRunner::sendResults(const Turn &turn) {
  for (const Operand &result : pipeline.tasks[turn.task].results) {
    if (result.kind != Operand::Slot)
      continue;
    Key key = plan.keyOf(result.index, turn.microbatch);
    const TaskPlan::Use &use = plan.uses[result.index];
    for (int64_t target : use.targets) {
      TaskMessage message = messageOf(key, target);
      int64_t start = rank.tracing ? now() : 0;
      if (!rank.backend.send(message, live.find(key)->second.data.get()))
        return false;
      if (rank.tracing)
        note({.name = "send to stage",
              .bytes = message.bytes,
              .task = "send",
              .peer = message.peer,
              .tag = message.tag},
             start);
    }
    if (use.reads == 0 && key.second >= 0) {
      live[key].readers = 1;
      endRead(key);
    }
  }
  return true;
}

bool TaskRunner::doTurn(const Turn &turn, int64_t *status) {
  const TaskDesc &task = pipeline.tasks[turn.task];
  rank.doing = describe(task, turn.microbatch);
  in.clear();
  out.clear();
  for (const Operand &argument : task.arguments) {
    void *data = nullptr;
    if (argument.kind == Operand::Slot)
      data = find(plan.keyOf(argument.index, turn.microbatch));
    else
      data = argument.kind == Operand::Microbatch ? number.get()
                                                  : arguments[argument.index];
    if (!data && argument.kind == Operand::Slot)
      return false;
    in.push_back(data);
  }
  for (const Operand &result : task.results) {
    if (result.kind != Operand::Slot) {
      out.push_back(results[result.index]);
      continue;
    }
    Key key = plan.keyOf(result.index, turn.microbatch);
    auto [made, isNew] = live.try_emplace(key);
    if (isNew)
      made->second = {take(result.index), plan.uses[result.index].reads};
    out.push_back(made->second.data.get());
  }
  int64_t microbatch = turn.microbatch;
  if (microbatch >= 0 &&
      !rank.backend.upload(number.get(), &microbatch, sizeof microbatch))
    return false;
  int64_t start = rank.tracing ? now() : 0;
  if (int32_t failed = rank.callMain(program.tasks[turn.task], in.data(),
                                     out.data(), arena.get(), status)) {
    if (!rank.backend.failed())
      rank.backend.fail("returned status " + std::to_string(failed));
    return false;
  }
  if (rank.tracing)
    note({.name = nameTask(task, turn.microbatch) + " stage " +
                  std::to_string(task.stage),
          .task = kindOf(task)},
         start);
  if (!sendResults(turn))
    return false;
  for (const Operand &argument : task.arguments)
    if (argument.kind == Operand::Slot)
      endRead(plan.keyOf(argument.index, turn.microbatch));
  return true;
}

int32_t TaskRunner::run(int64_t *status) {
  // Of the step before: what came from others.
  received.clear();
  for (const auto &[from, order] : plan.incoming)
    for (const Key &key : order)
      if (key.second < 0)
        live.erase(key);
  // Others are told before memory is given up that they may read.
  try {
    for (const Turn &turn : plan.turns)
      if (!doTurn(turn, status))
        return 1;
  } catch (const std::exception &error) {
    rank.backend.fail(error.what());
    return 1;
  }
  rank.doing.clear();
  return 0;
}
