//===- LocalRun.cpp - Ranks that read each other's memory -----------------===//

#include "runtime/threads/LocalRun.h"
#include "dist/Signals.h"
#include "runtime/threads/ThreadRank.h"

#include <cstring>
#include <exception>
#include <new>
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

//===----------------------------------------------------------------------===//
// What ranks meet by
//===----------------------------------------------------------------------===//

Channel::Channel(int64_t members, Sharing sharing,
                 std::pmr::memory_resource *memory)
    : turn(sharing), slots(members, memory) {}

LocalRun::LocalRun(Topology topology, LocalOptions options, Sharing sharing,
                   std::pmr::memory_resource *memory)
    : sharing(sharing), memory(memory), places(std::move(topology)),
      options(options), cpus(allowedCpus()) {
  std::pmr::polymorphic_allocator<> make(memory);
  int64_t ranks = places.mesh.size(), words = ranks * numStreams;
  waiting = make.new_object<Waiting>(words, sharing, memory);
  completed = make.allocate_object<Word>(words);
  for (int64_t i = 0; i < words; ++i)
    new (&completed[i]) Word(sharing);
}

Channel &LocalRun::channel(int32_t comm, int64_t group, int32_t stream) {
  std::lock_guard<std::mutex> lock(mutex);
  Channel *&channel = channels[{comm, group, stream}];
  if (!channel)
    channel = std::pmr::polymorphic_allocator<>(memory).new_object<Channel>(
        comm < 0 ? places.mesh.size() : places.comms[comm].size, sharing,
        memory);
  return *channel;
}

void LocalRun::endMeetings() {
  std::pmr::polymorphic_allocator<> make(memory);
  for (auto &[key, channel] : channels)
    make.delete_object(channel);
  make.deallocate_object(completed, places.mesh.size() * numStreams);
  make.delete_object(waiting);
}

void LocalRun::runRank(ThreadRank &rank,
                       const std::function<int32_t(dist_rank &)> &body) {
  // The scheduler may keep two busy threads on one core for seconds.
  if (places.mesh.size() <= int64_t(cpus.size()))
    pinTo(cpus[rank.index]);
  describeThread(places.describe(rank.index));
  Waiting::takeSlot(rank.index * numStreams);
  try {
    int32_t status = body(rank.rank);
    if (status != 0)
      rank.fail("the program returned status " + std::to_string(status));
  } catch (const std::exception &e) {
    rank.fail(e.what());
  }
  rank.closeStreams();
  waiting->leave(places.describe(rank.index) + " has ended");
}

//===----------------------------------------------------------------------===//
// The backend of one rank
//===----------------------------------------------------------------------===//

bool ThreadRank::upload(void *to, const void *from, int64_t bytes) {
  memcpy(to, from, bytes);
  return true;
}

bool ThreadRank::download(void *to, const void *from, int64_t bytes) {
  memcpy(to, from, bytes);
  return true;
}

std::vector<TraceEvent> ThreadRank::takeTrace() {
  std::vector<TraceEvent> all;
  for (Work &own : work)
    all.insert(all.end(), own.trace.begin(), own.trace.end());
  return all;
}

bool ThreadRank::meet() {
  return meet(run.channel(-1, 0, 0), [this] {
    return topology.describe(index) + " is ready to start or stop";
  });
}
