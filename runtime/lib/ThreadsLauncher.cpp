//===- ThreadsLauncher.cpp - Ranks as threads of this process -------------===//

#include "ThreadsLauncher.h"
#include "ThreadsBackend.h"

using namespace dist;

namespace {

struct ThreadsLauncher final : BackendLauncher {
  const char *name() const override { return "threads"; }
  const char *target() const override { return "cpu"; }

  RanksResult run(const Program &program, const Arguments &arguments,
                  const RunOptions &options) const override {
    const Manifest &manifest = program.manifest;
    // Each takes a stack, some memory, and its turn on the cores.
    constexpr int64_t maxRanks = 4096;
    if (manifest.mesh.size() > maxRanks)
      throw Error("the mesh has " + std::to_string(manifest.mesh.size()) +
                  " ranks; --backend threads runs at most " +
                  std::to_string(maxRanks) + " in one process");
    // Until all ranks have ended: they read each other's memory.
    std::vector<Executor> executors(manifest.mesh.size(),
                                    {program, arguments, options.padding});
    ThreadsRun threads(topologyOf(manifest), options.link, options.streams);
    if (!threads.run([&](dist_rank &rank) {
          return executors[rank.index].run(rank, options.repeat, options.trace);
        }))
      throw Error(threads.message());
    RanksResult result;
    for (Executor &executor : executors)
      result.ranks.push_back(executor.takeResult());
    result.trace = threads.takeTrace();
    return result;
  }
};

} // namespace

const BackendLauncher &dist::threadsLauncher() {
  static const ThreadsLauncher launcher;
  return launcher;
}
