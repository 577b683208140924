//===- ThreadsBackend.cpp - Ranks as threads of one process ---------------===//
//
// The members of a group meet in a Channel, one per communicator, group and
// stream. A collective is: publish the call, meet, compare the calls, do one's
// part, meet again (nobody may touch an operand that others still read).
//
//===----------------------------------------------------------------------===//

#include "ThreadsBackend.h"
#include "Contract.h"
#include "Transfer.h"
#include "dist/Tensor.h"

#include <chrono>
#include <cstring>
#include <deque>
#include <exception>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <unordered_map>

using namespace dist;

namespace dist {

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

/// A message on its way: the sender waits until it is taken.
struct Mailbox {
  Word posted, taken;
  Visitors visitors;
  CollectiveCall call;
};

/// Where a group meets on one stream.
struct Channel {
  explicit Channel(int64_t members)
      : slots(members), mailboxes(members * members) {}

  struct alignas(64) Slot {
    uint64_t print = 0;
    CollectiveCall call;
  };

  Mailbox &mailbox(int64_t from, int64_t to) {
    std::lock_guard<std::mutex> lock(mutex);
    std::unique_ptr<Mailbox> &box = mailboxes[from * slots.size() + to];
    if (!box)
      box = std::make_unique<Mailbox>();
    return *box;
  }

  Word turn;
  std::atomic<uint32_t> arrived{0};
  Visitors visitors;
  /// When the last member arrived.
  int64_t lastArrival = 0;
  std::vector<Slot> slots;

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<Mailbox>> mailboxes;
};

class ThreadRank;

/// A communication stream: a thread that does tasks in order.
struct Stream {
  std::thread thread;
  std::mutex mutex;
  std::deque<std::function<bool()>> tasks;
  bool busy = false, closing = false;
  Word submitted, completed;
};

class ThreadRank final : public dist_rank {
public:
  ThreadRank(ThreadsRun &run, int64_t index)
      : dist_rank(run.places, index), run(run), streams(numStreams),
        events(numEvents), channels(run.places.comms.size() * numStreams),
        work(numStreams) {}

  bool meet() override;
  bool collective(const CollectiveCall &call) override;
  bool copy(int32_t stream, int64_t bytes, const void *in, void *out) override;
  bool eventRecord(int32_t event, int32_t stream) override;
  bool streamWait(int32_t stream, int32_t event) override;
  bool streamSync(int32_t stream) override;
  void *allocate(int64_t bytes) override;
  bool release(void *memory) override;
  bool fail(const std::string &message) override {
    return run.waiting.fail(topology.describe(index) + ": " + message);
  }
  bool failed() const override { return run.waiting.failed(); }
  void traceContraction(double flops, int64_t startNanos) override;

  /// Lets the streams finish and ends their threads.
  void closeStreams();

private:
  friend class ThreadsRun;
  /// State of a stream that only its own thread uses.
  struct Work {
    GroupBuffers buffers;
    std::vector<TraceEvent> trace;
  };
  struct Event {
    int32_t stream = 0;
    uint32_t at = 0; // completed count of the stream
  };

  bool meet(Channel &channel, const std::function<std::string()> &what);
  bool perform(const CollectiveCall &call);
  bool together(Channel &channel, const CollectiveCall &call);
  bool pointToPoint(Channel &channel, const CollectiveCall &call);
  bool agree(const Channel &channel, const CollectiveCall &call);
  void emulateLink(const CollectiveCall &call, int64_t start);
  Channel &channelOf(const CollectiveCall &call);
  std::string waitsIn(const CollectiveCall &call) const;
  Stream &open(int32_t stream);
  void submit(int32_t stream, std::function<bool()> task);
  void serve(Stream &stream);
  bool waitFor(int32_t stream, uint32_t at);

  ThreadsRun &run;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Event> events;
  std::vector<Channel *> channels;
  std::vector<Work> work;
  std::unordered_map<void *, std::shared_ptr<void>> allocations;
};

} // namespace dist

static int64_t nowNanos() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

static std::vector<int> allowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set))
        cpus.push_back(cpu);
  return cpus;
}

