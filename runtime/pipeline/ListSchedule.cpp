//===- ListSchedule.cpp - zb_v for few microbatches -----------------------===//

#include "runtime/pipeline/ListSchedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <tuple>

using namespace dist;
using namespace dist::pipeline;

namespace {

/// Of tasks that can begin together: which kind goes first, and of one kind
/// whether the later stage does, or the earlier microbatch.
struct Order {
  bool isForwardFirst;
  bool isByStage;
};

class ListSchedule {
public:
  ListSchedule(Table &empty, Order order)
      : table(empty), order(order), free(table.ranks()), alive(table.ranks()),
        version(table.ranks()), chunks(table.ranks()) {
    for (std::vector<int32_t> &of : ends)
      of.resize(size_t(table.stages) * table.microbatches);
    for (std::vector<int32_t> &of : done)
      of.resize(table.stages);
    for (int32_t stage = 0; stage < table.stages; ++stage)
      chunks[table.rankOf[stage]].push_back(stage);
  }

  /// Comes to the end: what waits for room is never of the first microbatch
  /// that is not done, since a rank then holds none of its second chunk, and
  /// less than what fills it of its first.
  void run() {
    for (int32_t rank = 0; rank < table.ranks(); ++rank)
      look(rank);
    while (!heap.empty()) {
      Start first = heap.top();
      heap.pop();
      if (first.version != version[first.rank])
        continue;
      place(first);
      // What it gives is read here, and by the stages beside it.
      int32_t stage = first.task.stage, rank = first.rank;
      look(rank);
      for (int32_t next : {stage - 1, stage + 1})
        if (next >= 0 && next < table.stages && table.rankOf[next] != rank)
          look(table.rankOf[next]);
    }
  }

private:
  /// A task that a rank can begin; out of date if the rank was looked at since.
  struct Start {
    int32_t time, rank;
    Task task;
    uint64_t version;
    bool operator<(const Start &other) const {
      return std::tie(other.time, other.rank) < std::tie(time, rank);
    }
  };
  static constexpr int32_t kNever = -1;

  size_t at(int32_t stage, int32_t microbatch) const {
    return size_t(stage) * table.microbatches + microbatch;
  }
  int32_t &next(Kind kind, int32_t stage) {
    return done[static_cast<int>(kind)][stage];
  }
  /// When the next task of a kind and stage can begin, which is there.
  int32_t startOf(Kind kind, int32_t stage) {
    int32_t rank = table.rankOf[stage], i = next(kind, stage);
    if (i == table.microbatches)
      return kNever;
    auto after = [&](Kind other, int32_t of) {
      return next(other, of) > i ? ends[static_cast<int>(other)][at(of, i)]
                                 : kNever;
    };
    int32_t ready = 0;
    if (kind == Kind::Forward) {
      ready = stage == 0 ? 0 : after(Kind::Forward, stage - 1);
      if (!hasRoom(rank, stage))
        return kNever;
    } else {
      ready =
          after(kind == Kind::Weight ? Kind::Backward : Kind::Forward, stage);
      if (kind == Kind::Backward && stage + 1 < table.stages && ready != kNever)
        ready = after(Kind::Backward, stage + 1) == kNever
                    ? kNever
                    : std::max(ready, after(Kind::Backward, stage + 1));
    }
    return ready == kNever ? kNever : std::max(ready, free[rank]);
  }
  /// The first chunk leaves room for the second, which must follow it.
  bool hasRoom(int32_t rank, int32_t stage) {
    bool isFollowed = stage == chunks[rank][0];
    return alive[rank] + 1 + isFollowed <= 2 * table.ranks();
  }

  void look(int32_t rank) {
    ++version[rank];
    Start best{kNever, rank, {}, version[rank]};
    auto keyOf = [&](const Task &task) {
      int kind = task.kind == Kind::Weight                              ? 2
                 : (task.kind == Kind::Forward) == order.isForwardFirst ? 0
                                                                        : 1;
      int32_t microbatch = order.isByStage ? 0 : task.microbatch;
      return std::tuple(kind, microbatch, -task.stage);
    };
    for (int32_t stage : chunks[rank])
      for (Kind kind : {Kind::Forward, Kind::Backward, Kind::Weight}) {
        int32_t time = startOf(kind, stage);
        if (time == kNever)
          continue;
        Task task{kind, stage, next(kind, stage)};
        if (best.time == kNever || time < best.time ||
            (time == best.time && keyOf(task) < keyOf(best.task))) {
          best.time = time;
          best.task = task;
        }
      }
    if (best.time != kNever)
      heap.push(best);
  }

  void place(const Start &start) {
    auto [kind, stage, i] = start.task;
    free[start.rank] = start.time + 1;
    ends[static_cast<int>(kind)][at(stage, i)] = start.time + 1;
    ++next(kind, stage);
    alive[start.rank] += (kind == Kind::Forward) - (kind == Kind::Weight);
    table.rows[start.rank].push_back(start.task);
  }

  Table &table;
  Order order;
  /// By kind and stage: how many, and when they end by microbatch.
  std::array<std::vector<int32_t>, 3> done, ends;
  /// By rank.
  std::vector<int32_t> free, alive;
  std::vector<uint64_t> version;
  std::vector<std::vector<int32_t>> chunks;
  std::priority_queue<Start> heap;
};

} // namespace

Table dist::pipeline::scheduleList(const Table &empty) {
  Table best;
  double fewest = std::numeric_limits<double>::infinity();
  std::vector<double> one(empty.stages, 1);
  for (bool isForwardFirst : {false, true})
    for (bool isByStage : {false, true}) {
      Table table = empty;
      ListSchedule(table, {isForwardFirst, isByStage}).run();
      double seconds =
          simulate(table, chain(table.stages), {one, one, one}).seconds;
      if (seconds >= fewest)
        continue;
      fewest = seconds;
      best = std::move(table);
    }
  return best;
}
