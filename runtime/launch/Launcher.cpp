//===- Launcher.cpp - Runs a compiled program on all its ranks ------------===//
//
// Chooses the backend, and makes one result of what its ranks did.
//
//===----------------------------------------------------------------------===//

#include "dist/Launcher.h"
#include "runtime/launch/MpiLauncher.h"
#include "runtime/launch/ProcessesLauncher.h"
#include "runtime/launch/ThreadsLauncher.h"
#include "runtime/launch/Trace.h"
#include "runtime/mpi/Starter.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace dist;

/// Those of this build: a new backend is one line here.
static const BackendLauncher *const launchers[] = {
    &threadsLauncher(), &processesLauncher(), &mpiLauncher(), &cudaLauncher()};

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
  if (options.processes && options.backend.empty())
    return processesLauncher();
  const BackendLauncher &found = findLauncher(options.backend);
  if (&found != &cudaLauncher())
    return found;
  // Among processes that MPI has started, each is a rank; not if these have
  // started torchrun.
  std::optional<StartedAs> as = findStartedBeside();
  auto differs = [](const char *name, int64_t number) {
    const char *value = std::getenv(name);
    return value && value != std::to_string(number);
  };
  bool isOfTorchrun =
      as && std::getenv("LOCAL_WORLD_SIZE") &&
      (differs("WORLD_SIZE", as->size) || differs("RANK", as->rank));
  return as && as->kind != Starter::Torchrun && !isOfTorchrun
             ? mpiCudaLauncher()
             : found;
}

static bool isOfMpi(const BackendLauncher &launcher) {
  return &launcher == &mpiLauncher() || &launcher == &mpiCudaLauncher();
}