static void pinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Channel &ThreadRank::channelOf(const CollectiveCall &call) {
  Channel *&known = channels[call.comm * numStreams + call.stream];
  if (!known)
    known = &run.channel(call.comm, topology.comms[call.comm].group[index],
                         call.stream);
  return *known;
}

std::string ThreadRank::waitsIn(const CollectiveCall &call) const {
  std::string text =
      topology.describe(index) + " waits in " + toString(call, topology.sites);
  return call.stream ? text + " on stream " + std::to_string(call.stream)
                     : text;
}

bool ThreadRank::meet(Channel &channel,
                      const std::function<std::string()> &what) {
  uint32_t seen = channel.turn.load();
  if (channel.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 ==
      channel.slots.size()) {
    channel.arrived.store(0, std::memory_order_relaxed);
    if (run.link.enabled())
      channel.lastArrival = nowNanos();
    channel.turn.advance();
    return !failed();
  }
  return run.waiting.wait(channel.turn, seen, what);
}

/// Every member checks all calls before it touches anybody's memory.
bool ThreadRank::agree(const Channel &channel, const CollectiveCall &call) {
  uint64_t print = channel.slots[0].print;
  for (size_t i = 1; i < channel.slots.size(); ++i) {
    if (channel.slots[i].print == print)
      continue;
    const Communicator &comm = topology.comms[call.comm];
    const std::vector<int64_t> &members = comm.members[comm.group[index]];
    return run.waiting.fail(
        "ranks of one group call different collectives:\n  " +
        topology.describe(members[0]) + " calls " +
        toString(channel.slots[0].call, topology.sites) + "\n  " +
        topology.describe(members[i]) + " calls " +
        toString(channel.slots[i].call, topology.sites));
  }
  return true;
}

void ThreadRank::emulateLink(const CollectiveCall &call, int64_t start) {
  if (!run.link.enabled())
    return;
  double seconds = run.link.latencySeconds;
  if (run.link.bytesPerSecond > 0)
    seconds +=
        bytesSent(call, topology.comms[call.comm]) / run.link.bytesPerSecond;
  std::this_thread::sleep_until(std::chrono::steady_clock::time_point(
      std::chrono::nanoseconds(start + static_cast<int64_t>(seconds * 1e9))));
}

bool ThreadRank::together(Channel &channel, const CollectiveCall &call) {
  const Communicator &comm = topology.comms[call.comm];
  int64_t me = comm.place[index];
  GroupBuffers &buffers = work[call.stream].buffers;
  buffers.ins.resize(comm.size);
  buffers.outs.resize(comm.size);
  std::function<std::string()> what = [this, &call] { return waitsIn(call); };

  if (comm.size > 1) {
    Channel::Slot &slot = channel.slots[me];
    slot.call = call;
    slot.print = fingerprint(call);
    if (!meet(channel, what) || !agree(channel, call) ||
        !channel.visitors.enter(run.waiting))
      return channel.visitors.outlast();
    for (int64_t i = 0; i < comm.size; ++i) {
      buffers.ins[i] = static_cast<const char *>(channel.slots[i].call.in);
      buffers.outs[i] = static_cast<char *>(channel.slots[i].call.out);
    }
  } else {
    buffers.ins[0] = static_cast<const char *>(call.in);
    buffers.outs[0] = static_cast<char *>(call.out);
  }
  transfer(call, comm, buffers, me);
  if (comm.size == 1)
    return true;
  channel.visitors.leave();
  emulateLink(call, channel.lastArrival);
  return meet(channel, what) || channel.visitors.outlast();
}

