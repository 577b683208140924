//===- RunMessages.h - What processes say of a run --------------*- C++ -*-===//
//
// The texts of their messages. All that read one throw Error if it is none, and
// take no more memory than some times its length.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LAUNCH_RUNMESSAGES_H
#define DIST_RUNTIME_LAUNCH_RUNMESSAGES_H

#include "dist/Executor.h"
#include "runtime/rank/Rank.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dist {

/// What must be the same in all processes.
struct Agreement {
  /// The program, and how it runs.
  std::string program;
  /// Of each argument that is there, a checksum.
  std::vector<std::optional<uint64_t>> sums;

  std::string write() const;
  static Agreement read(std::string_view text);
};

/// The inputs of a step; null: no step follows.
std::string writeInputs(const Inputs *inputs);
/// Whether a step follows.
bool readInputs(std::string_view text, Inputs &inputs);

std::string writeTimes(const std::vector<Interval> &times);
std::vector<Interval> readTimes(std::string_view text);

/// What a rank has done, on a clock that begins with its last repetition.
struct Done {
  std::vector<Interval> times;
  std::vector<TraceEvent> events;

  std::string write() const;
  static Done read(std::string_view text);
};

/// Which bytes the root asks for.
std::string writeHeld(const HeldBytes &what);
/// None if a rank holds no such bytes.
std::optional<HeldBytes> readHeld(std::string_view text,
                                  const Manifest &manifest);

} // namespace dist

#endif // DIST_RUNTIME_LAUNCH_RUNMESSAGES_H
