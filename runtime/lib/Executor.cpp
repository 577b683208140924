//===- Executor.cpp - Runs a compiled program on many ranks ---------------===//

#include "dist/Executor.h"
#include "ThreadsBackend.h"
#include "Trace.h"
#include "dist/Slices.h"

#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <filesystem>
#include <optional>

using namespace dist;

Program dist::loadBundle(const std::string &folder) {
  namespace fs = std::filesystem;
  Program program;
  program.folder = folder;
  program.manifest =
      Manifest::read((fs::path(folder) / "manifest.json").string());
  if (program.manifest.target != "cpu")
    throw Error(folder + ": compiled for target " + program.manifest.target +
                ", which this program does not run");
  std::string path =
      fs::absolute(fs::path(folder) / program.manifest.program).string();
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw Error("cannot load the program: " + std::string(dlerror()));
  program.code = {handle, [](void *handle) { dlclose(handle); }};
  program.entry = reinterpret_cast<dist_main_fn>(dlsym(handle, "dist_main"));
  if (!program.entry)
    throw Error(path + ": exports no dist_main");
  if (!program.manifest.constants.empty())
    program.constants = std::make_shared<Safetensors>(
        (fs::path(folder) / program.manifest.constants).string());
  return program;
}

namespace {

/// Where the data of each argument comes from: a tensor of the weights file, of
/// the bundle's constants, or an input.
using Sources = std::vector<const Tensor *>;

/// What a rank works on, until all ranks have ended.
struct RankMemory {
  std::vector<std::shared_ptr<void>> owners;
  std::vector<void *> args, results;
  std::vector<Tensor> parts; // what `results` points to
  void *arena = nullptr;
  std::vector<int64_t> starts, ends; // of each repetition, nanoseconds

  void *allocate(int64_t bytes) {
    owners.push_back(dist::allocate(bytes));
    return owners.back().get();
  }
};

} // namespace

static std::string weightsPath(const Program &program,
                               const RunOptions &options) {
  if (!options.weights.empty())
    return options.weights;
  const std::string &path = program.manifest.weights;
  return path.empty() ? path
                      : (std::filesystem::path(program.folder) / path).string();
}

static void checkFits(const std::string &from, const TensorDesc &desc,
                      const Tensor &tensor) {
  if (tensor.shape != desc.globalShape)
    throw Error(from + " has shape " + toString(tensor.shape) +
                ", but the program wants " + toString(desc.globalShape));
  if (!convertsExactly(tensor.dtype, desc.dtype))
    throw Error(from + " is " + dtypeName(tensor.dtype) +
                ", which does not convert to the program's " +
                dtypeName(desc.dtype) + " without loss; convert it before");
}

/// A constant's data, which nobody but the bundle itself has.
static const Tensor *findConstant(const Program &program,
                                  const TensorDesc &desc) {
  const Tensor *source =
      program.constants ? program.constants->find(desc.name) : nullptr;
  if (!source)
    throw Error(
        (program.constants ? program.constants->path() : program.folder) +
        ": the bundle lacks its constant '" + desc.name +
        "'; compile it again");
  checkFits("constant '" + desc.name + "' in " + program.constants->path(),
            desc, *source);
  return source;
}

static Sources findSources(const Program &program, const Inputs &inputs,
                           const Safetensors *weights) {
  Sources sources;
  std::string missingInputs, missingWeights;
  std::map<std::string, bool> used;
  for (const TensorDesc &desc : program.manifest.arguments) {
    const Tensor *source = nullptr;
    if (desc.kind == TensorDesc::Constant) {
      source = findConstant(program, desc);
    } else if (desc.kind == TensorDesc::Parameter) {
      source = weights ? weights->find(desc.name) : nullptr;
      if (!source)
        missingWeights += "\n  " + desc.name + " " + dtypeName(desc.dtype) +
                          toString(desc.globalShape);
      else
        checkFits("parameter '" + desc.name + "' in " + weights->path(), desc,
                  *source);
    } else {
      auto it = inputs.find(desc.name);
      used[desc.name] = true;
      if (it == inputs.end()) {
        missingInputs += "\n  " + desc.name + " " + dtypeName(desc.dtype) +
                         toString(desc.globalShape);
      } else {
        source = &it->second;
        checkFits("input '" + desc.name + "'", desc, *source);
      }
    }
    sources.push_back(source);
  }
  if (!missingWeights.empty())
    throw Error(weights ? weights->path() +
                              ": parameters not in this file "
                              "(--weights names another):" +
                              missingWeights
                        : "no weights file (--weights FILE.safetensors) for "
                          "the parameters:" +
                              missingWeights);
  if (!missingInputs.empty())
    throw Error("inputs not given (--input NAME=FILE.npy):" + missingInputs);
  for (const auto &[name, tensor] : inputs)
    if (!used.count(name)) {
      std::string known;
      for (const auto &[one, unused] : used)
        known += " " + one;
      throw Error("the program has no input '" + name +
                  "'; its inputs are:" + (known.empty() ? " none" : known));
    }
  return sources;
}

