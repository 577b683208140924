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
    Sum &sum = sums[{event.name, module, isBeside}];
    sum.row.what = event.name;
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
    profile.idleMicros +=
        std::max<int64_t>(span.last - span.first - span.busy, 0) / 1e3 / ranks;
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

std::string dist::formatProfile(const Profile &profile) {
  char line[160];
  auto percent = [&](double micros) {
    return profile.micros > 0 ? 100 * micros / profile.micros : 0;
  };
  std::snprintf(line, sizeof line,
                "the last run of an average rank of %lld: %.3f ms\n",
                static_cast<long long>(profile.ranks), profile.micros / 1e3);
  std::string text = line;
  text += "        us   us, most      %    calls  rate          what\n";
  auto add = [&](double micros, double most, const std::string &calls,
                 const std::string &rate, const std::string &what) {
    std::snprintf(line, sizeof line, "%10.1f %10.1f %6.1f %8s  %-12s  ", micros,
                  most, percent(micros), calls.c_str(), rate.c_str());
    text += line + what + "\n";
  };
  for (const Profile::Row &row : profile.rows) {
    char calls[32], rate[32] = "";
    std::snprintf(calls, sizeof calls, "%.4g", row.calls);
    if (row.flops > 0 && row.micros > 0)
      std::snprintf(rate, sizeof rate, "%.4g GFLOP/s",
                    row.flops / row.micros / 1e3);
    else if (row.bytesSent > 0 && row.micros > 0)
      std::snprintf(rate, sizeof rate, "%.3g GB/s",
                    row.bytesSent / row.micros / 1e3);
    add(row.micros, row.mostMicros, calls, rate,
        row.what + (row.module.empty() ? "" : " " + row.module) +
            (row.isBeside ? " (beside computation)" : ""));
  }
  if (!profile.rows.empty())
    add(profile.idleMicros, profile.idleMicros, "", "",
        "none of these, or only what is beside computation");
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
                                {"rows", std::move(rows)}};
  return all.dump(-1, ' ', false,
                  nlohmann::ordered_json::error_handler_t::replace);
}