bool ThreadRank::pointToPoint(Channel &channel, const CollectiveCall &call) {
  const Communicator &comm = topology.comms[call.comm];
  int64_t me = comm.place[index];
  std::function<std::string()> what = [this, &call] { return waitsIn(call); };
  if (call.kind == CollectiveKind::Send) {
    Mailbox &box = channel.mailbox(me, call.peer);
    uint32_t seen = box.taken.load();
    box.call = call;
    box.posted.advance();
    return run.waiting.wait(box.taken, seen, what) || box.visitors.outlast();
  }
  Mailbox &box = channel.mailbox(call.peer, me);
  if (!run.waiting.wait(box.posted, box.taken.load(), what))
    return false;
  if (box.call.dtype != call.dtype || box.call.whole != call.whole) {
    const std::vector<int64_t> &members = comm.members[comm.group[index]];
    return fail("receives " + toString(call, topology.sites) + ", but " +
                topology.describe(members[call.peer]) + " sends " +
                toString(box.call, topology.sites));
  }
  if (!box.visitors.enter(run.waiting))
    return false;
  std::memcpy(call.out, box.call.in, call.whole * dtypeBytes(call.dtype));
  box.visitors.leave();
  emulateLink(box.call, nowNanos());
  box.taken.advance();
  return true;
}

/// On the thread of the call's stream.
bool ThreadRank::perform(const CollectiveCall &call) {
  int64_t start = tracing ? nowNanos() : 0;
  Channel &channel = channelOf(call);
  bool ok =
      call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Recv
          ? pointToPoint(channel, call)
          : together(channel, call);
  if (tracing)
    work[call.stream].trace.push_back(
        {collectiveName(call.kind), index, call.stream, call.site, start,
         nowNanos(), bytesSent(call, topology.comms[call.comm]), 0});
  return ok;
}

bool ThreadRank::collective(const CollectiveCall &call) {
  if (call.stream == 0)
    return perform(call);
  submit(call.stream, [this, call] { return perform(call); });
  return true;
}

void ThreadRank::traceContraction(double flops, int64_t startNanos) {
  work[0].trace.push_back(
      {"contract", index, 0, -1, startNanos, nowNanos(), 0, flops});
}

//===----------------------------------------------------------------------===//
// Streams, events, memory
//===----------------------------------------------------------------------===//

Stream &ThreadRank::open(int32_t index) {
  std::unique_ptr<Stream> &stream = streams[index];
  if (!stream) {
    stream = std::make_unique<Stream>();
    run.waiting.setSpinning(run.threads.fetch_add(1) + 1 <= run.cores);
    stream->thread = std::thread([this, &stream] { serve(*stream); });
  }
  return *stream;
}

void ThreadRank::submit(int32_t index, std::function<bool()> task) {
  Stream &stream = open(index);
  {
    std::lock_guard<std::mutex> lock(stream.mutex);
    stream.tasks.push_back(std::move(task));
    if (!stream.busy) {
      stream.busy = true;
      run.waiting.enter();
    }
  }
  stream.submitted.advance();
}

void ThreadRank::serve(Stream &stream) {
  // On its rank's core, which the thread inherits, unless every rank can have
  // a second one.
  if (2 * topology.mesh.size() <= run.cores)
    pinTo(run.cpus[topology.mesh.size() + index]);
  while (true) {
    uint32_t seen = stream.submitted.load();
    std::function<bool()> task;
    {
      std::lock_guard<std::mutex> lock(stream.mutex);
      if (!stream.tasks.empty()) {
        task = std::move(stream.tasks.front());
        stream.tasks.pop_front();
      } else if (stream.closing) {
        return;
      }
    }
    if (!task) {
      Waiting::idle(stream.submitted, seen);
      continue;
    }
    // After a failure the tasks are counted off undone, so that nobody waits
    // for them.
    if (!failed()) {
      try {
        task();
      } catch (const std::exception &e) {
        fail(e.what());
      }
    }
    stream.completed.advance();
    std::lock_guard<std::mutex> lock(stream.mutex);
    if (stream.tasks.empty()) {
      stream.busy = false;
      run.waiting.leave();
    }
  }
}

/// Waits until `stream` has completed as much as an event recorded.
bool ThreadRank::waitFor(int32_t index, uint32_t at) {
  Stream &stream = *streams[index];
  while (true) {
    uint32_t seen = stream.completed.load();
    if (static_cast<int32_t>(at - seen) <= 0)
      return !failed();
    if (!run.waiting.wait(stream.completed, seen, [this, index] {
          return topology.describe(this->index) + " waits for stream " +
                 std::to_string(index);
        }))
      return false;
  }
}

