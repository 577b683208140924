//===- StandingTest.cpp - Deadlocks over processes ------------------------===//
//
// Each rank is a run of its own here, as a process is. A failure that is told
// in one does not reach the others but by this test.
//
//===----------------------------------------------------------------------===//

#include "runtime/messages/Standing.h"
#include "Ranks.h"
#include "dist/Tensor.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <thread>

using namespace dist;
using namespace dist::test;

namespace {

using Body = std::function<int32_t(dist_rank *)>;

int32_t reduceOne(dist_rank *rank, int32_t comm = 0, int32_t stream = 0) {
  static thread_local float in[16], out[16];
  return dist_all_reduce(rank, comm, stream, -1, DIST_F32, DIST_SUM, 1, in,
                         out + stream);
}

/// Ranks that send each other messages, a run for each.
class Processes {
public:
  Processes(const Topology &topology, const Body &body) : topology(topology) {
    for (int64_t rank = 0; rank < topology.mesh.size(); ++rank)
      runs.push_back(std::make_unique<MessagesRun>(
          topology, HostOptions(),
          MessagesRun::Links{{rank, &links.emplace_back(box, rank)}}, 0));
    for (auto &run : runs)
      threads.emplace_back([&run, &numEnded = numEnded, body] {
        run->run([&](dist_rank &rank) { return body(&rank); });
        ++numEnded;
      });
  }
  ~Processes() {
    for (auto &run : runs)
      run->fail("the end of the test");
    for (std::thread &thread : threads)
      thread.join();
  }

  bool haveEnded() const { return numEnded == int(runs.size()); }
  Standing standingOf(size_t rank) const {
    return Standing::read(runs[rank]->stand().write());
  }

  const Topology topology;

private:
  Mailbox box;
  std::deque<Mailbox::Link> links;
  std::vector<std::unique_ptr<MessagesRun>> runs;
  std::vector<std::thread> threads;
  std::atomic<int> numEnded{0};
};

/// The deadlock of ranks that are in one.
std::string waitForDeadlock(const Topology &topology, const Body &body) {
  Processes processes(topology, body);
  for (int i = 0; i < 6000; ++i) {
    std::vector<Standing> all;
    for (int64_t rank = 0; rank < topology.mesh.size(); ++rank)
      all.push_back(processes.standingOf(rank));
    if (std::string found = findDeadlock(topology, all); !found.empty())
      return found;
    usleep(10000);
  }
  return "none";
}

} // namespace

TEST(Standing, OneThatHasEnded) {
  std::string message = waitForDeadlock(line(3), [](dist_rank *rank) {
    return rank->index == 1 ? 0 : reduceOne(rank);
  });
  EXPECT_EQ(message,
            "deadlock: every rank waits for another\n"
            "  rank 0 (a=0) waits in all_reduce sum of f32 count=1 over "
            "communicator 0\n"
            "  rank 1 (a=1) has ended\n"
            "  rank 2 (a=2) waits in all_reduce sum of f32 count=1 over "
            "communicator 0");
}

TEST(Standing, GroupsInAnotherOrder) {
  Mesh mesh = makeMesh({2, 2});
  Topology topology = makeTopology(mesh, {{mesh.whole(0)}, {mesh.whole(1)}});
  // A ring of four, each of which waits for the next.
  EXPECT_TRUE(mentions(waitForDeadlock(topology,
                                       [](dist_rank *rank) {
                                         int first = rank->index == 0 ||
                                                     rank->index == 3;
                                         return reduceOne(rank, first) ||
                                                reduceOne(rank, !first);
                                       }),
                       {"deadlock", "rank 0 (a=0, b=0) waits",
                        "over communicator 1", "over communicator 0"}));
}

TEST(Standing, OnAStream) {
  EXPECT_TRUE(mentions(waitForDeadlock(line(2),
                                       [](dist_rank *rank) -> int32_t {
                                         if (rank->index == 1)
                                           return rank->backend.meet() ? 0 : 1;
                                         return reduceOne(rank, 0, 3) ||
                                                sync(rank, 3);
                                       }),
                       {"deadlock", "rank 0 (a=0) waits in all_reduce",
                        "on stream 3", "rank 0 (a=0) waits for stream 3",
                        "rank 1 (a=1) is ready to start or stop"}));
}

/// Axes of equal size in another order: the same ranks in other places.
TEST(Standing, CallsOverAnotherCommunicatorDiffer) {
  Mesh mesh = makeMesh({2, 2});
  Topology topology = makeTopology(
      mesh, {{mesh.whole(0), mesh.whole(1)}, {mesh.whole(1), mesh.whole(0)}});
  // Until all have ended: what a rank that fails has sent may still be taken.
  float in[4] = {}, out[4][4];
  EXPECT_TRUE(mentions(
      runMessages(topology,
                  [&](dist_rank *rank) {
                    return dist_all_gather(rank, rank->index == 2, 0, -1,
                                           DIST_F32, 1, 4, 1, &in[rank->index],
                                           out[rank->index]);
                  }),
      {"different collectives", "over communicator 0", "over communicator 1"}));
}

/// Standings of any times, put together, are no deadlock of ranks that go on.
TEST(Standing, NoFalseAlarm) {
  Mesh mesh = makeMesh({2, 2});
  Topology topology = makeTopology(
      mesh, {{mesh.whole(0)}, {mesh.whole(1)}, {mesh.whole(0), mesh.whole(1)}});
  for (unsigned seed = 0; seed < 20; ++seed) {
    Processes processes(topology, [seed](dist_rank *rank) {
      std::mt19937 random(seed), own(100 * seed + rank->index);
      for (int turn = 0; turn < 300; ++turn) {
        if (own() % 16 == 0)
          usleep(own() % 300);
        int32_t comm = random() % 3, stream = random() % 3;
        if (random() % 8 == 0 && !rank->backend.meet())
          return 1;
        if (reduceOne(rank, comm, stream) ||
            (random() % 3 == 0 && sync(rank, 1)))
          return 1;
      }
      return 0;
    });
    std::mt19937 random(seed);
    std::vector<std::vector<Standing>> seen(4);
    while (!processes.haveEnded()) {
      for (size_t rank = 0; rank < 4; ++rank)
        seen[rank].push_back(processes.standingOf(rank));
      std::vector<Standing> all;
      for (size_t rank = 0; rank < 4; ++rank)
        all.push_back(seen[rank][random() % 4 ? seen[rank].size() - 1
                                              : random() % seen[rank].size()]);
      ASSERT_EQ(findDeadlock(topology, all), "");
      usleep(random() % 200);
    }
  }
}
