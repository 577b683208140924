//===- ProcessesTest.cpp - Ranks as processes of one host -----------------===//
//
// Collectives and their failures among processes, their memory and their
// messages. What ranks find wrong is the status that they return.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"
#include "dist/Tensor.h"
#include "runtime/local/HostRank.h"
#include "runtime/processes/ProcessesRun.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace dist;
using namespace dist::test;

namespace {

// Not of the test's own memory, which sanitizers keep apart.
float *floats(dist_rank *rank, int64_t count) {
  return static_cast<float *>(
      (new std::shared_ptr<void>(rank->backend.allocate(count * 4)))->get());
}

int32_t reduceOn(dist_rank *rank, int64_t count, int32_t stream = 0) {
  float *in = floats(rank, count), *out = floats(rank, count);
  for (int64_t i = 0; i < count; ++i)
    in[i] = rank->index + i % 7;
  if (dist_all_reduce(rank, 0, stream, -1, DIST_F32, DIST_SUM, count, in,
                      out) ||
      sync(rank, stream))
    return 1;
  int64_t ranks = rank->topology.mesh.size();
  for (int64_t i = 0; i < count; ++i)
    if (out[i] != ranks * (ranks - 1) / 2 + ranks * (i % 7))
      return 42;
  return 0;
}

} // namespace

TEST(Processes, ReduceOnAllStreams) {
  for (int64_t ranks : {1, 2, 3, 8})
    EXPECT_EQ(runProcesses(line(ranks),
                           [](dist_rank *rank) {
                             for (int32_t stream : {0, 1, 0, 15, 1})
                               for (int64_t count : {1, 1000, 70000})
                                 if (int32_t status =
                                         reduceOn(rank, count, stream))
                                   return status;
                             return 0;
                           }),
              "");
}

TEST(Processes, RowsByPlansThatAreMadeAnew) {
  EXPECT_EQ(runProcesses(line(2),
                         [](dist_rank *rank) {
                           float *in = floats(rank, 2), *out = floats(rank, 3);
                           in[0] = 10 * rank->index;
                           in[1] = in[0] + 1;
                           for (int64_t turn = 0; turn < 100; ++turn) {
                             int64_t rows[3] = {turn % 4, 3, rank->index};
                             if (dist_plan_rows(rank, 0, -1, 0, 4, 3, rows) ||
                                 dist_gather_rows(rank, 0, 0, -1, DIST_F32, 0,
                                                  1, 4, 1, in, out))
                               return 1;
                             for (int64_t i = 0; i < 3; ++i)
                               if (out[i] != 10 * (rows[i] / 2) + rows[i] % 2)
                                 return 42;
                           }
                           return 0;
                         }),
            "");
}

TEST(Processes, SayOnceWhatTheySayAlike) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(runProcesses(line(3),
                         [](dist_rank *rank) {
                           for (int i = 0; i < 2; ++i)
                             std::fprintf(stderr, "hello\n");
                           std::fprintf(stderr, "I am %d\n", int(rank->index));
                           return 0;
                         }),
            "");
  std::string text = testing::internal::GetCapturedStderr();
  std::map<std::string, int> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);)
    ++lines[line.substr(line.find(": "))];
  // Twice by the first one that is heard.
  EXPECT_EQ(lines, (std::map<std::string, int>{{": hello", 2},
                                               {": I am 0", 1},
                                               {": I am 1", 1},
                                               {": I am 2", 1}}))
      << text;
  EXPECT_NE(text.find("rank 2 (a=2): I am 2\n"), text.npos);
}

TEST(Processes, FailWithTheMessageOfOne) {
  EXPECT_EQ(runProcesses(line(3),
                         [](dist_rank *rank) {
                           if (rank->index == 2)
                             return fail(rank, "index 7 is not in [0, 5)");
                           while (reduceOn(rank, 1) == 0) {
                           }
                           return 0;
                         }),
            "rank 2 (a=2): index 7 is not in [0, 5)");
  EXPECT_EQ(runProcesses(line(2),
                         [](dist_rank *rank) -> int32_t {
                           if (rank->index == 1)
                             throw Error("no such file");
                           return reduceOn(rank, 1) * 0;
                         }),
            "rank 1 (a=1): no such file");
  EXPECT_EQ(runProcesses(line(2),
                         [](dist_rank *rank) {
                           return rank->index == 1 ? 5 : reduceOn(rank, 1) * 0;
                         }),
            "rank 1 (a=1): the program returned status 5");
}

TEST(Processes, NoticeADeadlockAndCallsThatDiffer) {
  EXPECT_TRUE(mentions(runProcesses(line(3),
                                    [](dist_rank *rank) {
                                      return rank->index == 1
                                                 ? 0
                                                 : reduceOn(rank, 8, 1) * 0;
                                    }),
                       {"deadlock", "rank 0 (a=0) waits in all_reduce",
                        "rank 1 (a=1) has ended", "rank 2 (a=2) waits"}));
  EXPECT_TRUE(mentions(runProcesses(line(2),
                                    [](dist_rank *rank) {
                                      return reduceOn(rank, 1 + rank->index);
                                    }),
                       {"different collectives", "count=1", "count=2"}));
}

