//===- HostRank.cpp - A rank that computes on the CPU ---------------------===//

#include "runtime/local/HostRank.h"
#include "runtime/host/MappedFile.h"

#include <cstring>
#include <unistd.h>
#include <utility>

using namespace dist;

HostRank::HostRank(HostRun &run, int64_t index)
    : run(run), topology(run.topology()), index(index), options(run.options),
      rank(topology, index, *this),
      contractions([this](auto... packed) { takeBack(packed...); }),
      convolutions(options.directConvolutions,
                   [this](auto... packed) { takeBack(packed...); }),
      streams(numStreams), events(numEvents), work(numStreams) {}

void HostRank::takeBack(const void *data, int64_t bytes, bool isOnly) {
  auto *begin = static_cast<const char *>(data);
  auto found = lent.upper_bound(begin);
  if (found == lent.begin())
    return;
  const auto &[first, memory] = *std::prev(found);
  if (begin + bytes > first + memory.bytes || !(isOnly || memory.isMapped))
    return;
  if (memory.isMapped)
    return giveBackPages(begin, begin + bytes);
  // Pages that have nothing else.
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto from = (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page,
       to = reinterpret_cast<uintptr_t>(begin + bytes) / page * page;
  // Fewer take longer to give back than they are worth.
  constexpr uintptr_t kLeast = 1 << 16;
  if (to > from && to - from >= kLeast)
    run.giveBack(reinterpret_cast<void *>(from), to - from);
}

bool HostRank::upload(void *to, const void *from, int64_t bytes) {
  memcpy(to, from, bytes);
  return true;
}

bool HostRank::download(void *to, const void *from, int64_t bytes) {
  memcpy(to, from, bytes);
  return true;
}

std::vector<TraceEvent> HostRank::takeTrace() {
  std::vector<TraceEvent> all;
  for (Work &own : work)
    all.insert(all.end(), own.trace.begin(), own.trace.end());
  return all;
}

void HostRank::addTrace(std::vector<TraceEvent> events) {
  std::vector<TraceEvent> &own = work[0].trace;
  own.insert(own.end(), std::make_move_iterator(events.begin()),
             std::make_move_iterator(events.end()));
}

bool HostRank::perform(const CollectiveCall &call, int64_t calledAt) {
  int64_t start = rank.tracing ? nowNanos() : 0, bytesSent = 0;
  bool ok = together(call, calledAt, bytesSent);
  if (call.sent)
    *call.sent = bytesSent;
  if (rank.tracing)
    work[call.stream].trace.push_back({collectiveName(call.kind), index,
                                       call.stream, call.site, start,
                                       nowNanos(), bytesSent, 0});
  return ok;
}

bool HostRank::collective(const CollectiveCall &call) {
  endKernel();
  int64_t now = options.link.enabled() ? nowNanos() : 0;
  if (call.stream == 0)
    return perform(call, now);
  if (options.streams.hasThreads()) {
    submit(call.stream, [this, call, now] { return perform(call, now); });
    return true;
  }
  Stream &stream = open(call.stream);
  stream.flights.emplace_back(call, topology);
  InFlight &flight = stream.flights.back();
  flight.at = stream.submitted.load() + Word::step;
  submit(call.stream, [this, call, now, &flight] {
    std::string wrong = flight.check();
    if (!wrong.empty())
      return fail(wrong);
    bool ok = perform(call, now);
    flight.arrive();
    return ok;
  });
  return !failed();
}

void HostRank::mark(const char *module) {
  endKernel();
  marked = module;
  markedAt = nowNanos();
}

std::string HostRank::takeMark() {
  const char *module = std::exchange(marked, nullptr);
  return module ? module : "";
}

void HostRank::endKernel() {
  if (!marked)
    return;
  work[0].trace.push_back(
      {"kernel", index, 0, -1, markedAt, nowNanos(), 0, 0, takeMark()});
}

bool HostRank::contract(const ContractCall &call) {
  int64_t start = rank.tracing ? nowNanos() : 0;
  double flops = contractions.run(call);
  if (rank.tracing)
    work[0].trace.push_back(
        {"contract", index, 0, -1, start, nowNanos(), 0, flops, takeMark()});
  return true;
}

bool HostRank::convolve(const ConvolveCall &call) {
  int64_t start = rank.tracing ? nowNanos() : 0;
  double flops = convolutions.run(call);
  if (rank.tracing)
    work[0].trace.push_back(
        {"convolve", index, 0, -1, start, nowNanos(), 0, flops, takeMark()});
  return true;
}