/// Gives a rank its arguments, result buffers and scratch.
static void prepare(const Manifest &manifest, const Sources &sources,
                    int64_t rank, RankMemory &memory) {
  for (size_t i = 0; i < sources.size(); ++i) {
    const TensorDesc &desc = manifest.arguments[i];
    const Tensor &source = *sources[i];
    // A slice that is one piece of the mapped file is used where it lies.
    const char *slice = source.dtype == desc.dtype
                            ? contiguousSlice(manifest.mesh, desc, rank, source)
                            : nullptr;
    if (slice &&
        reinterpret_cast<uintptr_t>(slice) % dtypeBytes(desc.dtype) == 0) {
      memory.args.push_back(const_cast<char *>(slice));
      continue;
    }
    void *local = memory.allocate(desc.localBytes());
    readSlice(manifest.mesh, desc, rank, source, local);
    memory.args.push_back(local);
  }
  for (const TensorDesc &desc : manifest.results) {
    memory.parts.push_back(Tensor::zeros(desc.dtype, desc.localShape));
    memory.results.push_back(memory.parts.back().data);
  }
  memory.arena = memory.allocate(manifest.arenaBytes);
}

static Topology topologyOf(const Manifest &manifest) {
  Topology topology{manifest.mesh, {}, {}};
  for (const std::vector<AxisRef> &refs : manifest.communicators)
    topology.comms.emplace_back(manifest.mesh, refs);
  for (const CollectiveDesc &site : manifest.collectives)
    topology.sites.push_back(site.scope);
  return topology;
}

static int64_t nowNanos() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

RunResult dist::execute(const Program &program, const Inputs &inputs,
                        const RunOptions &options) {
  const Manifest &manifest = program.manifest;
  std::optional<Safetensors> weights;
  std::string path = weightsPath(program, options);
  if (!path.empty())
    weights.emplace(path);
  Sources sources = findSources(program, inputs, weights ? &*weights : nullptr);
  if (options.repeat < 1)
    throw Error("repeat " + std::to_string(options.repeat) +
                ": must be at least 1");

  RunResult result;
  for (const TensorDesc &desc : manifest.results)
    result.outputs.push_back(
        {desc.name, Tensor::zeros(desc.dtype, desc.globalShape), {}});

  std::vector<RankMemory> memories(manifest.mesh.size());
  ThreadsRun run(topologyOf(manifest), options.link);
  bool ok = run.run([&](dist_rank &rank) -> int32_t {
    RankMemory &memory = memories[rank.index];
    prepare(manifest, sources, rank.index, memory);
    for (int64_t i = 0; i < options.repeat; ++i) {
      rank.tracing = !options.trace.empty() && i + 1 == options.repeat;
      if (!run.meet(rank))
        return 0;
      memory.starts.push_back(nowNanos());
      int32_t status = rank.callMain(program.entry, memory.args.data(),
                                     memory.results.data(), memory.arena);
      for (int32_t stream = 1; stream < numStreams; ++stream)
        rank.streamSync(stream);
      if (status != 0)
        return status;
      memory.ends.push_back(nowNanos());
    }
    for (size_t i = 0; i < manifest.results.size(); ++i)
      if (isWriter(manifest.mesh, manifest.results[i], rank.index))
        writeSlice(manifest.mesh, manifest.results[i], rank.index,
                   memory.results[i], result.outputs[i].tensor);
    return 0;
  });
  if (!ok)
    throw Error(run.message());
  if (options.keepParts)
    for (const RankMemory &memory : memories)
      for (size_t i = 0; i < result.outputs.size(); ++i)
        result.outputs[i].parts.push_back(memory.parts[i]);

  for (int64_t i = 0; i < options.repeat; ++i) {
    int64_t start = INT64_MAX, end = 0;
    for (const RankMemory &memory : memories) {
      start = std::min(start, memory.starts[i]);
      end = std::max(end, memory.ends[i]);
    }
    result.seconds.push_back((end - start) * 1e-9);
  }
  if (!options.trace.empty())
    writeTrace(options.trace, run.takeTrace(), manifest);
  return result;
}
