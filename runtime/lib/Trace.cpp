//===- Trace.cpp - Chrome traces of a run ---------------------------------===//

#include "Trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace dist;

std::string dist::formatTrace(const std::vector<TraceEvent> &events,
                              const Manifest &manifest) {
  int64_t first = INT64_MAX;
  for (const TraceEvent &event : events)
    first = std::min(first, event.startNanos);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TraceEvent &event : events) {
    nlohmann::ordered_json args = nlohmann::ordered_json::object();
    std::string name = event.name;
    if (event.flops > 0)
      args["GFLOP/s"] = event.flops / (event.endNanos - event.startNanos);
    if (event.bytes > 0)
      args["bytes_sent"] = event.bytes;
    if (event.site >= 0 &&
        static_cast<size_t>(event.site) < manifest.collectives.size()) {
      const CollectiveDesc &site = manifest.collectives[event.site];
      args["scope"] = site.scope;
      args["cause"] = site.cause;
    }
    list.push_back({{"name", name},
                    {"ph", "X"},
                    {"pid", event.rank},
                    {"tid", event.stream},
                    {"ts", (event.startNanos - first) / 1e3},
                    {"dur", (event.endNanos - event.startNanos) / 1e3},
                    {"args", std::move(args)}});
  }
  // Names of modules may be any bytes.
  return nlohmann::ordered_json{{"traceEvents", std::move(list)}}.dump(
             -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}
