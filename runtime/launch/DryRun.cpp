//===- DryRun.cpp - What ranks would do, without running them -------------===//

#include "dist/DryRun.h"
#include "dist/Slices.h"
#include "runtime/launch/BackendLauncher.h"
#include "runtime/program/Missing.h"
#include "runtime/program/TaskRunner.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <unistd.h>

using namespace dist;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

std::vector<int64_t> dist::parseRanks(const std::string &text) {
  auto fail = [&] {
    throw Error("--ranks " + text +
                ": expected numbers of ranks, as in 0,17,100-103");
  };
  const char *at = text.data(), *end = at + text.size();
  auto parse = [&] {
    int64_t number = 0;
    auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0 || number >= maxRanks)
      fail();
    at = rest;
    return number;
  };
  std::vector<int64_t> ranks;
  for (;;) {
    int64_t first = parse(), last = first;
    if (at != end && *at == '-') {
      ++at;
      last = parse();
    }
    for (int64_t rank = first; rank <= last; ++rank)
      ranks.push_back(rank);
    if (last < first || (at != end && *at != ','))
      fail();
    if (at++ == end)
      return ranks;
  }
}

static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};

int64_t dist::parseMemory(const std::string &text) {
  double number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, text.data() + text.size() - end);
  for (double bytes = 1; const char *known : units) {
    double whole = number * bytes;
    if (error == std::errc() && unit == known && whole >= 1 && whole < 0x1p62)
      return static_cast<int64_t>(whole);
    bytes *= 1024;
  }
  throw Error("--rank-memory " + text +
              ": expected a number and a unit, B, KiB, MiB, GiB or TiB, as in "
              "64GiB");
}

//===----------------------------------------------------------------------===//
// The host
//===----------------------------------------------------------------------===//

/// The memory that this process may use: the machine's, or its container's.
static int64_t findMemory() {
  int64_t least = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  // Of each control group from its own to the outermost.
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    size_t list = line.find(':'), path = line.find(':', list + 1);
    if (path == std::string::npos)
      continue;
    std::string kinds = line.substr(list + 1, path - list - 1);
    bool isSecond = kinds.empty();
    if (!isSecond && kinds.find("memory") == std::string::npos)
      continue;
    std::string root = isSecond ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory",
                group = line.substr(path + 1);
    for (;;) {
      std::ifstream file(root + group +
                         (isSecond ? "/memory.max" : "/memory.limit_in_bytes"));
      int64_t limit;
      if (file >> limit)
        least = std::min(least, limit);
      size_t slash = group.rfind('/');
      if (slash == std::string::npos)
        break;
      group.resize(slash);
    }
  }
  return least;
}

static std::string formatBytes(int64_t bytes) {
  double number = bytes;
  int unit = 0;
  for (; number >= 1024 && unit < 4; ++unit)
    number /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", unit && number < 100 ? 1 : 0,
                number, units[unit]);
  return text;
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

namespace {

/// The weights file, as far as it is there.
struct KnownWeights {
  std::optional<Weights> file;

  KnownWeights(const Program &program, const std::string &path, DryRun &run) {
    if (path.empty())
      return;
    try {
      file.emplace(path);
    } catch (const Error &error) {
      run.problems.push_back(error.what());
      return;
    }
    Missing missing;
    for (const TensorDesc &desc : program.manifest.arguments) {
      if (desc.kind != TensorDesc::Parameter)
        continue;
      if (const Tensor *tensor = file->find(desc.name)) {
        std::string why = findMisfit("parameter '" + desc.name + "' in " + path,
                                     desc, *tensor, /*readsValues=*/false);
        if (!why.empty())
          run.problems.push_back(why);
      } else {
        missing.add(desc, desc.sourceShape());
      }
    }
    if (!missing.names.empty())
      run.problems.push_back(path +
                             ": parameters not in this file:" + missing.text());
  }

  const Tensor *find(const TensorDesc &desc) const {
    const Tensor *tensor = file ? file->find(desc.name) : nullptr;
    return tensor && tensor->shape == desc.sourceShape() ? tensor : nullptr;
  }
};

} // namespace

static DryRun::Rank describeRank(const Program &program,
                                 const KnownWeights &weights, int64_t rank) {
  const Manifest &manifest = program.manifest;
  Topology place;
  place.mesh = manifest.mesh;
  DryRun::Rank one{rank, place.describe(rank)};
  for (const TensorDesc &desc : manifest.arguments) {
    if (!isHeldBy(manifest.mesh, desc, rank))
      continue;
    if (desc.kind == TensorDesc::Input)
      one.inputs += desc.localBytes();
    else if (!desc.continuesJoined())
      one.parameters += desc.rankBytes();
    if (desc.kind != TensorDesc::Parameter)
      continue;
    const Tensor *whole = weights.find(desc);
    int64_t bytes = countHeld(manifest.mesh, desc, rank) *
                    dtypeBytes(whole ? whole->dtype : desc.dtype);
    one.loaded += bytes;
    one.slices += bytes > 0;
    if (whole && whole->dtype == desc.dtype &&
        contiguousSlice(manifest.mesh, desc, rank, *whole))
      one.mapped += bytes;
  }
  for (const TensorDesc &desc : manifest.results)
    if (!desc.updates && isHeldBy(manifest.mesh, desc, rank))
      one.results += desc.localBytes();
  one.arena = manifest.pipeline
                  ? TaskPlan(*manifest.pipeline,
                             manifest.mesh.coordinate(
                                 rank, manifest.pipeline->axis))
                        .countBytes()
                  : manifest.arenaBytes;
  return one;
}

