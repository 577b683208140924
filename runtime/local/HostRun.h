//===- HostRun.h - Ranks that compute on the CPU ----------------*- C++ -*-===//
//
// A run of a program, as far as one process sees it: all ranks, those of its
// host, or its own.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LOCAL_HOSTRUN_H
#define DIST_RUNTIME_LOCAL_HOSTRUN_H

#include "dist/EmulatedLink.h"
#include "dist/StreamMode.h"
#include "runtime/local/Waiting.h"
#include "runtime/rank/Rank.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dist {

class HostRank;

/// How ranks are run, besides their program.
struct HostOptions {
  EmulatedLink link = {};
  StreamMode streams = {};
  bool directConvolutions = false;
  /// Whether each has a core of its own where there are enough. With a GPU its
  /// libraries' threads would all be there.
  bool pinsRanks = true;
};

class HostRun {
public:
  HostRun(const HostRun &) = delete;
  virtual ~HostRun();

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
  friend class HostRank;
  /// What threads wait by is in `memory`, which all of them see.
  HostRun(Topology topology, HostOptions options, Sharing sharing,
          std::pmr::memory_resource *memory);

  /// Memory for what other ranks read, owned by the process that asks.
  virtual std::pmr::memory_resource *peerMemory() {
    return std::pmr::get_default_resource();
  }
  /// The same, as Backend::allocate.
  virtual std::shared_ptr<void> allocate(int64_t bytes);
  /// Gives whole pages of what was allocated back to the system.
  virtual void giveBack(void *pages, int64_t bytes);

  /// What a stream of a rank has done.
  Word &completedOf(int64_t rank, int32_t stream) {
    return completed[rank * numStreams + stream];
  }
  /// Frees what threads wait by; called by destructors, before its memory goes.
  void endWaiting();
  /// All that a rank does, on its thread.
  void runRank(HostRank &rank, const std::function<int32_t(dist_rank &)> &body);
  /// All of a process's ranks, each on a thread, of which so many may spin
  /// while they wait; as `run`.
  bool runThreads(std::vector<std::unique_ptr<HostRank>> &ranks, size_t cores,
                  const std::function<int32_t(dist_rank &)> &body);

  const Sharing sharing;
  std::pmr::memory_resource *const memory;
  Topology places;
  HostOptions options;
  Waiting *waiting;
  Word *completed;
  std::vector<TraceEvent> trace;
  std::vector<int> cpus;
};

} // namespace dist

#endif // DIST_RUNTIME_LOCAL_HOSTRUN_H
