//===- Timeline.cpp - Traces as files -------------------------------------===//

#include "dist/Timeline.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace dist;
using Json = nlohmann::ordered_json;

std::string dist::joinTraces(const std::string &first,
                             const std::string &second) {
  Json all = Json::parse(first), other = Json::parse(second);
  Json &events = all.at("traceEvents");
  int64_t free = 0;
  for (const Json &event : events)
    free = std::max(free, event.at("pid").get<int64_t>() + 1);
  for (Json &event : other.at("traceEvents")) {
    event["pid"] = event.at("pid").get<int64_t>() + free;
    events.push_back(std::move(event));
  }
  return all.dump() + "\n";
}

std::string dist::formatTimeline(const std::string &trace,
                                 const std::string &path) {
  const std::string ending = ".html";
  bool isPage =
      path.size() >= ending.size() &&
      path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
  return isPage ? formatPage(trace) : trace;
}
