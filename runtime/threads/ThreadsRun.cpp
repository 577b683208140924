//===- ThreadsRun.cpp - Ranks as threads of one process -------------------===//
//
// Starts the threads of a run, each on its own core if there are enough, and
// collects their results.
//
//===----------------------------------------------------------------------===//

#include "runtime/threads/ThreadsRun.h"
#include "runtime/local/LocalRank.h"

using namespace dist;

bool ThreadsRun::run(const std::function<int32_t(dist_rank &)> &body) {
  int64_t ranks = places.mesh.size();
  waiting->setCores(cpus.size());
  std::vector<std::unique_ptr<LocalRank>> members;
  for (int64_t i = 0; i < ranks; ++i) {
    members.push_back(std::make_unique<LocalRank>(*this, i));
    waiting->enter();
  }
  std::vector<StackThread> running;
  try {
    for (auto &rank : members)
      running.emplace_back([&, this] { runRank(*rank, body); });
  } catch (const std::system_error &e) {
    waiting->fail("cannot start " + std::to_string(ranks) +
                  " threads: " + e.what());
  }
  for (StackThread &thread : running)
    thread.join();
  for (auto &rank : members) {
    std::vector<TraceEvent> own = rank->takeTrace();
    trace.insert(trace.end(), own.begin(), own.end());
  }
  return !waiting->failed();
}
