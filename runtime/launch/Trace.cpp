//===- Trace.cpp - Chrome traces of a run ---------------------------------===//

#include "runtime/launch/Trace.h"
#include "runtime/launch/BackendLauncher.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

using namespace dist;
using Json = nlohmann::ordered_json;

static const CollectiveDesc *findSite(const TraceEvent &event,
                                      const Manifest &manifest) {
  bool isKnown = event.site >= 0 &&
                 static_cast<size_t>(event.site) < manifest.collectives.size();
  return isKnown ? &manifest.collectives[event.site] : nullptr;
}

/// A thread of the trace: computation, or what runs on a communicator, whose
/// calls follow each other; behind them tasks of a pipeline, and what they
/// send.
static int64_t getThread(const TraceEvent &event, const Manifest &manifest) {
  if (!event.task.empty())
    return manifest.communicators.size() + (event.task == "send" ? 3 : 2);
  const CollectiveDesc *site = findSite(event, manifest);
  if (!site)
    return event.stream;
  // A manifest need not say which it is.
  return 1 + (site->comm >= 0 ? site->comm : manifest.communicators.size());
}

static Json makeEvent(const TraceEvent &event, int64_t first,
                      const Manifest &manifest) {
  const CollectiveDesc *site = findSite(event, manifest);
  Json args = Json::object();
  if (event.flops > 0)
    args["GFLOP/s"] = event.flops / (event.endNanos - event.startNanos);
  if (event.stream != 0)
    args["beside_computation"] = true;
  if (event.bytes > 0)
    args["bytes_sent"] = event.bytes;
  if (site) {
    args["scope"] = site->scope;
    args["cause"] = site->cause;
  }
  if (!event.module.empty())
    args["scope"] = event.module;
  if (!event.task.empty() && event.task != "send")
    args["task"] = true;
  return {{"name",
           event.module.empty() ? event.name : event.name + " " + event.module},
          {"cat", event.task == "send"  ? "transfer"
                  : !event.task.empty() ? event.task
                  : event.flops > 0     ? "product"
                  : site                ? "transfer"
                                        : "other"},
          {"ph", "X"},
          {"pid", event.rank},
          {"tid", getThread(event, manifest)},
          {"ts", (event.startNanos - first) / 1e3},
          {"dur", (event.endNanos - event.startNanos) / 1e3},
          {"args", std::move(args)}};
}

/// The start of an arrow at what is sent, or its end where that has come.
static Json makeArrow(const TraceEvent &event, int64_t first,
                      const Manifest &manifest) {
  bool isStart = event.task == "send";
  int64_t from = isStart ? event.rank : event.peer,
          to = isStart ? event.peer : event.rank;
  return {
      {"name", "message"},
      {"cat", "transfer"},
      {"ph", isStart ? "s" : "f"},
      {"bp", "e"},
      {"id", std::to_string(from) + ">" + std::to_string(to) + ":" +
                 std::to_string(event.tag)},
      {"pid", event.rank},
      {"tid", getThread(event, manifest)},
      {"ts", ((isStart ? event.startNanos : event.endNanos) - first) / 1e3}};
}

/// What a process or a thread is called.
static Json makeName(const char *what, int64_t process, int64_t thread,
                     const std::string &name) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", process},
          {"tid", thread},
          {"args", {{"name", name}}}};
}

static std::string nameThread(const TraceEvent &event,
                              const Manifest &manifest) {
  if (!event.task.empty())
    return event.task == "send" ? "messages" : "tasks";
  const CollectiveDesc *site = findSite(event, manifest);
  if (!site)
    return event.stream ? "stream " + std::to_string(event.stream) : "compute";
  std::string name = "link";
  for (size_t i = 0; i < site->axes.size(); ++i)
    name += (i ? ", " : " ") + site->axes[i];
  return name;
}

std::string dist::formatTrace(const std::vector<TraceEvent> &events,
                              const Manifest &manifest) {
  int64_t first = INT64_MAX;
  std::map<int64_t, std::map<int64_t, std::string>> names;
  for (const TraceEvent &event : events) {
    first = std::min(first, event.startNanos);
    names[event.rank].try_emplace(getThread(event, manifest),
                                  nameThread(event, manifest));
  }
  Topology topology = topologyOf(manifest);
  Json list = Json::array();
  for (const auto &[rank, threads] : names) {
    list.push_back(makeName("process_name", rank, 0, topology.describe(rank)));
    for (const auto &[thread, name] : threads)
      list.push_back(makeName("thread_name", rank, thread, name));
  }
  for (const TraceEvent &event : events)
    list.push_back(makeEvent(event, first, manifest));
  for (const TraceEvent &event : events)
    if (event.peer >= 0)
      list.push_back(makeArrow(event, first, manifest));
  // Names of modules may be any bytes.
  return Json{{"traceEvents", std::move(list)}}.dump(
             -1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}
