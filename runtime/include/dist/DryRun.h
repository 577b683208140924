//===- DryRun.h - What ranks would do, without running them -----*- C++ -*-===//

#ifndef DIST_DRYRUN_H
#define DIST_DRYRUN_H

#include "dist/Launcher.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dist {

struct DryRun {
  struct Rank {
    int64_t rank;
    /// "rank 17 (dp=4, tp=1)".
    std::string name;
    /// Bytes of the weights file that are its own, in how many slices; and of
    /// these what is used in place.
    int64_t loaded = 0, slices = 0, mapped = 0;
    /// What it holds, padding included. Parameters that are used in place are
    /// pages of the file.
    int64_t parameters = 0, inputs = 0, results = 0, arena = 0;
    int64_t held() const { return parameters + inputs + results + arena; }
  };
  std::vector<Rank> ranks;
  std::string weights;
  /// By each rank, in a run. Loops of unknown length count once.
  int64_t sent = 0, collectives = 0;
  bool hasUnknownLoop = false;
  /// Bytes that a rank may hold; 0 where nobody has said what GPUs have.
  int64_t memory = 0;
  /// Why a run would fail, one after the other.
  std::vector<std::string> problems;
};

/// The numbers in "0,17,100-103". Throws Error.
std::vector<int64_t> parseRanks(const std::string &text);

/// Bytes, as in "64GiB". Throws Error.
int64_t parseMemory(const std::string &text);

/// What these ranks would load, hold and send. Reads no weights, and computes
/// nothing. A rank may hold `rankMemory` bytes; without it what this host has.
/// Throws Error for ranks that the mesh does not have.
DryRun dryRun(const Program &program, const std::vector<int64_t> &ranks,
              const RunOptions &options,
              std::optional<int64_t> rankMemory = std::nullopt);

/// The lines that say it, without the problems. Ranks of the same figures are
/// one entry.
std::string describeDryRun(const DryRun &run);

} // namespace dist

#endif // DIST_DRYRUN_H
