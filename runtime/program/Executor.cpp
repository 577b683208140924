//===- Executor.cpp - One rank of a compiled program ----------------------===//

#include "dist/Executor.h"
#include "dist/Slices.h"
#include "runtime/host/MappedFile.h"
#include "runtime/program/Missing.h"
#include "runtime/program/TaskRunner.h"
#include "runtime/rank/Rank.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>

using namespace dist;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

std::string dist::findWeights(const Program &program,
                              const std::string &given) {
  if (!given.empty())
    return given;
  const std::string &path = program.manifest.weights;
  return path.empty() ? path
                      : (std::filesystem::path(program.folder) / path).string();
}

std::string dist::findMisfit(const std::string &from, const TensorDesc &desc,
                             const Tensor &tensor, bool readsValues) {
  if (tensor.shape != desc.sourceShape())
    return from + " has shape " + toString(tensor.shape) +
           ", but the program wants " + toString(desc.sourceShape());
  if (!readsValues && isFloat(tensor.dtype) && isFloat(desc.dtype))
    return "";
  if (std::optional<std::string> why = findInexact(tensor, desc.dtype))
    return from + " is " + dtypeName(tensor.dtype) +
           ", which does not convert to the program's " +
           dtypeName(desc.dtype) + " without loss" + *why +
           "; convert it before";
  return "";
}