static void checkBackend(const RunOptions &options) {
  const BackendLauncher &launcher = findLauncher(options);
  if (options.processes < 0)
    throw Error("-n " + std::to_string(options.processes) +
                ": must be at least 1");
  if (options.processes && isOfMpi(launcher)) {
    std::string backend = std::string("--backend ") + launcher.name();
    throw Error("-n with " + backend + ": mpirun starts the ranks: mpirun -n " +
                std::to_string(options.processes) + " dist-exec … " + backend +
                ", without -n at the end");
  }
  if (options.processes && &launcher == &threadsLauncher())
    throw Error("-n is --backend processes: leave out --backend " +
                options.backend);
  if (!options.inputs.empty() && options.inputs != "shared" &&
      options.inputs != "root")
    throw Error("--inputs " + options.inputs +
                ": expected shared or root; an input is --input NAME=VALUE");
  const std::string &reductions = options.reductions;
  if (!reductions.empty() && reductions != "place" && reductions != "mpi")
    throw Error("--reductions " + reductions + ": expected place or mpi");
  bool isOnGpu =
      &launcher == &cudaLauncher() || &launcher == &mpiCudaLauncher();
  if (!isOnGpu && !options.driver.empty())
    throw Error("--driver is for GPUs: give --backend cuda");
  if (!isOnGpu && !options.graph.empty())
    throw Error("--graph is for GPUs: give --backend cuda");
  if (!options.graph.empty() && options.graph != "off" &&
      options.graph != "compute")
    throw Error("--graph " + options.graph + ": expected off or compute");
  if (isOnGpu && (!options.streams.hasThreads() || options.link.enabled()))
    throw Error(std::string(options.link.enabled() ? "--link" : "--streams") +
                " is for ranks on CPUs: --backend cuda does not have it yet");
  if (reductions == "mpi" && &launcher != &mpiLauncher())
    throw Error("--reductions mpi: these are MPI's own: give --backend mpi");
  // Of one process, MPI has no say.
  bool isAlone = &launcher == &cudaLauncher() && findStartedAs();
  if (!isOfMpi(launcher) && !isAlone) {
    if (!options.bindAddress.empty() || options.port)
      throw Error(std::string(options.port ? "--port" : "--bind-address") +
                  " is for ranks on several hosts: give --backend mpi");
    if (!options.inputs.empty())
      throw Error("--inputs " + options.inputs +
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

bool dist::areRanksOfMpi(const RunOptions &options) {
  return isOfMpi(findLauncher(options));
}

/// The one that `begin` has begun.
static const BackendLauncher *begun = nullptr;

/// A process among others, each of which would run all ranks.
static void checkAlone(const BackendLauncher &launcher) {
  std::optional<StartedAs> as = findStartedBeside();
  if (!as || isOfMpi(launcher))
    return;
  std::string remedy = "give --backend mpi, and no -n after the program";
  if (&launcher == &cudaLauncher())
    remedy = "--backend cuda starts a process for each rank itself: start one "
             "process, without " +
             as->command;
  else if (as->kind == Starter::Slurm)
    remedy += "; or srun -n 1; in a shell that srun has started, env -u "
              "SLURM_STEP_NUM_TASKS";
  else if (as->kind == Starter::Torchrun)
    remedy = "start one process without " + as->command + ", or mpirun -n " +
             std::to_string(as->size) + " … --backend mpi";
  throw Error(as->command + " has started " + std::to_string(as->size) +
              " of these processes (" + as->variable +
              "), and each would run all ranks: " + remedy);
}

void dist::begin(const RunOptions &options, const Tell &tell) {
  checkBackend(options);
  checkAlone(findLauncher(options));
  begun = &findLauncher(options);
  begun->begin(options, tell);
}

std::chrono::milliseconds dist::timeoutOf(const RunOptions &options,
                                          double defaultSeconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(
      options.timeoutSeconds.value_or(defaultSeconds) * 1000));
}

InputFiles dist::inputFilesOf(const RunOptions &options) {
  if (isRoot())
    return InputFiles::Read;
  return options.inputs == "root" ? InputFiles::Leave : InputFiles::ReadToo;
}

bool dist::isRoot() { return !begun || begun->isRoot(); }

void dist::sendProgram(const std::string &folder, const std::string &text) {
  if (begun)
    begun->sendProgram(folder, text);
}

Program dist::receiveProgram(std::string &text) {
  return begun->receiveProgram(text);
}

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
  if (manifest.pipeline)
    topology.messageAxis = manifest.pipeline->axis;
  return topology;
}

/// The output that a result belongs to: one of its own, or that of the blocks
/// before it of the same tensor.
static Output &findOutput(const TensorDesc &desc, const Manifest &manifest,
                          std::vector<Output> &outputs) {
  if (!desc.partOf.empty())
    for (Output &output : outputs)
      if (output.name == desc.name && output.tensor.dtype == desc.dtype &&
          manifest.results[output.results[0]].partOf == desc.partOf)
        return output;
  // Several stages of a pipeline may hold one.
  if (desc.held)
    for (Output &output : outputs)
      if (output.name == desc.name)
        return output;
  outputs.push_back(
      {desc.name, {desc.dtype, desc.sourceShape(), nullptr, nullptr}, {}, {}});
  return outputs.back();
}

std::vector<Output> dist::describeOutputs(const Manifest &manifest) {
  std::vector<Output> outputs;
  for (size_t i = 0; i < manifest.results.size(); ++i)
    findOutput(manifest.results[i], manifest, outputs).results.push_back(i);
  return outputs;
}

/// Takes a result from the ranks.
static void take(const RanksMemory &memory, int64_t ranks,
                 const RunOptions &options, Output &output) {
  if (options.keepsParts && options.keepsParts(output.name))
    for (size_t number : output.results)
      for (int64_t rank = 0; rank < ranks; ++rank)
        output.parts.push_back(memory.keep(rank, number));
  Tensor &tensor = output.tensor;
  if (options.keepsWholes)
    tensor = Tensor::zeros(tensor.dtype, tensor.shape);
  if (options.sink)
    options.sink->begin(output);
  if (!options.keepsWholes && !options.sink)
    return;
  const int64_t bytes = dtypeBytes(tensor.dtype);
  std::vector<char> buffer;
  forEachWindow(tensor, [&](Window window) {
    int64_t count = window.end - window.begin;
    void *to = static_cast<char *>(tensor.data) + window.begin * bytes;
    if (!options.keepsWholes) {
      buffer.assign(count * bytes, 0);
      to = buffer.data();
    }
    for (size_t number : output.results)
      memory.copyResult(number, window, to);
    if (options.sink)
      options.sink->write(to, count);
  });
}

/// From the first rank's start of each repetition to the last one's end.
static std::vector<double>
secondsOf(const std::vector<std::vector<Interval>> &ranks) {
  std::vector<double> seconds;
  for (size_t i = 0; i < ranks.front().size(); ++i) {
    int64_t start = INT64_MAX, end = 0;
    for (const std::vector<Interval> &rank : ranks) {
      start = std::min(start, rank[i].start);
      end = std::max(end, rank[i].end);
    }
    seconds.push_back((end - start) * 1e-9);
  }
  return seconds;
}

void dist::checkRepeat(const RunOptions &options) {
  if (options.repeat < 1)
    throw Error("--repeat " + std::to_string(options.repeat) +
                ": must be at least 1");
}

void dist::checkStart(const Manifest &manifest, const RunOptions &options) {
  checkBackend(options);
  const BackendLauncher &launcher = findLauncher(options);
  if (manifest.target != launcher.target())
    throw Error("the program is compiled for target " + manifest.target +
                (manifest.target == "cuda"
                     ? ": give --backend cuda"
                     : ": --backend " + std::string(launcher.name()) +
                           " runs what dist-compile --target " +
                           launcher.target() + " makes"));
  if (options.processes && options.processes != manifest.mesh.size())
    throw Error("-n " + std::to_string(options.processes) + ": " +
                describeDevices(manifest.mesh) +
                ", and runs on as many processes");
  BackendLauncher::Most most = launcher.most();
  if (manifest.mesh.size() > most.ranks)
    throw Error("the mesh has " + std::to_string(manifest.mesh.size()) +
                " ranks; --backend " + launcher.name() + " runs at most " +
                std::to_string(most.ranks) + " " + most.where);
  checkRepeat(options);
}

static bool canOpen(const std::string &weights) {
  try {
    Weights opened(weights);
    return true;
  } catch (const Error &) {
    return false;
  }
}

static Arguments readArguments(const Program &program, const Inputs &inputs,
                               const RunOptions &options) {
  try {
    return Arguments(program, inputs, options.weights);
  } catch (const Error &error) {
    // In another process than the root's it may be the host that lacks them.
    std::string weights = findWeights(program, options.weights);
    if (isRoot() || weights.empty() || canOpen(weights))
      throw;
    throw Error(error.what() +
                std::string("; each rank reads its slices of the weights: they "
                            "must be on all hosts, under the same path"));
  }
}

RunResult dist::launch(const Program &program, const Inputs &inputs,
                       const RunOptions &options) {
  const Manifest &manifest = program.manifest;
  checkStart(manifest, options);
  const BackendLauncher &launcher = findLauncher(options);
  Arguments arguments = readArguments(program, inputs, options);
  RunResult result;
  RanksResult ranks =
      launcher.run(program, arguments, options, [&](const RanksMemory &memory) {
        // Before a pipe has any of it.
        if (!options.stepControl)
          arguments.checkUnchanged();
        result.outputs = describeOutputs(manifest);
        for (Output &output : result.outputs)
          take(memory, manifest.mesh.size(), options, output);
      });
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
  if (options.profile)
    result.profile = makeProfile(ranks.trace, manifest);
  result.seconds = secondsOf(ranks.times);
  return result;
}
