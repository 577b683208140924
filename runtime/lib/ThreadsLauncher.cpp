//===- ThreadsLauncher.cpp - Ranks as threads of this process -------------===//

#include "ThreadsLauncher.h"
#include "ThreadsBackend.h"
#include "Trace.h"

using namespace dist;

static Topology topologyOf(const Manifest &manifest) {
  Topology topology;
  topology.mesh = manifest.mesh;
  for (const std::vector<AxisRef> &refs : manifest.communicators)
    topology.comms.emplace_back(manifest.mesh, refs);
  for (const CollectiveDesc &site : manifest.collectives)
    topology.sites.push_back(site.scope);
  for (const CheckDesc &check : manifest.checks)
    topology.checks.push_back({check.message, check.hasValue});
  return topology;
}

std::vector<RankResult> dist::launchThreads(const Program &program,
                                            const Arguments &arguments,
                                            const RunOptions &options) {
  const Manifest &manifest = program.manifest;
  // Each takes a stack, some memory, and its turn on the cores.
  constexpr int64_t maxRanks = 4096;
  if (manifest.mesh.size() > maxRanks)
    throw Error("the mesh has " + std::to_string(manifest.mesh.size()) +
                " ranks; --backend threads runs at most " +
                std::to_string(maxRanks) + " in one process");
  // Until all ranks have ended: they read each other's memory.
  std::vector<Executor> executors(manifest.mesh.size(), {program, arguments});
  ThreadsRun run(topologyOf(manifest), options.link);
  if (!run.run([&](dist_rank &rank) {
        return executors[rank.index].run(rank, options.repeat,
                                         !options.trace.empty());
      }))
    throw Error(run.message());
  if (!options.trace.empty())
    writeTrace(options.trace, run.takeTrace(), manifest);
  std::vector<RankResult> results;
  for (Executor &executor : executors)
    results.push_back(executor.takeResult());
  return results;
}