void dist::checkFits(const std::string &from, const TensorDesc &desc,
                     const Tensor &tensor) {
  std::string why = findMisfit(from, desc, tensor, /*readsValues=*/true);
  if (!why.empty())
    throw Error(why);
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

Arguments::Arguments(const Program &program, const Inputs &inputs,
                     const std::string &weights)
    : program(program) {
  std::string path = findWeights(program, weights);
  if (!path.empty() && weights.empty() && !std::filesystem::exists(path))
    throw Error(path + ": no such file; the parameters lie beside the program, "
                       "not in it: put them there, or name their file "
                       "(--weights FILE.safetensors)");
  if (!path.empty())
    weightsFile.emplace(path);
  Missing missingInputs, missingWeights;
  std::map<std::string, bool> used;
  for (const TensorDesc &desc : program.manifest.arguments) {
    const Tensor *source = nullptr;
    if (desc.kind == TensorDesc::Constant) {
      source = findConstant(program, desc);
    } else if (desc.kind == TensorDesc::Parameter) {
      auto given = inputs.find(desc.name);
      source = given != inputs.end() ? &given->second
               : weightsFile         ? weightsFile->find(desc.name)
                                     : nullptr;
      if (given != inputs.end())
        used[desc.name] = true;
      if (!source)
        missingWeights.add(desc, desc.sourceShape());
      if (source)
        checkFits(
            "parameter '" + desc.name + "'" +
                (given == inputs.end() ? " in " + weightsFile->path() : ""),
            desc, *source);
    } else {
      auto it = inputs.find(desc.name);
      used[desc.name] = true;
      if (it == inputs.end()) {
        missingInputs.add(desc, desc.globalShape);
      } else {
        source = &it->second;
        checkFits("input '" + desc.name + "'", desc, *source);
      }
    }
    sources.push_back(source);
  }
  // What an optimizer keeps is called after its parameter.
  auto isState = [&](const std::string &name) {
    std::string owner = name.substr(0, name.find_last_of('.'));
    return std::any_of(program.manifest.arguments.begin(),
                       program.manifest.arguments.end(),
                       [&](const TensorDesc &desc) {
                         return desc.kind == TensorDesc::Parameter &&
                                desc.name == owner && owner != name;
                       });
  };
  const std::set<std::string> &missing = missingWeights.names;
  if (weightsFile && !missing.empty() &&
      std::all_of(missing.begin(), missing.end(), isState))
    throw Error(weightsFile->path() +
                ": the states of the optimizer are not in this file. To train "
                "from these parameters, give the model to dist-run --train, "
                "which starts them; to run this step, name the folder of a "
                "checkpoint (--weights run/step-8), which has both:" +
                missingWeights.text());
  if (!missing.empty())
    throw Error(weightsFile ? weightsFile->path() +
                                  ": parameters not in this file "
                                  "(--weights names another):" +
                                  missingWeights.text()
                            : "no weights file (--weights FILE.safetensors) "
                              "for the parameters:" +
                                  missingWeights.text());
  if (!missingInputs.names.empty())
    throw Error("inputs not given (--input NAME=FILE.npy):" +
                missingInputs.text());
  for (const auto &[name, tensor] : inputs)
    if (!used.count(name)) {
      std::string known;
      for (const auto &[one, unused] : used)
        known += " " + one;
      throw Error("the program has no input '" + name +
                  "'; its inputs are:" + (known.empty() ? " none" : known));
    }
}

void Arguments::checkUnchanged() const {
  std::set<const MappedFile *> checked;
  for (const Tensor *source : sources)
    if (source->file && checked.insert(source->file.get()).second)
      source->file->checkUnchanged();
}

//===----------------------------------------------------------------------===//
// Executor
//===----------------------------------------------------------------------===//

/// Which arguments results are put into.
static std::vector<bool> findUpdated(const Manifest &manifest) {
  std::vector<bool> isUpdated(manifest.arguments.size());
  for (const TensorDesc &result : manifest.results)
    if (result.updates)
      isUpdated[*result.updates] = true;
  return isUpdated;
}

std::shared_ptr<void> Executor::allocate(dist_rank &rank, int64_t bytes) {
  owners.push_back(rank.backend.allocate(bytes));
  return owners.back();
}

/// Copies data of the host to new memory of the backend.
std::shared_ptr<void> Executor::upload(dist_rank &rank, const void *from,
                                       int64_t bytes) {
  std::shared_ptr<void> to = allocate(rank, bytes);
  if (!rank.backend.upload(to.get(), from, bytes))
    throw Error("copying an argument to the memory of the backend failed");
  return to;
}

/// Puts the rank's part of `source` into argument `index`, whose memory is its
/// own.
bool Executor::fill(dist_rank &rank, size_t index, const Tensor &source) {
  const TensorDesc &desc = program.manifest.arguments[index];
  bool isHost = rank.backend.sharesHostMemory();
  std::shared_ptr<void> part =
      isHost ? nullptr : dist::allocate(desc.localBytes());
  void *place = places[index].get(), *to = isHost ? place : part.get();
  readSlice(program.manifest.mesh, desc, rank.index, source, to, padding);
  return isHost || rank.backend.upload(place, to, desc.localBytes());
}

/// Likewise of what the run begins with.
bool Executor::fill(dist_rank &rank, size_t index) {
  auto part = sent.find(index);
  if (part == sent.end())
    return fill(rank, index, arguments[index]);
  void *place = places[index].get();
  int64_t bytes = part->second.bytes();
  if (!rank.backend.sharesHostMemory())
    return rank.backend.upload(place, part->second.data, bytes);
  std::memcpy(place, part->second.data, bytes);
  return true;
}

/// Finds memory for an argument and copies it there. A slice that is contiguous
/// in the mapped file is used in place, unless the rank wants memory of its
/// own.
void Executor::placeArgument(dist_rank &rank, size_t index, bool owns) {
  const TensorDesc &desc = program.manifest.arguments[index];
  const Tensor &source = arguments[index];
  const char *slice = nullptr;
  if (auto part = sent.find(index); !owns && part != sent.end())
    slice = static_cast<const char *>(part->second.data);
  else if (!owns && source.dtype == desc.dtype)
    slice = contiguousSlice(program.manifest.mesh, desc, rank.index, source);
  if (slice && !rank.backend.sharesHostMemory()) {
    places[index] = upload(rank, slice, desc.localBytes());
  } else if (slice &&
             reinterpret_cast<uintptr_t>(slice) % dtypeBytes(desc.dtype) == 0) {
    places[index] = {std::shared_ptr<void>(), const_cast<char *>(slice)};
    if (source.file)
      rank.backend.lend(slice, desc.localBytes(), /*isMapped=*/true);
  } else {
    places[index] = allocate(rank, desc.localBytes());
    if (!fill(rank, index))
      throw Error("copying an argument to the memory of the backend failed");
    // Tasks are programs of their own: what one alone reads, another may read.
    if (!owns && desc.kind != TensorDesc::Input && !program.manifest.pipeline)
      rank.backend.lend(places[index].get(), desc.localBytes(),
                        /*isMapped=*/false);
  }
}

/// Gives the rank its arguments. Throws Error.
void Executor::prepareArguments(dist_rank &rank, bool ownsArguments) {
  const Manifest &manifest = program.manifest;
  std::vector<bool> isUpdated = findUpdated(manifest);
  places.resize(manifest.arguments.size());
  std::shared_ptr<void> joined;
  bool isHost = rank.backend.sharesHostMemory();
  for (size_t i = 0; i < manifest.arguments.size(); ++i) {
    const TensorDesc &desc = manifest.arguments[i];
    if (!isHeldBy(manifest.mesh, desc, rank.index)) {
      args.push_back(nullptr);
      continue;
    }
    if (desc.joinedShape.empty()) {
      // What is written to is nobody else's: neither a file's nor a rank's.
      placeArgument(rank, i, ownsArguments || isUpdated[i]);
      args.push_back(places[i].get());
      continue;
    }
    // The pieces follow each other; the last one ends the argument.
    if (!desc.continuesJoined())
      joined = isHost ? rank.backend.allocate(desc.rankBytes())
                      : dist::allocate(desc.rankBytes());
    readSlice(manifest.mesh, desc, rank.index, arguments[i], joined.get(),
              padding);
    if (i + 1 < manifest.arguments.size() &&
        manifest.arguments[i + 1].continuesJoined())
      continue;
    owners.push_back(joined);
    if (!ownsArguments)
      rank.backend.lend(joined.get(), desc.rankBytes(), /*isMapped=*/false);
    args.push_back(isHost ? joined.get()
                          : upload(rank, joined.get(), desc.rankBytes()).get());
  }
}

/// Gives the rank its arguments, result buffers and scratch. Throws Error.
void Executor::prepare(dist_rank &rank, bool isStepped) {
  const Manifest &manifest = program.manifest;
  bool isHost = rank.backend.sharesHostMemory();
  prepareArguments(rank, /*ownsArguments=*/isStepped);
  for (size_t i = 0; isStepped && !isHost && i < places.size(); ++i)
    copies.push_back(places[i] ? rank.backend.allocateForPeers(
                                     manifest.arguments[i].localBytes())
                               : nullptr);
  for (const TensorDesc &desc : manifest.results) {
    if (!isHeldBy(manifest.mesh, desc, rank.index)) {
      results.push_back(nullptr);
      parts.emplace_back();
      continue;
    }
    // A new value lies where the old one did.
    std::shared_ptr<void> place = desc.updates
                                      ? places[*desc.updates]
                                      : allocate(rank, desc.localBytes());
    results.push_back(place.get());
    std::shared_ptr<void> part =
        isHost ? place
        : isStepped && desc.updates
            ? copies[*desc.updates]
            : rank.backend.allocateForPeers(desc.localBytes());
    parts.push_back({desc.dtype, desc.localShape, part.get(), part});
  }
  if (!manifest.pipeline)
    arena = allocate(rank, manifest.arenaBytes).get();
  status = static_cast<int64_t *>(
      allocate(rank, (1 + manifest.checks.size()) * sizeof(int64_t)).get());
  if (manifest.pipeline)
    tasks = std::make_shared<TaskRunner>(program, rank, args, results);
}

/// A step of the program.
int32_t Executor::call(dist_rank &rank) {
  return tasks ? tasks->run(status)
               : rank.callMain(program.entry, args.data(), results.data(),
                               arena, status);
}

/// Brings arguments to where the host reads them.
bool Executor::takeArguments(dist_rank &rank) {
  for (size_t i = 0; i < copies.size(); ++i)
    if (copies[i] &&
        !rank.backend.download(copies[i].get(), places[i].get(),
                               program.manifest.arguments[i].localBytes()))
      return false;
  return true;
}

/// Likewise results; of a step those that update no argument.
bool Executor::takeResults(dist_rank &rank, bool isStepped) {
  if (rank.backend.sharesHostMemory())
    return true;
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i] && !(isStepped && program.manifest.results[i].updates) &&
        !rank.backend.download(parts[i].data, results[i], parts[i].bytes()))
      return false;
  return true;
}

