//===- Walk.cpp - All ranks of a pipeline's table, to the end -------------===//

#include "runtime/pipeline/Table.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

using namespace dist::pipeline;

namespace {

constexpr double kNever = -1;

/// Forward, Backward, Weight, or the two of Both.
struct Parts {
  explicit Parts(Kind kind)
      : first(kind == Kind::Both ? Kind::Backward : kind),
        last(kind == Kind::Both ? Kind::Weight : kind) {}
  struct Iterator {
    int at;
    Kind operator*() const { return static_cast<Kind>(at); }
    Iterator &operator++() { return ++at, *this; }
    bool operator!=(const Iterator &other) const { return at != other.at; }
  };
  Iterator begin() const { return {static_cast<int>(first)}; }
  Iterator end() const { return {static_cast<int>(last) + 1}; }

  Kind first, last;
};

/// Does the tasks of a table as soon as each can be done.
class Walk {
public:
  Walk(const Table &table, const std::vector<Transfer> &transfers,
       const Costs &costs)
      : table(table), costs(costs), incoming(3 * table.stages),
        outgoing(3 * table.stages) {
    for (const Transfer &one : transfers) {
      incoming[placeOf(one.to, one.target)].push_back(one);
      outgoing[placeOf(one.from, one.source)].push_back(one);
    }
    size_t parts = size_t(3) * table.stages * table.microbatches;
    ends.assign(parts, kNever);
    waiting.resize(parts);
  }

  void run() {
    int32_t ranks = table.ranks();
    at.assign(ranks, 0);
    free.assign(ranks, 0);
    result.rows.resize(ranks);
    result.mostAlive.assign(ranks, 0);
    alive.assign(ranks, 0);
    std::deque<int32_t> ready;
    for (int32_t rank = 0; rank < ranks; ++rank)
      ready.push_back(rank);
    while (!ready.empty()) {
      int32_t rank = ready.front();
      ready.pop_front();
      const std::vector<Task> &row = table.rows[rank];
      for (; at[rank] < row.size(); ++at[rank]) {
        const Task &task = row[at[rank]];
        double start = free[rank];
        if (std::optional<size_t> part = findMissing(task, rank, start)) {
          waiting[*part].push_back(rank);
          break;
        }
        finish(task, rank, start, ready);
      }
    }
  }

  /// The part of a task that `rank` waits for, if it is not at its end.
  struct Stuck {
    int32_t rank;
    size_t index;
    Task task, missing;
  };
  std::vector<Stuck> findStuck() {
    std::vector<Stuck> all;
    for (int32_t rank = 0; rank < table.ranks(); ++rank) {
      if (at[rank] == table.rows[rank].size())
        continue;
      const Task &task = table.rows[rank][at[rank]];
      double start = 0;
      size_t part = *findMissing(task, rank, start);
      int32_t perKind = table.stages * table.microbatches;
      all.push_back({rank,
                     at[rank],
                     task,
                     {static_cast<Kind>(part / perKind),
                      int32_t(part % perKind / table.microbatches),
                      int32_t(part % table.microbatches)}});
    }
    return all;
  }

  Simulated take() { return std::move(result); }

private:
  size_t placeOf(Kind kind, int32_t stage) const {
    return size_t(static_cast<int>(kind)) * table.stages + stage;
  }
  size_t partOf(Kind kind, int32_t stage, int32_t microbatch) const {
    return placeOf(kind, stage) * table.microbatches + microbatch;
  }

  /// What the task reads and is not made; moves `start` to when all is there.
  std::optional<size_t> findMissing(const Task &task, int32_t rank,
                                    double &start) const {
    auto need = [&](Kind kind, int32_t stage, Kind to) {
      size_t part = partOf(kind, stage, task.microbatch);
      if (ends[part] == kNever)
        return std::optional<size_t>(part);
      double there = ends[part];
      if (table.rankOf[stage] != rank) {
        auto sent = arrivals.find({part, rank, to == Kind::Forward});
        if (sent != arrivals.end())
          there = sent->second;
      }
      start = std::max(start, there);
      return std::optional<size_t>();
    };
    for (Kind kind : Parts(task.kind)) {
      // Of the stage itself; Weight's Backward may be of the same task.
      if (kind == Kind::Backward)
        if (auto part = need(Kind::Forward, task.stage, kind))
          return part;
      if (kind == Kind::Weight && task.kind == Kind::Weight)
        if (auto part = need(Kind::Backward, task.stage, kind))
          return part;
      for (const Transfer &one : incoming[placeOf(kind, task.stage)])
        if (auto part = need(one.from, one.source, kind))
          return part;
    }
    return std::nullopt;
  }

