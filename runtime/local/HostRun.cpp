//===- HostRun.cpp - Ranks that compute on the CPU ------------------------===//

#include "runtime/local/HostRun.h"
#include "dist/Signals.h"
#include "dist/Tensor.h"
#include "runtime/local/HostRank.h"

#include <exception>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
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
// The run
//===----------------------------------------------------------------------===//

HostRun::HostRun(Topology topology, HostOptions options, Sharing sharing,
                 std::pmr::memory_resource *memory)
    : sharing(sharing), memory(memory), places(std::move(topology)),
      options(options), cpus(allowedCpus()) {
  std::pmr::polymorphic_allocator<> make(memory);
  int64_t words = places.mesh.size() * numStreams;
  waiting = make.new_object<Waiting>(words, sharing, memory);
  completed = make.allocate_object<Word>(words);
  for (int64_t i = 0; i < words; ++i)
    new (&completed[i]) Word(sharing);
}

HostRun::~HostRun() = default;

void HostRun::endWaiting() {
  std::pmr::polymorphic_allocator<> make(memory);
  make.deallocate_object(completed, places.mesh.size() * numStreams);
  make.delete_object(waiting);
}

std::shared_ptr<void> HostRun::allocate(int64_t bytes) {
  return dist::allocate(bytes);
}

void HostRun::giveBack(void *pages, int64_t bytes) {
  madvise(pages, bytes, MADV_DONTNEED);
}

void HostRun::runRank(HostRank &rank,
                      const std::function<int32_t(dist_rank &)> &body) {
  // The scheduler may keep two busy threads on one core for seconds.
  if (options.pinsRanks && places.mesh.size() <= int64_t(cpus.size()))
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

bool HostRun::runThreads(std::vector<std::unique_ptr<HostRank>> &ranks,
                         size_t cores,
                         const std::function<int32_t(dist_rank &)> &body) {
  waiting->setCores(cores);
  for (size_t i = 0; i < ranks.size(); ++i)
    waiting->enter();
  std::vector<StackThread> running;
  try {
    for (auto &rank : ranks)
      running.emplace_back([&, this] { runRank(*rank, body); });
  } catch (const std::system_error &e) {
    waiting->fail("cannot start " + std::to_string(ranks.size()) +
                  " threads: " + e.what());
  }
  for (StackThread &thread : running)
    thread.join();
  for (auto &rank : ranks) {
    std::vector<TraceEvent> own = rank->takeTrace();
    trace.insert(trace.end(), own.begin(), own.end());
  }
  return !waiting->failed();
}
