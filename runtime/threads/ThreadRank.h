//===- ThreadRank.h - A rank that is a thread -------------------*- C++ -*-===//
//
// The backend of one rank of a LocalRun, and where ranks meet. The members of a
// group meet in a Channel, one per communicator, group and stream.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_THREADS_THREADRANK_H
#define DIST_RUNTIME_THREADS_THREADRANK_H

#include "dist/Tensor.h"
#include "runtime/collectives/Transfer.h"
#include "runtime/cpu/Contract.h"
#include "runtime/cpu/Convolve.h"
#include "runtime/rank/InFlight.h"
#include "runtime/threads/LocalRun.h"
#include "runtime/threads/StackThread.h"

#include <chrono>
#include <deque>
#include <mutex>
#include <sched.h>

namespace dist {

inline int64_t nowNanos() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// Keeps the calling thread on one core.
void pinTo(int cpu);

/// Asks the scheduler to run the calling thread soon and for a short time. A
/// stream's work is little compared with the computation on its core, and links
/// and other ranks wait for it.
void takeShortTurns();

/// Counts the threads that touch memory of others. When a run fails, a thread
/// whose memory they touch must not leave before they have noticed.
class Visitors {
public:
  /// False, and no visit, if the run has failed.
  bool enter(const Waiting &waiting) {
    count.fetch_add(1, std::memory_order_seq_cst);
    if (!waiting.failed())
      return true;
    leave();
    return false;
  }
  void leave() { count.fetch_sub(1, std::memory_order_seq_cst); }
  /// After a failure: waits for the visits to end, which are short; returns
  /// false.
  bool outlast() const {
    while (count.load(std::memory_order_seq_cst) != 0)
      sched_yield();
    return false;
  }

private:
  std::atomic<int> count{0};
};

/// Where a group meets on one stream.
struct Channel {
  Channel(int64_t members, Sharing sharing, std::pmr::memory_resource *memory);

  struct alignas(64) Slot {
    uint64_t print = 0;
    CollectiveCall call;
    /// When the program had called it, and what it waits for was there.
    int64_t calledAt = 0;
  };

  Word turn;
  std::atomic<uint32_t> arrived{0};
  Visitors visitors;
  std::pmr::vector<Slot> slots;
};

/// A communication stream: a thread that does tasks in order. In a debug mode
/// (StreamMode.h) the rank does them itself.
struct Stream {
  StackThread thread;
  std::mutex mutex;
  std::deque<std::function<bool()>> tasks;
  bool busy = false, closing = false;
  Word submitted;
  /// Where others see it, too, should it wait for somebody (Waiting.h).
  Word *completed = nullptr;
  /// Calls that have not been waited for, where that is checked (InFlight.h).
  std::deque<InFlight> flights;
};

class ThreadRank final : public Backend {
public:
  ThreadRank(LocalRun &run, int64_t index)
      : run(run), topology(run.topology()), index(index),
        rank(topology, index, *this),
        convolutions(run.options.directConvolutions), streams(numStreams),
        events(numEvents), channels(topology.comms.size() * numStreams),
        work(numStreams), linkFreeAt(topology.mesh.axes.size()) {}

  bool collective(const CollectiveCall &call) override;
  bool contract(const ContractCall &call) override;
  bool convolve(const ConvolveCall &call) override;
  void mark(const char *module) override;
  bool eventRecord(int32_t event, int32_t stream) override;
  bool streamWait(int32_t stream, int32_t event) override;
  bool streamSync(int32_t stream) override;
  std::shared_ptr<void> allocate(int64_t bytes) override {
    return run.allocate(bytes);
  }
  std::pmr::memory_resource *peerMemory() override { return run.peerMemory(); }
  bool sharesHostMemory() const override { return true; }
  bool upload(void *to, const void *from, int64_t bytes) override;
  bool download(void *to, const void *from, int64_t bytes) override;
  bool readStatus(const int64_t *word, int64_t &value) override {
    value = *word;
    return true;
  }
  bool meet() override;
  bool fail(const std::string &message) override {
    return run.waiting->fail(topology.describe(index) + ": " + message);
  }
  bool failed() const override { return run.waiting->failed(); }

  /// Lets the streams finish and ends their threads.
  void closeStreams();
  /// What it has done while it was traced; without streams that run.
  std::vector<TraceEvent> takeTrace();

private:
  friend class LocalRun;
  friend class ProcessesRun;
  /// State of a stream that only its own thread uses.
  struct Work {
    GroupBuffers buffers;
    /// What this rank sent in the last call.
    int64_t bytesSent = 0;
    /// When what another stream was waited for last was there.
    int64_t readyAt = 0;
    std::vector<TraceEvent> trace;
  };
  struct Event {
    int32_t stream = 0;
    uint32_t at = 0; // completed count of the stream
  };

  bool meet(Channel &channel, const std::function<std::string()> &what);
  /// What the program called at `calledAt`.
  bool perform(const CollectiveCall &call, int64_t calledAt);
  bool together(Channel &channel, const CollectiveCall &call, int64_t calledAt);
  bool agree(const Channel &channel, const CollectiveCall &call);
  /// After a failure; returns false.
  bool outlast(const Channel &channel) const;
  /// Occupies the emulated link for the call, and returns when the transfer is
  /// complete. The transfer starts when the last member has called it, or when
  /// the link has finished earlier transfers. The time at which a stream's
  /// thread gets to it does not count.
  int64_t takeLink(const CollectiveCall &call, int64_t bytes,
                   const Channel &channel);
  /// In a trace: the module of the library's call that begins.
  std::string takeMark();
  /// What the program has computed itself since the last mark, if anything, is
  /// an event of the trace.
  void endKernel();
  Channel &channelOf(const CollectiveCall &call);
  std::string waitsIn(const CollectiveCall &call) const;
  Stream &open(int32_t stream);
  void submit(int32_t stream, std::function<bool()> task);
  void doTask(Stream &stream, const std::function<bool()> &task);
  /// Does the tasks of a stream without a thread until `at` are completed.
  void doTasks(Stream &stream, uint32_t at);
  void serve(Stream &stream);
  bool land(Stream &stream, uint32_t at);
  bool waitFor(int32_t stream, uint32_t at);

  LocalRun &run;
  const Topology &topology;
  const int64_t index;
  /// What the program knows this rank by.
  dist_rank rank;
  Contractions contractions;
  Convolutions convolutions;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Event> events;
  std::vector<Channel *> channels;
  std::vector<Work> work;
  /// The last mark, until something else begins, and when it was made.
  const char *marked = nullptr;
  int64_t markedAt = 0;
  /// Tasks submitted to streams without threads.
  uint64_t numSubmitted = 0;
  /// For each axis of the mesh, when this rank's link along it is free again;
  /// streams share the links.
  std::mutex linkMutex;
  std::vector<int64_t> linkFreeAt;
};

} // namespace dist

#endif // DIST_RUNTIME_THREADS_THREADRANK_H
