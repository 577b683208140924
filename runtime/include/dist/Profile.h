//===- Profile.h - Where the time of a run goes -----------------*- C++ -*-===//

#ifndef DIST_PROFILE_H
#define DIST_PROFILE_H

#include <cstdint>
#include <string>
#include <vector>

namespace dist {

/// Where the time of a run goes, an average rank's. From its trace.
struct Profile {
  struct Row {
    /// "kernel", "contract", "convolve", or a collective's name.
    std::string what;
    /// Numbers in names are "*": h.0.mlp and h.1.mlp are h.*.mlp. "" if
    /// unknown.
    std::string module;
    /// Whether it runs beside computation.
    bool isBeside = false;
    /// By a rank.
    double calls = 0, micros = 0, bytesSent = 0, flops = 0;
    /// The rank that takes most.
    double mostMicros = 0;
  };
  int64_t ranks = 0;
  /// From the begin of the first to the end of the last; and how much of it is
  /// none of the rows that do not run beside computation.
  double micros = 0, idleMicros = 0;
  /// The rank of which that is most.
  double mostIdleMicros = 0;
  /// What takes most time is first.
  std::vector<Row> rows;
};

/// A table for people.
std::string formatProfile(const Profile &profile);
/// An object of JSON.
std::string formatProfileJson(const Profile &profile);

} // namespace dist

#endif // DIST_PROFILE_H
