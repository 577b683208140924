//===- Profile.cpp - Where the time of a run goes -------------------------===//

#include "dist/Profile.h"
#include "runtime/launch/Trace.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

using namespace dist;

/// With "*" for parts between dots that are numbers.
static std::string generalize(const std::string &module) {
  std::string text;
  for (size_t start = 0; start <= module.size();) {
    size_t end = std::min(module.find('.', start), module.size());
    std::string part = module.substr(start, end - start);
    bool isNumber =
        !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    text += (start ? "." : "") + (isNumber ? "*" : part);
    start = end + 1;
  }
  return text;
}

Profile dist::makeProfile(const std::vector<TraceEvent> &events,
                          const Manifest &manifest) {
  struct Span {
    int64_t first = INT64_MAX, last = 0, busy = 0;
  };
  struct Sum {
    Profile::Row row;
    std::map<int64_t, double> byRank;
  };
  std::map<int64_t, Span> spans;
  std::map<std::tuple<std::string, std::string, bool>, Sum> sums;
  for (const TraceEvent &event : events) {
    // Tasks hold what is there by itself.
    bool isWaiting = event.task == "waiting";
    if (!event.task.empty() && !isWaiting && event.task != "send")
      continue;
    std::string what = isWaiting ? "wait for another stage" : event.name;
    bool isKnown =
        event.site >= 0 && size_t(event.site) < manifest.collectives.size();
    std::string module = generalize(
        isKnown ? manifest.collectives[event.site].scope : event.module);
    bool isBeside = event.stream != 0;
    int64_t nanos = event.endNanos - event.startNanos;
    Span &span = spans[event.rank];
    span.first = std::min(span.first, event.startNanos);
    span.last = std::max(span.last, event.endNanos);
    if (!isBeside)
      span.busy += nanos;
    Sum &sum = sums[{what, module, isBeside}];
    sum.row.what = what;
    sum.row.module = module;
    sum.row.isBeside = isBeside;
    sum.row.calls += 1;
    sum.row.bytesSent += event.bytes;
    sum.row.flops += event.flops;
    sum.byRank[event.rank] += nanos / 1e3;
  }
  Profile profile;
  profile.ranks = spans.size();
  double ranks = std::max<size_t>(spans.size(), 1);
  for (const auto &[rank, span] : spans) {
    profile.micros += (span.last - span.first) / 1e3 / ranks;
    double idle =
        std::max<int64_t>(span.last - span.first - span.busy, 0) / 1e3;
    profile.idleMicros += idle / ranks;
    profile.mostIdleMicros = std::max(profile.mostIdleMicros, idle);
  }
  for (auto &[key, sum] : sums) {
    for (double *number : {&sum.row.calls, &sum.row.bytesSent, &sum.row.flops})
      *number /= ranks;
    for (const auto &[rank, micros] : sum.byRank) {
      sum.row.micros += micros / ranks;
      sum.row.mostMicros = std::max(sum.row.mostMicros, micros);
    }
    profile.rows.push_back(std::move(sum.row));
  }
  std::stable_sort(profile.rows.begin(), profile.rows.end(),
                   [](const Profile::Row &a, const Profile::Row &b) {
                     return a.micros > b.micros;
                   });
  return profile;
}

/// "1.2 M", of what is counted in units.
static std::string scale(double number) {
  static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
  int which = 0;
  // Three digits are shown.
  for (; number >= 999.5 && which < 5; ++which)
    number /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", number, prefixes[which]);
  return text;
}

std::string dist::formatProfile(const Profile &profile) {
  char line[160];
  std::snprintf(line, sizeof line,
                "the last run, an average rank of %lld: %.3f ms\n",
                static_cast<long long>(profile.ranks), profile.micros / 1e3);
  std::string text = line;
  std::snprintf(line, sizeof line, "%10s %10s %6s %7s %10s  %-13s  %s\n", "us",
                "us, most", "%", "calls", "sent", "rate", "what");
  text += line;
  auto add = [&](double micros, double most, const std::string &calls,
                 const std::string &sent, const std::string &rate,
                 const std::string &what) {
    double percent = profile.micros > 0 ? 100 * micros / profile.micros : 0;
    std::snprintf(line, sizeof line, "%10.1f %10.1f %6.1f %7s %10s  %-13s  ",
                  micros, most, percent, calls.c_str(), sent.c_str(),
                  rate.c_str());
    text += line + what + "\n";
  };
  for (const Profile::Row &row : profile.rows) {
    char calls[32];
    std::snprintf(calls, sizeof calls, "%.4g", row.calls);
    std::string sent, rate;
    if (row.bytesSent > 0)
      sent = scale(row.bytesSent) + "B";
    double seconds = row.micros / 1e6;
    if (row.flops > 0 && seconds > 0)
      rate = scale(row.flops / seconds) + "FLOP/s";
    else if (row.bytesSent > 0 && seconds > 0)
      rate = scale(row.bytesSent / seconds) + "B/s";
    add(row.micros, row.mostMicros, calls, sent, rate,
        row.what + (row.module.empty() ? "" : " " + row.module) +
            (row.isBeside ? " (beside computation)" : ""));
  }
  if (!profile.rows.empty())
    add(profile.idleMicros, profile.mostIdleMicros, "", "", "",
        "nothing, or only what is beside computation");
  return text;
}

std::string dist::formatProfileJson(const Profile &profile) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Profile::Row &row : profile.rows)
    rows.push_back({{"what", row.what},
                    {"module", row.module},
                    {"beside_computation", row.isBeside},
                    {"calls", row.calls},
                    {"us", row.micros},
                    {"most_us", row.mostMicros},
                    {"bytes_sent", row.bytesSent},
                    {"flops", row.flops}});
  nlohmann::ordered_json all = {{"ranks", profile.ranks},
                                {"us", profile.micros},
                                {"idle_us", profile.idleMicros},
                                {"most_idle_us", profile.mostIdleMicros},
                                {"rows", std::move(rows)}};
  return all.dump(-1, ' ', false,
                  nlohmann::ordered_json::error_handler_t::replace);
}
