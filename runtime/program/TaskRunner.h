//===- TaskRunner.h - The tasks of one rank of a pipeline -------*- C++ -*-===//
//
// Does a rank's row of a table: a task when what it reads is there. What other
// ranks read is sent as soon as the task that makes it has ended.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_PROGRAM_TASKRUNNER_H
#define DIST_RUNTIME_PROGRAM_TASKRUNNER_H

#include "dist/Program.h"
#include "runtime/rank/Rank.h"

#include <map>

namespace dist {

/// What the ranks of one coordinate do in a step, and what they read of others.
struct TaskPlan {
  /// Throws Error.
  TaskPlan(const PipelineDesc &pipeline, int64_t place);

  /// A task of a microbatch; of begin and end there is none, -1.
  struct Turn {
    size_t task;
    int64_t microbatch;
  };
  /// A slot, and the microbatch that its value is of, or -1: of a step.
  using Key = std::pair<int64_t, int64_t>;
  /// Of a slot.
  struct Use {
    int64_t maker = -1;           // the coordinate of the ranks that make it
    size_t task = 0;              // that makes it
    std::vector<int64_t> targets; // others that read it
    int64_t reads = 0;            // how many tasks of this coordinate do
  };

  Key keyOf(int64_t slot, int64_t microbatch) const {
    return {slot, pipeline.slots[slot].isOfStep ? -1 : microbatch};
  }
  /// The most bytes that values between tasks take at a time, and the scratch
  /// of tasks.
  int64_t countBytes() const;

  const PipelineDesc &pipeline;
  const int64_t place;
  std::vector<Turn> turns;
  std::vector<Use> uses;
  /// By coordinate: what comes from there in a step, in order.
  std::map<int64_t, std::vector<Key>> incoming;
  int64_t arenaBytes = 0;
};

class TaskRunner {
public:
  /// `arguments` and `results` are the program's, by their numbers in the
  /// manifest; null for those of other stages. Throws Error.
  TaskRunner(const Program &program, dist_rank &rank,
             const std::vector<void *> &arguments,
             const std::vector<void *> &results);

  /// A step; `status` as dist_main takes it. Returns 0, or non-zero if the run
  /// has failed.
  int32_t run(int64_t *status);

private:
  using Key = TaskPlan::Key;
  struct Value {
    std::shared_ptr<void> data;
    /// How many tasks of this rank are still to read it.
    int64_t readers = 0;
  };

  TaskMessage messageOf(const Key &key, int64_t other) const;
  std::shared_ptr<void> take(int64_t slot);
  void *find(const Key &key);
  void endRead(const Key &key);
  bool doTurn(const TaskPlan::Turn &turn, int64_t *status);
  bool sendResults(const TaskPlan::Turn &turn);
  void note(TraceEvent event, int64_t start);

  const Program &program;
  const PipelineDesc &pipeline;
  dist_rank &rank;
  const TaskPlan plan;
  const std::vector<void *> &arguments, &results;
  std::map<Key, Value> live;
  /// Memory of slots that nobody reads any more, by bytes.
  std::map<int64_t, std::vector<std::shared_ptr<void>>> spare;
  /// How much has come, by coordinate.
  std::map<int64_t, size_t> received;
  std::shared_ptr<void> arena, number;
  std::vector<void *> in, out;
};

} // namespace dist

#endif // DIST_RUNTIME_PROGRAM_TASKRUNNER_H
