//===- Trace.h - Chrome traces of a run -------------------------*- C++ -*-===//

#ifndef DIST_RUNTIME_LAUNCH_TRACE_H
#define DIST_RUNTIME_LAUNCH_TRACE_H

#include "dist/Manifest.h"
#include "dist/Profile.h"
#include "runtime/rank/Rank.h"

#include <string>

namespace dist {

/// `events` in the trace event format that chrome://tracing and Perfetto read:
/// a process a rank, a thread a stream.
std::string formatTrace(const std::vector<TraceEvent> &events,
                        const Manifest &manifest);

/// Where the time of them goes.
Profile makeProfile(const std::vector<TraceEvent> &events,
                    const Manifest &manifest);

} // namespace dist

#endif // DIST_RUNTIME_LAUNCH_TRACE_H
