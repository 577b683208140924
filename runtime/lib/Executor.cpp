//===- Executor.cpp - One rank of a compiled program ----------------------===//

#include "dist/Executor.h"
#include "Rank.h"
#include "dist/Slices.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

using namespace dist;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static std::string weightsPath(const Program &program,
                               const std::string &given) {
  if (!given.empty())
    return given;
  const std::string &path = program.manifest.weights;
  return path.empty() ? path
                      : (std::filesystem::path(program.folder) / path).string();
}

static void checkFits(const std::string &from, const TensorDesc &desc,
                      const Tensor &tensor) {
  if (tensor.shape != desc.sourceShape())
    throw Error(from + " has shape " + toString(tensor.shape) +
                ", but the program wants " + toString(desc.sourceShape()));
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

Arguments::Arguments(const Program &program, const Inputs &inputs,
                     const std::string &weights)
    : program(program) {
  std::string path = weightsPath(program, weights);
  if (!path.empty() && weights.empty() && !std::filesystem::exists(path))
    throw Error(path + ": no such file; the parameters lie beside the program, "
                       "not in it: put them there, or name their file "
                       "(--weights FILE.safetensors)");
  if (!path.empty())
    weightsFile.emplace(path);
  std::string missingInputs, missingWeights;
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
        missingWeights += "\n  " + desc.name + " " + dtypeName(desc.dtype) +
                          toString(desc.sourceShape());
      else
        checkFits(
            "parameter '" + desc.name + "'" +
                (given == inputs.end() ? " in " + weightsFile->path() : ""),
            desc, *source);
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
    throw Error(weightsFile ? weightsFile->path() +
                                  ": parameters not in this file "
                                  "(--weights names another):" +
                                  missingWeights
                            : "no weights file (--weights FILE.safetensors) "
                              "for the parameters:" +
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
}

void Arguments::checkUnchanged() const {
  if (weightsFile)
    weightsFile->checkUnchanged();
  if (program.constants)
    program.constants->checkUnchanged();
}

//===----------------------------------------------------------------------===//
// Executor
//===----------------------------------------------------------------------===//

/// Gives the rank its arguments, result buffers and scratch. Throws Error.
void Executor::prepare(dist_rank &rank, bool ownsArguments) {
  const Manifest &manifest = program.manifest;
  Backend &backend = rank.backend;
  bool isHost = backend.sharesHostMemory();
  auto allocate = [&](int64_t bytes) {
    owners.push_back(backend.allocate(bytes));
    return owners.back().get();
  };
  auto upload = [&](const void *from, int64_t bytes) {
    void *to = allocate(bytes);
    if (!backend.upload(to, from, bytes))
      throw Error("copying an argument to the memory of the backend failed");
    return to;
  };
  std::shared_ptr<void> joined;
  for (size_t i = 0; i < manifest.arguments.size(); ++i) {
    const TensorDesc &desc = manifest.arguments[i];
    const Tensor &source = arguments[i];
    if (!desc.joinedShape.empty()) {
      // The pieces follow each other; the last one ends the argument.
      if (!desc.continuesJoined())
        joined = dist::allocate(desc.heldBytes());
      readSlice(manifest.mesh, desc, rank.index, source, joined.get(), padding);
      if (i + 1 < manifest.arguments.size() &&
          manifest.arguments[i + 1].continuesJoined())
        continue;
      owners.push_back(joined);
      args.push_back(isHost ? joined.get()
                            : upload(joined.get(), desc.heldBytes()));
      continue;
    }
    // A slice that is one piece of the mapped file is used where it lies.
    const char *slice =
        source.dtype == desc.dtype && !ownsArguments
            ? contiguousSlice(manifest.mesh, desc, rank.index, source)
            : nullptr;
    if (slice && !isHost) {
      args.push_back(upload(slice, desc.localBytes()));
    } else if (slice &&
               reinterpret_cast<uintptr_t>(slice) % dtypeBytes(desc.dtype) ==
                   0) {
      args.push_back(const_cast<char *>(slice));
    } else if (isHost) {
      args.push_back(allocate(desc.localBytes()));
      readSlice(manifest.mesh, desc, rank.index, source, args.back(), padding);
    } else {
      std::shared_ptr<void> part = dist::allocate(desc.localBytes());
      readSlice(manifest.mesh, desc, rank.index, source, part.get(), padding);
      args.push_back(upload(part.get(), desc.localBytes()));
    }
  }
  for (const TensorDesc &desc : manifest.results) {
    results.push_back(allocate(desc.localBytes()));
    std::shared_ptr<void> part =
        isHost ? owners.back() : dist::allocate(desc.localBytes());
    result.parts.push_back({desc.dtype, desc.localShape, part.get(), part});
  }
  arena = allocate(manifest.arenaBytes);
  status = static_cast<int64_t *>(
      allocate((1 + manifest.checks.size()) * sizeof(int64_t)));
}

/// Brings the results to where the host reads them.
bool Executor::takeResults(dist_rank &rank) {
  if (rank.backend.sharesHostMemory())
    return true;
  for (size_t i = 0; i < results.size(); ++i)
    if (!rank.backend.download(result.parts[i].data, results[i],
                               result.parts[i].bytes()))
      return false;
  return true;
}

static bool liesAlike(const TensorDesc &a, const TensorDesc &b) {
  auto sameAxes = [](const AxisRef &a, const AxisRef &b) {
    return a.axis == b.axis && a.pre == b.pre && a.size == b.size;
  };
  auto sameSub = [&](const SubDim &a, const SubDim &b) {
    return a.size == b.size && a.axes.size() == b.axes.size() &&
           std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), sameAxes);
  };
  return std::equal(
      a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
      [&](const std::vector<SubDim> &a, const std::vector<SubDim> &b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), sameSub);
      });
}