  void finish(const Task &task, int32_t rank, double start,
              std::deque<int32_t> &ready) {
    double end = start;
    for (Kind kind : Parts(task.kind)) {
      const std::vector<double> &seconds = kind == Kind::Forward ? costs.forward
                                           : kind == Kind::Backward
                                               ? costs.backward
                                               : costs.weight;
      end += seconds.empty() ? 0 : seconds[task.stage];
    }
    for (Kind kind : Parts(task.kind)) {
      size_t part = partOf(kind, task.stage, task.microbatch);
      ends[part] = end;
      send(kind, task, rank, end);
      for (int32_t other : std::exchange(waiting[part], {}))
        ready.push_back(other);
    }
    if (task.kind == Kind::Forward)
      result.mostAlive[rank] = std::max(result.mostAlive[rank], ++alive[rank]);
    if (task.kind == Kind::Weight || task.kind == Kind::Both)
      --alive[rank];
    free[rank] = end;
    result.rows[rank].push_back({task, start, end});
    result.seconds = std::max(result.seconds, end);
  }

  /// What others read leaves when the task is done.
  void send(Kind kind, const Task &task, int32_t rank, double end) {
    if (costs.message == 0 && costs.latency == 0)
      return;
    for (const Transfer &one : outgoing[placeOf(kind, task.stage)]) {
      int32_t to = table.rankOf[one.target];
      bool isForward = one.to == Kind::Forward;
      if (to == rank)
        continue;
      auto [place, isNew] = arrivals.try_emplace(
          {partOf(kind, task.stage, task.microbatch), to, isForward}, 0);
      if (!isNew)
        continue; // it is sent once
      double &link = links[{rank, to, isForward}];
      double start = std::max(link, end);
      link = start + costs.message;
      place->second = link + costs.latency;
      result.messages.push_back({{kind, task.stage, task.microbatch},
                                 rank,
                                 to,
                                 start,
                                 link,
                                 place->second});
    }
  }

  const Table &table;
  const Costs &costs;
  /// By kind and stage.
  std::vector<std::vector<Transfer>> incoming, outgoing;
  /// By kind, stage and microbatch: when it ends; which ranks wait for it.
  std::vector<double> ends;
  std::vector<std::vector<int32_t>> waiting;
  /// Of what is sent to another rank, forward or back.
  std::map<std::tuple<size_t, int32_t, bool>, double> arrivals;
  /// When the link from a rank to another one is free.
  std::map<std::tuple<int32_t, int32_t, bool>, double> links;
  /// By rank.
  std::vector<size_t> at;
  std::vector<double> free;
  std::vector<int32_t> alive;
  Simulated result;
};

} // namespace

