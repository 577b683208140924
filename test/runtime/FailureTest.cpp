//===- FailureTest.cpp - A run that cannot go on ends, and says why -------===//
//
// Each of these would hang if a failure were not noticed.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"
#include "dist/Tensor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <thread>
#include <unistd.h>

using namespace dist;
using namespace dist::test;

static int32_t reduceOne(dist_rank *rank, int32_t comm = 0, int64_t count = 1,
                         int32_t op = DIST_SUM, int32_t stream = 0) {
  float in[16] = {}, out[16];
  return dist_all_reduce(rank, comm, stream, -1, DIST_F32, op, count, in, out);
}

DIST_ON_RANKS(Failure, Way::Threads, Way::Processes);
DIST_ON_RANKS(Checks, Way::Threads, Way::Processes);
DIST_ON_RANKS(Mismatches, Way::Threads, Way::Processes);
DIST_ON_RANKS(Deadlock, Way::Threads, Way::Processes);
DIST_ON_RANKS(Arguments, Way::Threads, Way::Processes);

TEST_P(Failure, OfOneRankEndsAllWithItsMessage) {
  for (int64_t ranks : {1, 2, 3, 8, 24}) {
    std::string message = runRanks(line(ranks), [&](dist_rank *rank) {
      if (rank->index == ranks - 1)
        return fail(rank, "index 7 is not in [0, 5)");
      while (reduceOne(rank) == 0) {
      }
      return 0;
    });
    EXPECT_EQ(message, "rank " + std::to_string(ranks - 1) +
                           " (a=" + std::to_string(ranks - 1) +
                           "): index 7 is not in [0, 5)");
  }
}

TEST_P(Failure, IsSticky) {
  std::string message = runRanks(line(2), [&](dist_rank *rank) {
    if (rank->index == 1)
      return fail(rank, "first");
    EXPECT_NE(reduceOne(rank), 0);
    EXPECT_NE(reduceOne(rank), 0);
    EXPECT_NE(fail(rank, "second"), 0);
    return 0;
  });
  EXPECT_TRUE(mentions(message, {"first"}));
}

TEST_P(Failure, ByReturningAStatus) {
  std::string message = runRanks(line(3), [&](dist_rank *rank) {
    if (rank->index == 1)
      return 5;
    reduceOne(rank);
    return 0;
  });
  EXPECT_EQ(message, "rank 1 (a=1): the program returned status 5");
}

TEST_P(Failure, ByAnException) {
  std::string message = runRanks(line(3), [&](dist_rank *rank) {
    if (rank->index == 2)
      throw Error("no such file");
    return reduceOne(rank) * 0;
  });
  EXPECT_EQ(message, "rank 2 (a=2): no such file");
}

TEST_P(Failure, LeavesCollectivesOnOtherStreams) {
  std::string message = runRanks(line(3), [&](dist_rank *rank) {
    if (rank->index == 2)
      return fail(rank, "gone");
    reduceOne(rank, 0, 1, DIST_SUM, /*stream=*/1);
    return sync(rank, 1) * 0;
  });
  EXPECT_EQ(message, "rank 2 (a=2): gone");
}

static std::string runDevices(int milliseconds,
                              const std::function<int32_t(dist_rank *)> &body) {
  if (!forkedMemoryHasNew)
    return "";
  return runProcesses(line(2), body, milliseconds, /*onDevices=*/true);
}

static int32_t waitForTheEnd(dist_rank *rank) {
  while (!rank->backend.failed())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return 1;
}

// NCCL itself would wait for ever.
TEST(OnGpus, ARankThatDoesNotComeIsNotWaitedForLong) {
  std::string message = runDevices(5000, [](dist_rank *rank) {
    return rank->index == 0 ? reduceOne(rank) : waitForTheEnd(rank);
  });
  if (forkedMemoryHasNew)
    EXPECT_TRUE(mentions(message, {"for 5 s (--timeout",
                                   "rank 0 (a=0) waits in all_reduce sum of "
                                   "f32 count=1 over communicator 0"}));
}

// Whatever its messages go by.
TEST(OnGpus, ARankThatEndsIsNamedWithWhatItWaitedFor) {
  std::string message = runDevices(20000, [](dist_rank *rank) {
    if (rank->index == 1)
      return waitForTheEnd(rank);
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      kill(getpid(), SIGKILL);
    }).detach();
    return reduceOne(rank);
  });
  if (forkedMemoryHasNew)
    EXPECT_TRUE(mentions(message, {"rank 0 (a=0)", "signal 9",
                                   "before that, rank 0 (a=0) waits in "
                                   "all_reduce sum of f32"}));
}

//===----------------------------------------------------------------------===//
// Checks of the program, below dist_main
//===----------------------------------------------------------------------===//

/// In memory that all ranks share, whatever they are.
static std::unique_ptr<std::atomic<int>> reached;