static int64_t nowNanos() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

std::string dist::nameOf(const TensorDesc &desc) {
  std::string text = desc.name;
  // As many dimensions as tell where the part is.
  size_t count = desc.partOf.size();
  while (count > 0 && desc.globalShape[count - 1] == desc.partOf[count - 1])
    --count;
  for (size_t d = 0; d < count; ++d)
    text += (d ? "," : "[") + std::to_string(desc.partAt[d]) + ":" +
            std::to_string(desc.partAt[d] + desc.globalShape[d]);
  return count ? text + "]" : text;
}

std::vector<std::pair<size_t, size_t>>
dist::findCarried(const Manifest &manifest) {
  std::map<std::string, size_t> arguments;
  for (size_t i = 0; i < manifest.arguments.size(); ++i)
    arguments[nameOf(manifest.arguments[i])] = i;
  std::vector<std::pair<size_t, size_t>> carried;
  for (size_t i = 0; i < manifest.results.size(); ++i) {
    const TensorDesc &result = manifest.results[i];
    auto found = arguments.find(result.name);
    if (found == arguments.end())
      continue;
    const TensorDesc &argument = manifest.arguments[found->second];
    if (argument.dtype != result.dtype ||
        argument.globalShape != result.globalShape ||
        argument.localShape != result.localShape ||
        !liesAlike(argument, result))
      throw Error("'" + result.name +
                  "' comes out of a step in another type or placement than it "
                  "goes in by; the schedule can say how the parameter lies");
    carried.emplace_back(found->second, i);
  }
  return carried;
}

int32_t Executor::runSteps(dist_rank &rank, const std::function<void()> &next,
                           const bool &goesOn, const Inputs &inputs) {
  const Manifest &manifest = program.manifest;
  Backend &backend = rank.backend;
  prepare(rank, /*ownsArguments=*/true);
  std::vector<std::pair<size_t, size_t>> carried = findCarried(manifest);
  bool isHost = backend.sharesHostMemory();
  for (;;) {
    if (!backend.meet())
      return 1;
    if (rank.index == 0)
      next();
    if (!backend.meet())
      return 1;
    if (!goesOn)
      break;
    for (size_t i = 0; i < manifest.arguments.size(); ++i) {
      const TensorDesc &desc = manifest.arguments[i];
      auto given = inputs.find(desc.name);
      if (desc.kind != TensorDesc::Input || given == inputs.end())
        continue;
      std::shared_ptr<void> part =
          isHost ? nullptr : dist::allocate(desc.localBytes());
      void *to = isHost ? args[i] : part.get();
      readSlice(manifest.mesh, desc, rank.index, given->second, to, padding);
      if (!isHost && !backend.upload(args[i], to, desc.localBytes()))
        return 1;
    }
    if (int32_t failed = rank.callMain(program.entry, args.data(),
                                       results.data(), arena, status))
      return failed;
    for (auto [argument, made] : carried)
      std::swap(args[argument], results[made]);
  }
  return 0;
}

int32_t Executor::run(dist_rank &rank, int64_t repeat, bool trace) {
  prepare(rank);
  for (int64_t i = 0; i < repeat; ++i) {
    rank.tracing = trace && i + 1 == repeat;
    if (!rank.backend.meet())
      return 1;
    int64_t start = nowNanos();
    int32_t failed = rank.callMain(program.entry, args.data(), results.data(),
                                   arena, status);
    if (failed)
      return failed;
    result.repetitions.push_back({start, nowNanos()});
  }
  return takeResults(rank) ? 0 : 1;
}
