//===- ThreadsBackend.cpp - Ranks as threads of one process ---------------===//
//
// Starts the threads of a run, each on its own core if there are enough, and
// collects their results.
//
//===----------------------------------------------------------------------===//

#include "runtime/threads/ThreadsBackend.h"
#include "dist/Signals.h"
#include "runtime/threads/ThreadRank.h"

#include <cstring>
#include <exception>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace dist;

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

void dist::pinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// As sched_setattr(2) has it, which the C library does not.
namespace {
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes), policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0, deadline = 0, period = 0;
};
} // namespace

void dist::takeShortTurns() {
  // A thread that wakes displaces one whose turns are longer; kernels before
  // 6.12 have turns of one length, and refuse or ignore it.
  constexpr uint64_t kShortest = 100'000;
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      attributes.policy != SCHED_OTHER)
    return;
  attributes.runtime = kShortest;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

ThreadsRun::ThreadsRun(Topology topology, EmulatedLink link, StreamMode streams,
                       bool directConvolutions)
    : places(std::move(topology)), link(link), streams(streams),
      directConvolutions(directConvolutions) {}

ThreadsRun::~ThreadsRun() = default;

Channel &ThreadsRun::channel(int32_t comm, int64_t group, int32_t stream) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Channel> &channel = channels[{comm, group, stream}];
  if (!channel)
    channel = std::make_unique<Channel>(comm < 0 ? places.mesh.size()
                                                 : places.comms[comm].size);
  return *channel;
}

bool ThreadRank::upload(void *to, const void *from, int64_t bytes) {
  memcpy(to, from, bytes);
  return true;
}

bool ThreadRank::download(void *to, const void *from, int64_t bytes) {
  memcpy(to, from, bytes);
  return true;
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
  waiting.setCores(cores);

  std::vector<std::unique_ptr<ThreadRank>> members;
  for (int64_t i = 0; i < ranks; ++i) {
    members.push_back(std::make_unique<ThreadRank>(*this, i));
    waiting.enter();
  }
  auto main = [&](ThreadRank &rank) {
    // The scheduler may keep two busy threads on one core for seconds.
    if (ranks <= cores)
      pinTo(cpus[rank.index]);
    describeThread(places.describe(rank.index));
    try {
      int32_t status = body(rank.rank);
      if (status != 0)
        rank.fail("the program returned status " + std::to_string(status));
    } catch (const std::exception &e) {
      rank.fail(e.what());
    }
    rank.closeStreams();
    waiting.leave(places.describe(rank.index) + " has ended");
  };
  std::vector<StackThread> running;
  try {
    for (auto &rank : members)
      running.emplace_back([&main, &rank] { main(*rank); });
  } catch (const std::system_error &e) {
    waiting.fail("cannot start " + std::to_string(ranks) +
                 " threads: " + e.what());
  }
  for (StackThread &thread : running)
    thread.join();
  for (auto &rank : members)
    for (ThreadRank::Work &work : rank->work)
      trace.insert(trace.end(), work.trace.begin(), work.trace.end());
  return !waiting.failed();
}