/// What a kernel does where check 1 does not hold, on rank 0.
static void failCheck(dist_rank *rank, int64_t *status) {
  if (rank->index != 0)
    return;
  status[2] = 7;
  status[0] = 2;
}

/// Runs `entry` on two ranks of a program with two checks.
static std::string runMain(dist_main_fn entry) {
  Topology topology = line(2);
  topology.checks = {{"the sky is up", false},
                     {"the index is in [0, 5)", true}};
  reached = std::make_unique<std::atomic<int>>(0);
  return runRanks(topology, [&](dist_rank *rank) {
    int64_t status[3] = {0, 0, 0};
    return rank->callMain(entry, nullptr, nullptr, nullptr, status);
  });
}

// A failing call does not return.
TEST_P(Checks, EndTheRunBeforeACollective) {
  EXPECT_EQ(runMain([](dist_rank *rank, void *const *, void *const *, void *,
                       int64_t *status) {
              failCheck(rank, status);
              reduceOne(rank);
              ++*reached;
            }),
            "rank 0 (a=0): the index is in [0, 5), not 7");
  EXPECT_EQ(*reached, 0);
}

TEST_P(Checks, EndTheRunBeforeACollectiveOnAnotherStream) {
  EXPECT_EQ(runMain([](dist_rank *rank, void *const *, void *const *, void *,
                       int64_t *status) {
              failCheck(rank, status);
              reduceOne(rank, 0, 1, DIST_SUM, /*stream=*/1);
              dist_event_record(rank, 0, 1);
              dist_stream_wait(rank, 0, 0);
              ++*reached;
            }),
            "rank 0 (a=0): the index is in [0, 5), not 7");
  EXPECT_EQ(*reached, 0);
}

TEST_P(Checks, EndTheRunWhereTheProgramAsks) {
  EXPECT_EQ(runMain([](dist_rank *rank, void *const *, void *const *, void *,
                       int64_t *status) {
              failCheck(rank, status);
              while (true) // a loop whose condition has become wrong
                dist_check(rank);
            }),
            "rank 0 (a=0): the index is in [0, 5), not 7");
}

TEST_P(Checks, EndTheRunAtTheProgramsEnd) {
  EXPECT_EQ(runMain([](dist_rank *rank, void *const *, void *const *, void *,
                       int64_t *status) {
              reduceOne(rank);
              if (rank->index == 1)
                status[0] = 1;
              ++*reached;
            }),
            "rank 1 (a=1): the sky is up");
  // Rank 0 may still be on its way out of the collective.
  EXPECT_GE(*reached, 1);
}

TEST_P(Checks, ThatTheManifestLacksAreNamed) {
  EXPECT_TRUE(mentions(runMain([](dist_rank *rank, void *const *, void *const *,
                                  void *, int64_t *status) { status[0] = 9; }),
                       {"check 8 of the program failed"}));
}

struct Mismatch {
  const char *what;
  std::function<int32_t(dist_rank *, bool odd)> call;
  const char *expected[2];
};

TEST_P(Mismatches, IsReportedWithBothCalls) {
  static float in[64], out[64];
  static const int64_t there[] = {0, 1}, back[] = {1, 0};
  const Mismatch mismatches[] = {
      {"op",
       [](dist_rank *r, bool odd) {
         return odd ? reduceOne(r)
                    : dist_all_gather(r, 0, 0, -1, DIST_F32, 1, 4, 1, in, out);
       },
       {"all_reduce sum of f32 count=1",
        "all_gather of f32 outer=1 whole=4 inner=1"}},
      {"size",
       [](dist_rank *r, bool odd) { return reduceOne(r, 0, odd ? 3 : 4); },
       {"count=3", "count=4"}},
      {"reduction",
       [](dist_rank *r, bool odd) {
         return reduceOne(r, 0, 1, odd ? DIST_MAX : DIST_SUM);
       },
       {"all_reduce max", "all_reduce sum"}},
      {"dtype",
       [](dist_rank *r, bool odd) {
         return dist_broadcast(r, 0, 0, -1, odd ? DIST_I32 : DIST_F32, 0, 4, in,
                               out);
       },
       {"of i32", "of f32"}},
      {"pairs",
       [](dist_rank *r, bool odd) {
         return dist_collective_permute(r, 0, 0, -1, DIST_F32, 1,
                                        odd ? there : back, 4, in, out);
       },
       {"pairs=0>1", "pairs=1>0"}}};
  for (const Mismatch &mismatch : mismatches) {
    // Threes: the odd one out is in the middle.
    std::string message = runRanks(line(3), [&](dist_rank *rank) {
      return mismatch.call(rank, rank->index == 1) * 0;
    });
    EXPECT_TRUE(
        mentions(message, {"call different collectives", "rank 0", "rank 1",
                           mismatch.expected[0], mismatch.expected[1]}))
        << mismatch.what;
  }
}