bool ThreadRank::eventRecord(int32_t event, int32_t stream) {
  // Stream 0 has always done all that was issued.
  uint32_t at =
      stream && streams[stream] ? streams[stream]->submitted.load() : 0;
  events[event] = {streams[stream] ? stream : 0, at};
  return true;
}

bool ThreadRank::streamWait(int32_t stream, int32_t event) {
  Event source = events[event];
  if (source.stream == 0 || source.stream == stream)
    return true;
  if (stream == 0)
    return waitFor(source.stream, source.at);
  submit(stream, [this, source] { return waitFor(source.stream, source.at); });
  return true;
}

bool ThreadRank::streamSync(int32_t stream) {
  if (stream == 0 || !streams[stream])
    return true;
  return waitFor(stream, streams[stream]->submitted.load());
}

bool ThreadRank::copy(int32_t stream, int64_t bytes, const void *in,
                      void *out) {
  if (stream == 0) {
    std::memcpy(out, in, bytes);
    return true;
  }
  submit(stream, [=] {
    std::memcpy(out, in, bytes);
    return true;
  });
  return true;
}

void *ThreadRank::allocate(int64_t bytes) {
  std::shared_ptr<void> memory = dist::allocate(bytes);
  allocations[memory.get()] = memory;
  return memory.get();
}

bool ThreadRank::release(void *memory) {
  if (allocations.erase(memory) == 0)
    return fail("dist_free of memory that dist_alloc did not give");
  return true;
}

void ThreadRank::closeStreams() {
  for (int32_t i = 1; i < numStreams; ++i) {
    if (!streams[i])
      continue;
    streamSync(i);
    {
      std::lock_guard<std::mutex> lock(streams[i]->mutex);
      streams[i]->closing = true;
    }
    streams[i]->submitted.advance();
    streams[i]->thread.join();
  }
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

ThreadsRun::ThreadsRun(Topology topology, EmulatedLink link)
    : places(std::move(topology)), link(link) {}

ThreadsRun::~ThreadsRun() = default;

Channel &ThreadsRun::channel(int32_t comm, int64_t group, int32_t stream) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Channel> &channel = channels[{comm, group, stream}];
  if (!channel)
    channel = std::make_unique<Channel>(comm < 0 ? places.mesh.size()
                                                 : places.comms[comm].size);
  return *channel;
}

bool ThreadRank::meet() {
  return meet(run.channel(-1, 0, 0), [this] {
    return topology.describe(index) + " is ready to start or stop";
  });
}

bool ThreadsRun::run(const std::function<int32_t(dist_rank &)> &body) {
  int64_t ranks = places.mesh.size();
  cpus = allowedCpus();
  cores = cpus.size();
  threads = ranks;
  waiting.setSpinning(ranks <= cores);

  std::vector<std::unique_ptr<ThreadRank>> members;
  for (int64_t i = 0; i < ranks; ++i) {
    members.push_back(std::make_unique<ThreadRank>(*this, i));
    waiting.enter();
  }
  auto main = [&](ThreadRank &rank) {
    // The scheduler may keep two busy threads on one core for seconds.
    if (ranks <= cores)
      pinTo(cpus[rank.index]);
    try {
      int32_t status = body(rank);
      if (status != 0)
        rank.fail("the program returned status " + std::to_string(status));
    } catch (const std::exception &e) {
      rank.fail(e.what());
    }
    rank.closeStreams();
    waiting.leave(places.describe(rank.index) + " has ended");
  };
  std::vector<std::thread> running;
  try {
    for (auto &rank : members)
      running.emplace_back(main, std::ref(*rank));
  } catch (const std::system_error &e) {
    waiting.fail("cannot start " + std::to_string(ranks) +
                 " threads: " + e.what());
  }
  for (std::thread &thread : running)
    thread.join();
  for (auto &rank : members)
    for (ThreadRank::Work &work : rank->work)
      trace.insert(trace.end(), work.trace.begin(), work.trace.end());
  return !waiting.failed();
}
