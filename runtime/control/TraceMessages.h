//===- TraceMessages.h - Traces on their way to the root --------*- C++ -*-===//

#ifndef DIST_RUNTIME_CONTROL_TRACEMESSAGES_H
#define DIST_RUNTIME_CONTROL_TRACEMESSAGES_H

#include "runtime/rank/Rank.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dist {

std::string writeTrace(std::span<const TraceEvent> events);
/// Throws Error if the text is no trace.
std::vector<TraceEvent> readTrace(std::string_view text);

} // namespace dist

#endif // DIST_RUNTIME_CONTROL_TRACEMESSAGES_H
