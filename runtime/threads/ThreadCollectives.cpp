//===- ThreadCollectives.cpp - Calls among ranks that are threads ---------===//
//
// A collective is: publish the call, meet, compare the calls, do one's part,
// meet again (nobody may touch an operand that others still read).
//
//===----------------------------------------------------------------------===//

#include "runtime/threads/ThreadRank.h"

#include <algorithm>
#include <utility>

using namespace dist;

Channel &ThreadRank::channelOf(const CollectiveCall &call) {
  Channel *&known = channels[call.comm * numStreams + call.stream];
  if (!known)
    known = &run.channel(call.comm, topology.comms[call.comm].group[index],
                         call.stream);
  return *known;
}

std::string ThreadRank::waitsIn(const CollectiveCall &call) const {
  std::string text =
      topology.describe(index) + " waits in " + toString(call, topology.sites);
  return call.stream ? text + " on stream " + std::to_string(call.stream)
                     : text;
}

/// Returns what `channel.turn` is until all have arrived.
static uint32_t arrive(Channel &channel) {
  uint32_t seen = channel.turn.load();
  if (channel.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 ==
      channel.slots.size()) {
    channel.arrived.store(0, std::memory_order_relaxed);
    channel.turn.advance();
  }
  return seen;
}

bool ThreadRank::meet(Channel &channel,
                      const std::function<std::string()> &what) {
  return run.waiting->wait(channel.turn, arrive(channel), what);
}

/// Every member checks all calls before it touches anybody's memory.
bool ThreadRank::agree(const Channel &channel, const CollectiveCall &call) {
  uint64_t print = channel.slots[0].print;
  for (size_t i = 1; i < channel.slots.size(); ++i) {
    if (channel.slots[i].print == print)
      continue;
    const Communicator &comm = topology.comms[call.comm];
    const std::vector<int64_t> &members = comm.members[comm.group[index]];
    return run.waiting->fail(
        "ranks of one group call different collectives:\n  " +
        topology.describe(members[0]) + " calls " +
        toString(channel.slots[0].call, topology.sites) + "\n  " +
        topology.describe(members[i]) + " calls " +
        toString(channel.slots[i].call, topology.sites));
  }
  return true;
}

int64_t ThreadRank::takeLink(const CollectiveCall &call, int64_t bytes,
                             const Channel &channel) {
  double seconds = run.options.link.latencySeconds;
  if (run.options.link.bytesPerSecond > 0)
    seconds += bytes / run.options.link.bytesPerSecond;
  int64_t end = 0;
  for (const Channel::Slot &slot : channel.slots)
    end = std::max(end, slot.calledAt);
  std::lock_guard<std::mutex> lock(linkMutex);
  const std::vector<AxisRef> &refs = topology.comms[call.comm].refs;
  for (const AxisRef &ref : refs)
    end = std::max(end, linkFreeAt[ref.axis]);
  end += static_cast<int64_t>(seconds * 1e9);
  for (const AxisRef &ref : refs)
    linkFreeAt[ref.axis] = end;
  return end;
}

bool ThreadRank::outlast(const Channel &channel) const {
  return !run.outlivesRanks() && channel.visitors.outlast();
}

bool ThreadRank::together(Channel &channel, const CollectiveCall &call,
                          int64_t calledAt) {
  const Communicator &comm = topology.comms[call.comm];
  int64_t me = comm.place[index];
  GroupBuffers &buffers = work[call.stream].buffers;
  buffers.ins.resize(comm.size);
  buffers.outs.resize(comm.size);
  buffers.plans.resize(comm.size);
  std::function<std::string()> what = [this, &call] { return waitsIn(call); };

  if (comm.size > 1) {
    Channel::Slot &slot = channel.slots[me];
    slot.call = call;
    slot.print = fingerprint(call);
    slot.calledAt = std::max(calledAt, work[call.stream].readyAt);
    if (!meet(channel, what) || !agree(channel, call) ||
        !channel.visitors.enter(*run.waiting))
      return outlast(channel);
    for (int64_t i = 0; i < comm.size; ++i) {
      buffers.ins[i] = static_cast<const char *>(channel.slots[i].call.in);
      buffers.outs[i] = static_cast<char *>(channel.slots[i].call.out);
      buffers.plans[i] = channel.slots[i].call.plan;
    }
  } else {
    buffers.ins[0] = static_cast<const char *>(call.in);
    buffers.outs[0] = static_cast<char *>(call.out);
    buffers.plans[0] = call.plan;
  }
  transfer(call, comm, buffers, me);
  int64_t &sent = work[call.stream].bytesSent;
  sent = bytesSent(call, topology, buffers, me);
  if (comm.size == 1)
    return true;
  channel.visitors.leave();
  // Others have done their part while the link is busy.
  int64_t end = run.options.link.enabled() ? takeLink(call, sent, channel) : 0;
  uint32_t seen = arrive(channel);
  if (run.options.link.enabled())
    run.waiting->waitUntil(end);
  return run.waiting->wait(channel.turn, seen, what) || outlast(channel);
}

/// On the thread of the call's stream.
bool ThreadRank::perform(const CollectiveCall &call, int64_t calledAt) {
  int64_t start = rank.tracing ? nowNanos() : 0;
  Channel &channel = channelOf(call);
  bool ok = together(channel, call, calledAt);
  if (rank.tracing)
    work[call.stream].trace.push_back(
        {collectiveName(call.kind), index, call.stream, call.site, start,
         nowNanos(), work[call.stream].bytesSent, 0});
  return ok;
}

bool ThreadRank::collective(const CollectiveCall &call) {
  endKernel();
  int64_t now = run.options.link.enabled() ? nowNanos() : 0;
  if (call.stream == 0)
    return perform(call, now);
  if (run.options.streams.hasThreads()) {
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

void ThreadRank::mark(const char *module) {
  endKernel();
  marked = module;
  markedAt = nowNanos();
}

std::string ThreadRank::takeMark() {
  const char *module = std::exchange(marked, nullptr);
  return module ? module : "";
}

void ThreadRank::endKernel() {
  if (!marked)
    return;
  work[0].trace.push_back(
      {"kernel", index, 0, -1, markedAt, nowNanos(), 0, 0, takeMark()});
}

bool ThreadRank::contract(const ContractCall &call) {
  int64_t start = rank.tracing ? nowNanos() : 0;
  double flops = contractions.run(call);
  if (rank.tracing)
    work[0].trace.push_back(
        {"contract", index, 0, -1, start, nowNanos(), 0, flops, takeMark()});
  return true;
}

bool ThreadRank::convolve(const ConvolveCall &call) {
  int64_t start = rank.tracing ? nowNanos() : 0;
  double flops = convolutions.run(call);
  if (rank.tracing)
    work[0].trace.push_back(
        {"convolve", index, 0, -1, start, nowNanos(), 0, flops, takeMark()});
  return true;
}
