//===- Launcher.cpp - Runs a compiled program on all its ranks ------------===//
//
// Chooses the backend, and makes one result of what its ranks did.
//
//===----------------------------------------------------------------------===//

#include "dist/Launcher.h"
#include "dist/Slices.h"
#include "runtime/launch/MpiLauncher.h"
#include "runtime/launch/ProcessesLauncher.h"
#include "runtime/launch/ThreadsLauncher.h"
#include "runtime/launch/Trace.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace dist;

/// Those of this build: a new backend is one line here.
static const BackendLauncher *const launchers[] = {
    &threadsLauncher(), &processesLauncher(), &mpiLauncher()};

static const BackendLauncher &findLauncher(const std::string &name) {
  if (name.empty())
    return threadsLauncher();
  std::string known;
  for (const BackendLauncher *launcher : launchers) {
    if (name == launcher->name())
      return *launcher;
    known += std::string(known.empty() ? "" : ", ") + launcher->name();
  }
  throw Error("--backend " + name + ": not in this build; known are " + known);
}

static const BackendLauncher &findLauncher(const RunOptions &options) {
  return options.processes ? processesLauncher()
                           : findLauncher(options.backend);
}

static void checkBackend(const RunOptions &options) {
  const BackendLauncher &launcher = findLauncher(options);
  if (options.processes < 0)
    throw Error("-n " + std::to_string(options.processes) +
                ": must be at least 1");
  if (options.processes && options.backend == mpiLauncher().name())
    throw Error("-n with --backend mpi: mpirun starts the ranks: mpirun -n " +
                std::to_string(options.processes) +
                " dist-exec … --backend mpi, without -n at the end");
  if (options.processes && !options.backend.empty() &&
      &launcher != &findLauncher(options.backend))
    throw Error("-n is --backend processes: leave out --backend " +
                options.backend);
  const std::string &reductions = options.reductions;
  if (!reductions.empty() && reductions != "place" && reductions != "mpi")
    throw Error("--reductions " + reductions + ": expected place or mpi");
  if (&launcher != &mpiLauncher()) {
    if (reductions == "mpi")
      throw Error("--reductions mpi: these are MPI's own: give --backend mpi");
    if (!options.bindAddress.empty() || options.port)
      throw Error(std::string(options.port ? "--port" : "--bind-address") +
                  " is for ranks on several hosts: give --backend mpi");
    if (!options.mpi.empty())
      throw Error("--mpi says which MPI: give --backend mpi");
  }
  if (options.port < 0 || options.port > 65535)
    throw Error("--port " + std::to_string(options.port) +
                ": must be from 0 to 65535");
  if (!options.timeoutSeconds)
    return;
  if (&launcher == &threadsLauncher())
    throw Error("--timeout is for ranks that are processes: give -n or "
                "--backend processes");
  double seconds = *options.timeoutSeconds;
  if (!(seconds > 0 && seconds < 1e9)) {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", seconds);
    throw Error("--timeout " + std::string(text) +
                ": must be more than 0 seconds, and less than 10^9");
  }
}

/// The one that `begin` has begun.
static const BackendLauncher *begun = nullptr;

/// A process among others, each of which would run all ranks.
static void checkAlone(const BackendLauncher &launcher) {
  for (const char *variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char *count = std::getenv(variable);
        count && std::string(count) != "1" && &launcher != &mpiLauncher())
      throw Error(std::string("MPI has started ") + count +
                  " of these processes, and each would run all ranks: give "
                  "--backend mpi, and no -n after the program");
}

void dist::begin(const RunOptions &options, const Tell &tell) {
  checkBackend(options);
  checkAlone(findLauncher(options));
  begun = &findLauncher(options);
  begun->begin(options, tell);
}

std::chrono::milliseconds dist::timeoutOf(const RunOptions &options) {
  return std::chrono::milliseconds(
      static_cast<int64_t>(options.timeoutSeconds.value_or(60) * 1000));
}

bool dist::isRoot() { return !begun || begun->isRoot(); }

void dist::endWith(const std::string &error, const Tell &tell) {
  if (begun)
    begun->fail(error);
  else
    failTogether(error, tell);
}

std::string dist::targetOf(const std::string &backend) {
  return findLauncher(backend).target();
}

