//===- Launcher.cpp - Runs a compiled program on all its ranks ------------===//
//
// Chooses the backend, and makes one result of what its ranks did.
//
//===----------------------------------------------------------------------===//

#include "dist/Launcher.h"
#include "ThreadsLauncher.h"
#include "dist/Slices.h"

#include <algorithm>

using namespace dist;

namespace {

struct Backend {
  const char *name;
  std::vector<RankResult> (*launch)(const Program &, const Arguments &,
                                    const RunOptions &);
};

} // namespace

static constexpr Backend backends[] = {{"threads", launchThreads}};

static const Backend &findBackend(const std::string &name) {
  std::string known;
  for (const Backend &backend : backends) {
    if (name == backend.name)
      return backend;
    known += std::string(known.empty() ? "" : ", ") + backend.name;
  }
  throw Error("--backend " + name + ": not in this build; known is " + known);
}

void dist::checkBackend(const std::string &name) { findBackend(name); }

static RunResult collect(const Manifest &manifest,
                         std::vector<RankResult> ranks, bool keepParts) {
  RunResult result;
  for (size_t i = 0; i < manifest.results.size(); ++i) {
    const TensorDesc &desc = manifest.results[i];
    RunResult::Output output{
        desc.name, Tensor::zeros(desc.dtype, desc.globalShape), {}};
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      Tensor &part = ranks[rank].parts[i];
      if (isWriter(manifest.mesh, desc, rank))
        writeSlice(manifest.mesh, desc, rank, part.data, output.tensor);
      if (keepParts)
        output.parts.push_back(std::move(part));
      else
        part = Tensor();
    }
    result.outputs.push_back(std::move(output));
  }
  for (size_t i = 0; i < ranks.front().repetitions.size(); ++i) {
    int64_t start = INT64_MAX, end = 0;
    for (const RankResult &rank : ranks) {
      start = std::min(start, rank.repetitions[i].start);
      end = std::max(end, rank.repetitions[i].end);
    }
    result.seconds.push_back((end - start) * 1e-9);
  }
  return result;
}

RunResult dist::launch(const Program &program, const Inputs &inputs,
                       const RunOptions &options) {
  const Backend &backend = findBackend(options.backend);
  if (options.repeat < 1)
    throw Error("repeat " + std::to_string(options.repeat) +
                ": must be at least 1");
  Arguments arguments(program, inputs, options.weights);
  RunResult result =
      collect(program.manifest, backend.launch(program, arguments, options),
              options.keepParts);
  arguments.checkUnchanged();
  return result;
}
