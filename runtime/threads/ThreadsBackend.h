//===- ThreadsBackend.h - Ranks as threads of one process -------*- C++ -*-===//
//
// The embedded default: a rank is a thread, a communication stream another,
// collectives read the peers' memory directly.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_THREADS_THREADSBACKEND_H
#define DIST_RUNTIME_THREADS_THREADSBACKEND_H

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

/// One run of a program: its ranks, and where they meet.
class ThreadsRun {
public:
  ThreadsRun(Topology topology, EmulatedLink link = {}, StreamMode streams = {},
             bool directConvolutions = false);
  ~ThreadsRun();

  /// Runs `body` on every rank, each on a thread of its own, and returns when
  /// all have ended. `body` returns a status; other than 0, and exceptions,
  /// fail the run. Returns whether the run succeeded. May be called once.
  bool run(const std::function<int32_t(dist_rank &)> &body);

  /// Why the run failed: names the rank.
  std::string message() const { return waiting.message(); }

  const Topology &topology() const { return places; }

  /// What the ranks did while dist_rank::tracing was set; after run.
  std::vector<TraceEvent> takeTrace() { return std::move(trace); }

private:
  friend class ThreadRank;
  Channel &channel(int32_t comm, int64_t group, int32_t stream);

  Topology places;
  EmulatedLink link;
  StreamMode streams;
  bool directConvolutions;
  Waiting waiting;
  std::mutex mutex;
  std::map<std::tuple<int32_t, int64_t, int32_t>, std::unique_ptr<Channel>>
      channels;
  std::vector<TraceEvent> trace;
  std::vector<int> cpus;
  int cores = 1;
};

} // namespace dist

#endif // DIST_RUNTIME_THREADS_THREADSBACKEND_H
