//===- Trace.h - Chrome traces of a run -------------------------*- C++ -*-===//

#ifndef DIST_LIB_TRACE_H
#define DIST_LIB_TRACE_H

#include "Rank.h"
#include "dist/Manifest.h"

namespace dist {

/// Writes `events` to `path` in the trace event format that chrome://tracing
/// and Perfetto read: a process a rank, a thread a stream. Throws Error.
void writeTrace(const std::string &path, const std::vector<TraceEvent> &events,
                const Manifest &manifest);

} // namespace dist

#endif // DIST_LIB_TRACE_H