TEST_P(Mismatches, NamesTheSites) {
  Topology topology = line(2);
  topology.sites = {{"h.0.attn"}, {"h.0.mlp"}};
  std::string message = runRanks(topology, [&](dist_rank *rank) {
    float in = 0, out;
    int32_t site = static_cast<int32_t>(rank->index);
    dist_all_reduce(rank, 0, 0, site, DIST_F32, site ? DIST_SUM : DIST_MAX, 1,
                    &in, &out);
    return 0;
  });
  EXPECT_TRUE(mentions(message, {"(site 0: h.0.attn)", "(site 1: h.0.mlp)"}));
}

// Equal calls at different places of the program are not the same call.
TEST_P(Mismatches, OfSites) {
  Topology topology = line(2);
  topology.sites = {{"h.0.attn"}, {"h.0.mlp"}};
  std::string message = runRanks(topology, [&](dist_rank *rank) {
    float in = 0, out;
    dist_all_reduce(rank, 0, 0, static_cast<int32_t>(rank->index), DIST_F32,
                    DIST_SUM, 1, &in, &out);
    return 0;
  });
  EXPECT_TRUE(mentions(message, {"(site 0: h.0.attn)", "(site 1: h.0.mlp)"}));
}

TEST_P(Deadlock, WhenARankEndsEarly) {
  std::string message = runRanks(line(3), [&](dist_rank *rank) {
    return rank->index == 1 ? 0 : reduceOne(rank) * 0;
  });
  EXPECT_TRUE(mentions(message, {"deadlock", "rank 1 (a=1) has ended",
                                 "rank 0 (a=0) waits in all_reduce"}));
}

TEST_P(Deadlock, WhenRanksTakeCommunicatorsInDifferentOrder) {
  Mesh mesh = makeMesh({2});
  Topology topology = makeTopology(mesh, {{mesh.whole(0)}, {mesh.whole(0)}});
  std::string message = runRanks(topology, [&](dist_rank *rank) {
    int32_t first = static_cast<int32_t>(rank->index);
    reduceOne(rank, first);
    return reduceOne(rank, 1 - first) * 0;
  });
  EXPECT_TRUE(mentions(
      message, {"deadlock", "over communicator 0", "over communicator 1"}));
}

TEST_P(Deadlock, OnAStreamWhoseHostWaits) {
  std::string message = runRanks(line(2), [&](dist_rank *rank) {
    if (rank->index == 1)
      return 0;
    reduceOne(rank, 0, 1, DIST_SUM, 3);
    dist_event_record(rank, 5, 3);
    return dist_stream_wait(rank, 0, 5) * 0;
  });
  EXPECT_TRUE(mentions(
      message, {"deadlock", "on stream 3", "rank 0 (a=0) waits for stream 3"}));
}

TEST_P(Arguments, OutOfRangeAreNamed) {
  using Call = std::function<int32_t(dist_rank *)>;
  static float x[4], y[4];
  static const int64_t twice[] = {0, 1, 0, 0}, outside[] = {0, 2};
  const std::pair<Call, const char *> calls[] = {
      {[](dist_rank *r) { return reduceOne(r, 7); },
       "communicator 7 does not exist: the program has 1"},
      {[](dist_rank *r) { return reduceOne(r, 0, 1, DIST_SUM, 16); },
       "stream 16 does not exist"},
      {[](dist_rank *r) { return reduceOne(r, 0, -4); }, "negative size -4"},
      {[](dist_rank *r) { return reduceOne(r, 0, 1, DIST_AND); },
       "and, or are not defined on f32"},
      {[](dist_rank *r) { return reduceOne(r, 0, 1, 9); },
       "reduction 9 does not exist"},
      {[](dist_rank *r) {
         return dist_all_reduce(r, 0, 0, -1, 42, DIST_SUM, 1, x, y);
       },
       "dtype 42 does not exist"},
      {[](dist_rank *r) {
         return dist_broadcast(r, 0, 0, -1, DIST_F32, 2, 1, x, y);
       },
       "root 2 is not in a group of 2"},
      {[](dist_rank *r) {
         return dist_collective_permute(r, 0, 0, -1, DIST_F32, 2, twice, 1, x,
                                        y);
       },
       "source 0 occurs twice"},
      {[](dist_rank *r) {
         return dist_collective_permute(r, 0, 0, -1, DIST_F32, 1, outside, 1, x,
                                        y);
       },
       "target 2 is not in a group of 2"},
      {[](dist_rank *r) { return dist_event_record(r, 4096, 0); },
       "event 4096 does not exist"},
      {[](dist_rank *r) { return dist_comm_index(r, 3) < 0 ? 1 : 0; },
       "communicator 3 does not exist: the program has 1"}};
  for (const auto &[call, expected] : calls) {
    std::string message = runRanks(line(2), [&call = call](dist_rank *rank) {
      EXPECT_NE(call(rank), 0);
      return 0;
    });
    EXPECT_TRUE(mentions(message, {expected}));
  }
}
