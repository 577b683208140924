//===- HostRank.h - A rank that computes on the CPU -------------*- C++ -*-===//
//
// Streams, events, contractions, convolutions and traces of one rank. How it
// meets others is for those who derive from it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LOCAL_HOSTRANK_H
#define DIST_RUNTIME_LOCAL_HOSTRANK_H

#include "runtime/cpu/Contract.h"
#include "runtime/cpu/Convolve.h"
#include "runtime/local/HostRun.h"
#include "runtime/local/StackThread.h"
#include "runtime/rank/InFlight.h"

#include <chrono>
#include <deque>
#include <map>
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

class HostRank : public Backend {
public:
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
  void lend(const void *data, int64_t bytes, bool isMapped) override {
    lent[static_cast<const char *>(data)] = {bytes, isMapped};
  }
  bool upload(void *to, const void *from, int64_t bytes) override;
  bool download(void *to, const void *from, int64_t bytes) override;
  bool readStatus(const int64_t *word, int64_t &value) override {
    value = *word;
    return true;
  }
  bool fail(const std::string &message) override {
    return waiting().fail(topology.describe(index) + ": " + rank.doing +
                          message);
  }
  bool failed() const override { return waiting().failed(); }
  void waitsElsewhere(const std::string &line) override {
    waiting().waitElsewhere(line);
  }
  void addTrace(std::vector<TraceEvent> events) override;

  /// Lets the streams finish and ends their threads.
  void closeStreams();
  /// What it has done while it was traced; without streams that run.
  std::vector<TraceEvent> takeTrace();

protected:
  friend class HostRun;
  HostRank(HostRun &run, int64_t index);

  /// Does a call of a collective, on the thread of its stream; the program
  /// called it at `calledAt`. Sets how many bytes this rank has sent.
  virtual bool together(const CollectiveCall &call, int64_t calledAt,
                        int64_t &bytesSent) = 0;

  Waiting &waiting() const { return *run.waiting; }
  std::string waitsIn(const CollectiveCall &call) const {
    return topology.waitsIn(index, call);
  }
  /// When what the stream waited for last was there.
  int64_t readyAt(int32_t stream) const { return work[stream].readyAt; }

private:
  HostRun &run;

protected:
  const Topology &topology;
  const int64_t index;
  const HostOptions &options;

private:
  /// State of a stream that only its own thread uses.
  struct Work {
    int64_t readyAt = 0;
    std::vector<TraceEvent> trace;
  };
  struct Event {
    int32_t stream = 0;
    uint32_t at = 0; // completed count of the stream
  };

  bool perform(const CollectiveCall &call, int64_t calledAt);
  /// What is packed of what was lent goes back to the system.
  void takeBack(const void *data, int64_t bytes, bool isOnly);
  /// In a trace: the module of the library's call that begins.
  std::string takeMark();
  /// What the program has computed itself since the last mark, if anything, is
  /// an event of the trace.
  void endKernel();
  Stream &open(int32_t stream);
  void submit(int32_t stream, std::function<bool()> task);
  void doTask(Stream &stream, const std::function<bool()> &task);
  /// Does the tasks of a stream without a thread until `at` are completed.
  void doTasks(Stream &stream, uint32_t at);
  void serve(Stream &stream);
  bool land(Stream &stream, uint32_t at);
  bool waitFor(int32_t stream, uint32_t at);

  struct Lent {
    int64_t bytes;
    bool isMapped;
  };

  /// What the program knows this rank by.
  dist_rank rank;
  std::map<const char *, Lent> lent;
  Contractions contractions;
  Convolutions convolutions;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Event> events;
  std::vector<Work> work;
  /// The last mark, until something else begins, and when it was made.
  const char *marked = nullptr;
  int64_t markedAt = 0;
  /// Tasks submitted to streams without threads.
  uint64_t numSubmitted = 0;
};

} // namespace dist

#endif // DIST_RUNTIME_LOCAL_HOSTRANK_H
