//===- LocalRun.h - Ranks that read each other's memory ---------*- C++ -*-===//
//
// A run of a program whose ranks are on one host: threads of one process, or
// processes that share memory. What they meet by lies in memory of the run.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_THREADS_LOCALRUN_H
#define DIST_RUNTIME_THREADS_LOCALRUN_H

#include "dist/EmulatedLink.h"
#include "dist/StreamMode.h"
#include "runtime/rank/Rank.h"
#include "runtime/threads/Waiting.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace dist {

struct Channel;
class ThreadRank;

/// How ranks are run, besides their program.
struct LocalOptions {
  EmulatedLink link = {};
  StreamMode streams = {};
  bool directConvolutions = false;
};

class LocalRun {
public:
  LocalRun(const LocalRun &) = delete;
  virtual ~LocalRun() = default;

  /// Runs `body` on every rank and returns when all have ended. `body` returns
  /// a status; other than 0, and exceptions, fail the run. Returns whether the
  /// run succeeded. May be called once.
  virtual bool run(const std::function<int32_t(dist_rank &)> &body) = 0;

  /// Why the run failed: names the rank.
  std::string message() const { return waiting->message(); }

  const Topology &topology() const { return places; }

  /// What the ranks did while dist_rank::tracing was set; after run.
  std::vector<TraceEvent> takeTrace() { return std::move(trace); }

protected:
  friend class ThreadRank;
  /// What ranks meet by is in `memory`, which all of them see.
  LocalRun(Topology topology, LocalOptions options, Sharing sharing,
           std::pmr::memory_resource *memory);

  /// Memory for what other ranks read, owned by the process that asks.
  virtual std::pmr::memory_resource *peerMemory() = 0;
  /// The same, as Backend::allocate.
  virtual std::shared_ptr<void> allocate(int64_t bytes) = 0;
  /// Whether the memory of a rank is there for others after it has ended.
  bool outlivesRanks() const { return sharing == Sharing::Processes; }

  /// Where a group meets on a stream; communicator -1 is all ranks. Made when
  /// it is first asked for.
  Channel &channel(int32_t comm, int64_t group, int32_t stream);
  /// What a stream of a rank has done.
  Word &completedOf(int64_t rank, int32_t stream) {
    return completed[rank * numStreams + stream];
  }
  /// Frees what ranks meet by; called by destructors, before its memory goes.
  void endMeetings();
  /// All that a rank does, on its thread.
  void runRank(ThreadRank &rank,
               const std::function<int32_t(dist_rank &)> &body);

  const Sharing sharing;
  std::pmr::memory_resource *const memory;
  Topology places;
  LocalOptions options;
  Waiting *waiting;
  std::mutex mutex;
  std::map<std::tuple<int32_t, int64_t, int32_t>, Channel *> channels;
  Word *completed;
  std::vector<TraceEvent> trace;
  std::vector<int> cpus;
};

} // namespace dist

#endif // DIST_RUNTIME_THREADS_LOCALRUN_H
