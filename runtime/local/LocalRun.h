//===- LocalRun.h - Ranks that read each other's memory ---------*- C++ -*-===//
//
// A run of a program whose ranks are on one host: threads of one process, or
// processes that share memory. What they meet by lies in memory of the run.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LOCAL_LOCALRUN_H
#define DIST_RUNTIME_LOCAL_LOCALRUN_H

#include "runtime/local/HostRun.h"
#include "runtime/local/TaskQueue.h"

#include <map>
#include <mutex>
#include <tuple>

namespace dist {

struct Channel;

class LocalRun : public HostRun {
protected:
  friend class LocalRank;
  using HostRun::HostRun;

  /// Whether the memory of a rank is there for others after it has ended.
  bool outlivesRanks() const { return sharing == Sharing::Processes; }

  /// Where a group meets on a stream; communicator -1 is all ranks. Made when
  /// it is first asked for.
  Channel &channel(int32_t comm, int64_t group, int32_t stream);
  /// What goes from one rank to another between tasks of a pipeline, likewise.
  TaskQueue &queue(int64_t from, int64_t to);
  /// Frees what ranks meet by; called by destructors, before its memory goes.
  void endMeetings();

private:
  std::mutex mutex;
  std::map<std::tuple<int32_t, int64_t, int32_t>, Channel *> channels;
  std::map<std::pair<int64_t, int64_t>, TaskQueue *> queues;
};

} // namespace dist

#endif // DIST_RUNTIME_LOCAL_LOCALRUN_H