static int64_t nowNanos() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

namespace {
/// Values of others, in memory of theirs, are given up on the rank's thread.
/// After a failure they never are, nor memory that others may be at.
struct EndTasks {
  std::shared_ptr<TaskRunner> &tasks;
  Backend &backend;
  ~EndTasks() {
    if (tasks && backend.failed())
      new std::shared_ptr<TaskRunner>(std::move(tasks));
    tasks.reset();
  }
};
} // namespace

int32_t Executor::runSteps(dist_rank &rank, StepSource &steps,
                           const std::function<void()> &ready) {
  EndTasks atEnd{tasks, rank.backend};
  const Manifest &manifest = program.manifest;
  Backend &backend = rank.backend;
  prepare(rank, /*isStepped=*/true);
  ready();
  for (;;) {
    if (steps.readsArguments() && !takeArguments(rank))
      return 1;
    if (!backend.meet())
      return 1;
    if (rank.index == 0)
      steps.next();
    if (!backend.meet())
      return 1;
    const Inputs *inputs = steps.inputs();
    if (!inputs)
      break;
    for (size_t i = 0; i < manifest.arguments.size(); ++i) {
      const TensorDesc &desc = manifest.arguments[i];
      auto given = inputs->find(desc.name);
      if (desc.kind != TensorDesc::Input || given == inputs->end() ||
          !places[i])
        continue;
      if (!fill(rank, i, given->second))
        return 1;
    }
    if (int32_t failed = call(rank))
      return failed;
    if (!takeResults(rank, /*isStepped=*/true))
      return 1;
  }
  return 0;
}

int32_t Executor::run(dist_rank &rank, int64_t repeat, bool trace) {
  EndTasks atEnd{tasks, rank.backend};
  prepare(rank);
  std::vector<bool> isUpdated = findUpdated(program.manifest);
  for (int64_t i = 0; i < repeat; ++i) {
    rank.tracing = trace && i + 1 == repeat;
    // Each repetition begins with the same arguments.
    for (size_t k = 0; i > 0 && k < isUpdated.size(); ++k)
      if (isUpdated[k] && places[k] && !fill(rank, k))
        return 1;
    if (!rank.backend.meet())
      return 1;
    int64_t start = nowNanos();
    int32_t failed = call(rank);
    if (failed)
      return failed;
    repetitions.push_back({start, nowNanos()});
  }
  return takeResults(rank, /*isStepped=*/false) ? 0 : 1;
}