TEST(Processes, NoticeDeathAndStops) {
  EXPECT_TRUE(mentions(runProcesses(line(2),
                                    [](dist_rank *rank) {
                                      if (rank->index == 1)
                                        raise(SIGKILL);
                                      return reduceOn(rank, 1) * 0;
                                    }),
                       {"rank 1 (a=1)", "signal 9"}));
  EXPECT_TRUE(mentions(runProcesses(line(2),
                                    [](dist_rank *rank) -> int32_t {
                                      if (rank->index == 0)
                                        _exit(3);
                                      return reduceOn(rank, 1) * 0;
                                    }),
                       {"rank 0 (a=0)", "ended with status 3"}));
  EXPECT_TRUE(mentions(runProcesses(
                           line(2),
                           [](dist_rank *rank) {
                             if (rank->index == 1)
                               raise(SIGSTOP);
                             return reduceOn(rank, 1) * 0;
                           },
                           /*milliseconds=*/200),
                       {"rank 1 (a=1)", "has been stopped for 0.2"}));
}

namespace {
/// What ranks wait by, for a test that holds its lock.
struct Inside : HostRank {
  static Waiting &of(dist_rank &rank) {
    return (static_cast<HostRank &>(rank.backend).*&Inside::waiting)();
  }
};
} // namespace

/// It is killed before anybody waits for the lock that it was stopped with.
TEST(Processes, KillOneThatIsStoppedWithALock) {
  auto *wasKilled = static_cast<std::atomic<int> *>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
           -1, 0));
  auto *process = wasKilled + 1, *hasBegun = wasKilled + 2;
  // Who fails the run wakes those that wait by it.
  auto *word = new (wasKilled + 16) Word(Sharing::Processes);
  EXPECT_TRUE(mentions(
      runProcesses(
          line(2),
          [&](dist_rank *rank) {
            if (rank->index == 1) {
              // A rank that begins after the failure does nothing.
              while (*hasBegun == 0)
                usleep(1000);
              *process = getpid();
              Inside::of(*rank).wait(*word, word->load(), [] {
                raise(SIGSTOP);
                return std::string();
              });
              return 0;
            }
            *hasBegun = 1;
            while (!rank->backend.failed())
              usleep(1000);
            // Whoever told of it was the lock's next owner.
            std::ifstream status("/proc/" + std::to_string(*process) +
                                 "/status");
            std::string text((std::istreambuf_iterator<char>(status)), {});
            *wasKilled = text.find("State:\tT") == std::string::npos ? 1 : 2;
            return 0;
          },
          /*milliseconds=*/200),
      {"rank 1 (a=1)", "has been stopped for 0.2"}));
  EXPECT_EQ(*wasKilled, 1);
  munmap(wasKilled, 4096);
}

TEST(Processes, NoticeOneThatLeaves) {
  EXPECT_TRUE(mentions(runProcesses(line(3),
                                    [](dist_rank *rank) {
                                      if (rank->index == 1)
                                        _exit(0);
                                      return reduceOn(rank, 10);
                                    }),
                       {"rank 1 (a=1): its process ",
                        " ended with status 0 in the middle of the run"}));
}

TEST(Processes, EndOneThatComputesOn) {
  EXPECT_EQ(runProcesses(line(2),
                         [](dist_rank *rank) {
                           if (rank->index == 1)
                             return fail(rank, "gone");
                           for (volatile int64_t turn = 0;;)
                             turn = turn + 1;
                         }),
            "rank 1 (a=1): gone");
}

/// What is in use never overlaps, is zero when it is allocated, and all is one
/// piece again in the end.
TEST(Processes, HeapKeepsPartsApart) {
  SharedHeap heap(1 << 20);
  std::mt19937 random(5);
  struct Part {
    std::shared_ptr<void> data;
    int64_t bytes;
    unsigned char mark;
  };
  std::vector<Part> parts;
  auto check = [](const Part &part) {
    auto *data = static_cast<unsigned char *>(part.data.get());
    return std::all_of(data, data + part.bytes,
                       [&](unsigned char one) { return one == part.mark; });
  };
  for (int turn = 0; turn < 5000; ++turn) {
    if (parts.size() > 40 || (!parts.empty() && random() % 2)) {
      size_t which = random() % parts.size();
      EXPECT_TRUE(check(parts[which]));
      parts.erase(parts.begin() + which);
      continue;
    }
    Part part{nullptr, int64_t(random() % 9000), 0};
    part.data = heap.allocateZeroed(part.bytes);
    EXPECT_TRUE(check(part));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(part.data.get()) % 64, 0u);
    part.mark = 1 + random() % 255;
    memset(part.data.get(), part.mark, part.bytes);
    parts.push_back(part);
  }
  parts.clear();
  EXPECT_TRUE(heap.allocateZeroed(1 << 20));
  EXPECT_THROW(heap.allocateZeroed((1 << 20) + 1), Error);
}