DryRun dist::dryRun(const Program &program, const std::vector<int64_t> &ranks,
                    const RunOptions &options,
                    std::optional<int64_t> rankMemory) {
  const Manifest &manifest = program.manifest;
  int64_t size = manifest.mesh.size();
  DryRun run;
  try {
    // Where nothing is said of it, the run is elsewhere, by whatever backend.
    if (options.processes || !options.backend.empty())
      checkStart(manifest, options);
    else
      checkRepeat(options);
  } catch (const Error &error) {
    run.problems.push_back(error.what());
  }
  run.weights = findWeights(program, options.weights);
  KnownWeights weights(program, run.weights, run);
  // What a GPU has is not known here.
  bool isKnown = rankMemory || manifest.target != "cuda";
  int64_t memory = isKnown ? rankMemory.value_or(findMemory()) : INT64_MAX;
  int64_t all = 0, tooLarge = 0;
  run.memory = isKnown ? memory : 0;
  std::string there =
      (rankMemory ? ", and --rank-memory gives it " : ", and this host has ") +
      formatBytes(memory) + " of memory";
  bool isOneHost =
      !rankMemory && (options.processes || options.backend == "processes");
  for (int64_t rank : ranks) {
    if (rank >= size)
      throw Error("--ranks " + std::to_string(rank) +
                  ": the program's mesh has " + std::to_string(size) +
                  " devices, whose ranks are 0 to " + std::to_string(size - 1));
    run.ranks.push_back(describeRank(program, weights, rank));
    const DryRun::Rank &one = run.ranks.back();
    all = std::max(all, one.held());
    tooLarge += one.held() > memory;
  }
  if (tooLarge > 0) {
    auto largest =
        std::max_element(run.ranks.begin(), run.ranks.end(),
                         [](const DryRun::Rank &a, const DryRun::Rank &b) {
                           return a.held() < b.held();
                         });
    run.problems.push_back(
        largest->name + " holds " + formatBytes(largest->held()) + there +
        (tooLarge > 1
             ? "; so it is with " + std::to_string(tooLarge - 1) + " more"
             : ""));
  }
  if (isOneHost && all <= memory && all > memory / size)
    run.problems.push_back(std::to_string(size) + " ranks hold some " +
                           formatBytes(all) + " each" + there +
                           " for all: run them on several hosts "
                           "(--backend mpi)");
  for (const CollectiveDesc &one : manifest.collectives) {
    auto add = [&](int64_t &sum, int64_t bytes) {
      if (__builtin_mul_overflow(bytes, one.count, &bytes) ||
          __builtin_add_overflow(sum, bytes, &sum))
        sum = INT64_MAX;
    };
    add(run.sent, one.bytesSentPerRank);
    add(run.collectives, 1);
    run.hasUnknownLoop |= one.inUnknownLoop;
  }
  return run;
}

std::string dist::describeDryRun(const DryRun &run) {
  std::ostringstream text;
  // Most ranks are alike.
  std::map<std::vector<int64_t>, std::vector<const DryRun::Rank *>> alike;
  std::vector<const std::vector<const DryRun::Rank *> *> entries;
  for (const DryRun::Rank &rank : run.ranks) {
    auto &same = alike[{rank.loaded, rank.slices, rank.mapped, rank.parameters,
                        rank.inputs, rank.results, rank.arena}];
    if (same.empty())
      entries.push_back(&same);
    same.push_back(&rank);
  }
  for (const auto *same : entries) {
    const DryRun::Rank &rank = *same->front();
    if (size_t count = same->size(); count > 1)
      text << count << (count == 2 ? " ranks, " : " ranks, among them ")
           << rank.name << " and " << same->back()->name << ":\n";
    else
      text << rank.name << ":\n";
    if (rank.slices > 0)
      text << "  loads " << formatBytes(rank.loaded) << " in " << rank.slices
           << (rank.slices == 1 ? " slice" : " slices") << " of "
           << (run.weights.empty() ? "a weights file" : run.weights) << "; "
           << formatBytes(rank.mapped) << " of it stay in the file\n";
    text << "  holds " << formatBytes(rank.held()) << ": "
         << formatBytes(rank.parameters) << " of parameters, "
         << formatBytes(rank.inputs) << " of inputs, "
         << formatBytes(rank.results) << " of results, "
         << formatBytes(rank.arena) << " of all else\n";
    if (run.collectives > 0)
      text << "  sends " << formatBytes(run.sent) << " in " << run.collectives
           << (run.collectives == 1 ? " collective" : " collectives")
           << (run.hasUnknownLoop ? ", and more in loops of unknown length, "
                                    "which count once\n"
                                  : "\n");
  }
  if (run.problems.empty() && run.memory > 0)
    text << "nothing was found that a run would fail for: a rank may hold "
         << formatBytes(run.memory) << "\n";
  else if (run.problems.empty())
    text << "whether it fits is not checked: for a GPU's memory, say how much "
            "it has: --rank-memory 80GiB; nothing else was found that a run "
            "would fail for\n";
  return text.str();
}
