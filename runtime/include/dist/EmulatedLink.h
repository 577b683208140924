//===- EmulatedLink.h - An emulated interconnect ----------------*- C++ -*-===//
//
// Lets one machine show the gain of overlap: a transfer takes at least as long
// as it would over the given link. Its thread sleeps for the rest, which leaves
// the core to computation.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_EMULATEDLINK_H
#define DIST_EMULATEDLINK_H

#include <string>

namespace dist {

/// A transfer that sends n bytes per rank takes latency + n / bandwidth. A rank
/// has one link along each axis of the mesh. A link carries one transfer at a
/// time, on whatever stream. Zero bandwidth means unlimited; with zero latency,
/// too, nothing is emulated.
struct EmulatedLink {
  double latencySeconds = 0;
  double bytesPerSecond = 0;
  bool enabled() const { return latencySeconds > 0 || bytesPerSecond > 0; }
};

/// What --help says of --link, and how its value is written.
inline constexpr char linkHelp[] =
    "Pretend that ranks are joined by such a link";
inline constexpr char linkForm[] = "latency=20us,bandwidth=1GB/s";

/// Reads "latency=20us,bandwidth=1GB/s"; either part may be missing. Units: s,
/// ms, us, ns; B/s, kB/s, MB/s, GB/s (powers of ten). Throws Error.
EmulatedLink parseLink(const std::string &text);

} // namespace dist

#endif // DIST_EMULATEDLINK_H
