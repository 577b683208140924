//===- ThreadsRun.cpp - Ranks as threads of one process -------------------===//

#include "runtime/threads/ThreadsRun.h"
#include "runtime/local/LocalRank.h"

using namespace dist;

bool ThreadsRun::run(const std::function<int32_t(dist_rank &)> &body) {
  std::vector<std::unique_ptr<HostRank>> ranks;
  for (int64_t i = 0; i < places.mesh.size(); ++i)
    ranks.push_back(std::make_unique<LocalRank>(*this, i));
  return runThreads(ranks, cpus.size(), body);
}
