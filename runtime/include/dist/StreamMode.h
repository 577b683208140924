//===- StreamMode.h - When communication streams work -----------*- C++ -*-===//
//
// Streams promise an order and no time. Here the time is chosen, to find
// programs that rely on it. Each task of a stream is done when it is issued, or
// when it is waited for, or at one of the two by chance, the same on all ranks.
// Results are poisoned until they are complete, and operands and results in
// flight may not change.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_STREAMMODE_H
#define DIST_STREAMMODE_H

#include <cstdint>
#include <string>

namespace dist {

struct StreamMode {
  enum Kind {
    /// Beside computation; the only mode that is not for debugging.
    Threads,
    Eager,
    Late,
    Seeded
  };
  Kind kind = Threads;
  uint64_t seed = 0;

  bool hasThreads() const { return kind == Threads; }
  /// Whether the task of this number (in program order, over all streams of a
  /// rank) is done when it is issued.
  bool doesAtOnce(uint64_t task) const;
};

/// What --help says of --streams.
inline constexpr char streamsHelp[] =
    "When communication streams work: threads, or for debugging eager, late, "
    "seed=N";

/// Reads "threads", "eager", "late" or "seed=N". Throws Error.
StreamMode parseStreamMode(const std::string &text);

} // namespace dist

#endif // DIST_STREAMMODE_H