std::string dist::describeDevices(const Mesh &mesh) {
  if (mesh.axes.empty())
    return "no schedule was given (dist-run and dist-compile: --schedule "
           "FILE), so that the program has 1 device";
  int64_t count = mesh.size();
  return "the program's mesh has " + std::to_string(count) +
         (count == 1 ? " device" : " devices");
}

Topology dist::topologyOf(const Manifest &manifest) {
  Topology topology;
  topology.mesh = manifest.mesh;
  for (const std::vector<AxisRef> &refs : manifest.communicators)
    topology.comms.emplace_back(manifest.mesh, refs);
  for (const CollectiveDesc &site : manifest.collectives)
    topology.sites.push_back({site.scope, site.bytesSentPerRank});
  for (const CheckDesc &check : manifest.checks)
    topology.checks.push_back({check.message, check.hasValue});
  return topology;
}

/// The output that a result belongs to: one of its own, or that of the blocks
/// before it of the same tensor.
static RunResult::Output &findOutput(const TensorDesc &desc,
                                     const Manifest &manifest,
                                     std::vector<RunResult::Output> &outputs) {
  if (!desc.partOf.empty())
    for (RunResult::Output &output : outputs)
      if (output.name == desc.name && output.tensor.dtype == desc.dtype &&
          manifest.results[output.results[0]].partOf == desc.partOf)
        return output;
  outputs.push_back(
      {desc.name, Tensor::zeros(desc.dtype, desc.sourceShape()), {}, {}});
  return outputs.back();
}

static void collect(const Manifest &manifest, std::vector<RankResult> ranks,
                    bool keepParts, RunResult &result) {
  for (size_t i = 0; i < manifest.results.size(); ++i) {
    const TensorDesc &desc = manifest.results[i];
    RunResult::Output &output = findOutput(desc, manifest, result.outputs);
    output.results.push_back(i);
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      Tensor &part = ranks[rank].parts[i];
      if (isWriter(manifest.mesh, desc, rank))
        writeSlice(manifest.mesh, desc, rank, part.data, output.tensor);
      if (keepParts)
        output.parts.push_back(std::move(part));
      else
        part = Tensor();
    }
  }
  for (size_t i = 0; i < ranks.front().repetitions.size(); ++i) {
    int64_t start = INT64_MAX, end = 0;
    for (const RankResult &rank : ranks) {
      start = std::min(start, rank.repetitions[i].start);
      end = std::max(end, rank.repetitions[i].end);
    }
    result.seconds.push_back((end - start) * 1e-9);
  }
}

void dist::checkStart(const Manifest &manifest, const RunOptions &options) {
  checkBackend(options);
  const BackendLauncher &launcher = findLauncher(options);
  if (manifest.target != launcher.target())
    throw Error("the program is compiled for target " + manifest.target +
                ", but --backend " + launcher.name() + " runs those for " +
                launcher.target());
  if (options.processes && options.processes != manifest.mesh.size())
    throw Error("-n " + std::to_string(options.processes) + ": " +
                describeDevices(manifest.mesh) +
                ", and runs on as many processes");
  BackendLauncher::Most most = launcher.most();
  if (manifest.mesh.size() > most.ranks)
    throw Error("the mesh has " + std::to_string(manifest.mesh.size()) +
                " ranks; --backend " + launcher.name() + " runs at most " +
                std::to_string(most.ranks) + " " + most.where);
  if (options.repeat < 1)
    throw Error("--repeat " + std::to_string(options.repeat) +
                ": must be at least 1");
}

RunResult dist::launch(const Program &program, const Inputs &inputs,
                       const RunOptions &options) {
  const Manifest &manifest = program.manifest;
  checkStart(manifest, options);
  const BackendLauncher &launcher = findLauncher(options);
  Arguments arguments(program, inputs, options.weights);
  RanksResult ranks = launcher.run(program, arguments, options);
  RunResult result;
  result.isRoot = launcher.isRoot();
  // The step control has read the files it needs, which were checked before
  // the first step.
  if (options.stepControl)
    return result;
  arguments.checkUnchanged();
  if (!result.isRoot)
    return result;
  if (options.trace)
    result.trace = formatTrace(ranks.trace, manifest);
  collect(manifest, std::move(ranks.ranks), options.keepParts, result);
  return result;
}