Simulated dist::pipeline::simulate(const Table &table,
                                   const std::vector<Transfer> &transfers,
                                   const Costs &costs) {
  Walk walk(table, transfers, costs);
  walk.run();
  return walk.take();
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

/// "t.csv:2:5: ", of a table that was read.
static std::string placeOf(const Table &table, int32_t rank, size_t index) {
  if (table.places.empty())
    return "";
  auto [line, column] = index < table.places[rank].size()
                            ? table.places[rank][index]
                            : std::pair(rank + 1, 1);
  return table.source + ":" + std::to_string(line) + ":" +
         std::to_string(column) + ": ";
}

static std::string onRank(int32_t rank) {
  return " on rank " + std::to_string(rank);
}

/// Where in a row a part of a task is for the last time.
static size_t findLast(const std::vector<Task> &row, const Task &wanted) {
  size_t last = 0;
  for (size_t i = 0; i < row.size(); ++i)
    for (Kind kind : Parts(row[i].kind))
      if (Task{kind, row[i].stage, row[i].microbatch} == wanted)
        last = i;
  return last;
}

/// Each task once, on the rank of its stage.
static std::string findMissingOrDouble(const Table &table, bool hasBackward) {
  std::vector<Task> parts;
  for (int32_t rank = 0; rank < table.ranks(); ++rank)
    for (size_t i = 0; i < table.rows[rank].size(); ++i) {
      const Task &task = table.rows[rank][i];
      auto name = [&] { return placeOf(table, rank, i) + toString(task); };
      if (task.stage < 0 || task.stage >= table.stages || task.microbatch < 0 ||
          task.microbatch >= table.microbatches)
        return name() + onRank(rank) + " is none of " +
               std::to_string(table.stages) + " stages and " +
               std::to_string(table.microbatches) + " microbatches";
      if (table.rankOf[task.stage] != rank)
        return name() + " is" + onRank(rank) + ", but stage " +
               std::to_string(task.stage) + " is" +
               onRank(table.rankOf[task.stage]);
      if (!hasBackward && task.kind != Kind::Forward)
        return name() + onRank(rank) + ": the program has no backward";
      for (Kind kind : Parts(task.kind))
        parts.push_back({kind, task.stage, task.microbatch});
    }
  std::sort(parts.begin(), parts.end());
  auto next = parts.begin();
  for (Kind kind : {Kind::Forward, Kind::Backward, Kind::Weight})
    for (int32_t stage = 0; stage < table.stages; ++stage)
      for (int32_t i = 0; i < table.microbatches; ++i) {
        if (kind != Kind::Forward && !hasBackward)
          return "";
        Task wanted{kind, stage, i};
        int32_t rank = table.rankOf[stage];
        if (next == parts.end() || *next != wanted)
          return placeOf(table, rank, 0) + toString(wanted) + " is missing" +
                 onRank(rank);
        if (++next != parts.end() && *next == wanted)
          return placeOf(table, rank, findLast(table.rows[rank], wanted)) +
                 toString(wanted) + " is there twice" + onRank(rank);
      }
  return "";
}

/// Each stage does what it does in the order of microbatches, in which
/// gradients are added up.
static std::string findUnordered(const Table &table) {
  std::map<std::pair<Kind, int32_t>, int32_t> last;
  for (int32_t rank = 0; rank < table.ranks(); ++rank)
    for (size_t i = 0; i < table.rows[rank].size(); ++i)
      for (Kind kind : Parts(table.rows[rank][i].kind)) {
        const Task &task = table.rows[rank][i];
        auto [before, isFirst] =
            last.try_emplace({kind, task.stage}, task.microbatch);
        if (!isFirst && task.microbatch < before->second)
          return placeOf(table, rank, i) +
                 toString({kind, task.stage, task.microbatch}) + onRank(rank) +
                 " comes after that of microbatch " +
                 std::to_string(before->second) +
                 ": gradients are added up in the order of microbatches";
        before->second = task.microbatch;
      }
  return "";
}

/// Who waits for whom, in a circle.
static std::string findDeadlock(const Table &table,
                                const std::vector<Transfer> &transfers) {
  Costs none;
  Walk walk(table, transfers, none);
  walk.run();
  std::vector<Walk::Stuck> stuck = walk.findStuck();
  if (stuck.empty())
    return "";
  std::map<int32_t, const Walk::Stuck *> byRank;
  for (const Walk::Stuck &one : stuck)
    byRank[one.rank] = &one;
  // Each waits for one that waits: from anywhere a circle is reached.
  std::map<int32_t, size_t> seen;
  std::vector<const Walk::Stuck *> path;
  int32_t rank = stuck.front().rank;
  while (!seen.count(rank)) {
    seen[rank] = path.size();
    path.push_back(byRank.at(rank));
    rank = table.rankOf[path.back()->missing.stage];
  }
  std::string text = placeOf(table, rank, path[seen[rank]]->index) +
                     "tasks wait for each other:";
  for (size_t i = seen[rank]; i < path.size(); ++i)
    text += std::string(i == seen[rank] ? " " : "; ") + "rank " +
            std::to_string(path[i]->rank) + " comes to " +
            toString(path[i]->task) + " and waits for " +
            toString(path[i]->missing) +
            onRank(table.rankOf[path[i]->missing.stage]);
  return text;
}

std::string dist::pipeline::findFault(const Table &table,
                                      const std::vector<Transfer> &transfers,
                                      bool hasBackward) {
  std::string fault = findMissingOrDouble(table, hasBackward);
  if (fault.empty())
    fault = findDeadlock(table, transfers);
  if (fault.empty())
    fault = findUnordered(table);
  return fault;
}
