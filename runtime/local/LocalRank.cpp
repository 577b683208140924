//===- LocalRank.cpp - Calls among ranks of one host ----------------------===//
//
// A collective is: publish the call, meet, compare the calls, do one's part,
// meet again (nobody may touch an operand that others still read).
//
//===----------------------------------------------------------------------===//

#include "runtime/local/LocalRank.h"

#include <algorithm>
#include <utility>

using namespace dist;

Channel &LocalRank::channelOf(const CollectiveCall &call) {
  Channel *&known = channels[call.comm * numStreams + call.stream];
  if (!known)
    known = &run.channel(call.comm, topology.comms[call.comm].group[index],
                         call.stream);
  return *known;
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

bool LocalRank::meet() {
  return meet(run.channel(-1, 0, 0), [this] {
    return topology.describe(index) + " is ready to start or stop";
  });
}

bool LocalRank::meet(Channel &channel,
                     const std::function<std::string()> &what) {
  return waiting().wait(channel.turn, arrive(channel), what);
}

/// Every member checks all calls before it touches anybody's memory.
bool LocalRank::agree(const Channel &channel, const CollectiveCall &call) {
  uint64_t print = channel.slots[0].print;
  for (size_t i = 1; i < channel.slots.size(); ++i) {
    if (channel.slots[i].print == print)
      continue;
    const Communicator &comm = topology.comms[call.comm];
    const std::vector<int64_t> &members = comm.members[comm.group[index]];
    return waiting().fail("ranks of one group call different collectives:\n  " +
                          topology.describe(members[0]) + " calls " +
                          toString(channel.slots[0].call, topology.sites) +
                          "\n  " + topology.describe(members[i]) + " calls " +
                          toString(channel.slots[i].call, topology.sites));
  }
  return true;
}

int64_t LocalRank::takeLink(const CollectiveCall &call, int64_t bytes,
                            const Channel &channel) {
  double seconds = options.link.latencySeconds;
  if (options.link.bytesPerSecond > 0)
    seconds += bytes / options.link.bytesPerSecond;
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

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

int64_t LocalRank::takeLink(const TaskMessage &message) {
  int64_t now = nowNanos();
  if (!options.link.enabled())
    return now;
  int64_t &free = messageLinkFreeAt[{message.axis, message.peer > index}];
  free = std::max(free, now);
  if (options.link.bytesPerSecond > 0)
    free +=
        static_cast<int64_t>(message.bytes / options.link.bytesPerSecond * 1e9);
  return free + static_cast<int64_t>(options.link.latencySeconds * 1e9);
}

bool LocalRank::send(const TaskMessage &message, const void *data) {
  if (failed())
    return false;
  auto sender = senders.find(message.peer);
  if (sender == senders.end())
    sender = senders
                 .try_emplace(message.peer, run.queue(index, message.peer),
                              peerMemory())
                 .first;
  sender->second.send(data, message.bytes, message.tag, takeLink(message));
  return true;
}

std::shared_ptr<void> LocalRank::receive(const TaskMessage &message) {
  auto known = receivers.find(message.peer);
  if (known == receivers.end())
    known = receivers.try_emplace(message.peer, run.queue(message.peer, index))
                .first;
  TaskReceiver &receiver = known->second;
  const TaskQueue::Node *node;
  for (;;) {
    uint32_t seen = receiver.posted().load();
    if ((node = receiver.take()))
      break;
    if (!waiting().wait(receiver.posted(), seen, [&] {
          return topology.describe(index) + " waits for a message of " +
                 topology.describe(message.peer);
        }))
      return nullptr;
  }
  TaskQueue::Buffer *buffer = node->buffer;
  if (node->tag != message.tag || buffer->bytes != message.bytes) {
    fail("a message of " + topology.describe(message.peer) + " is number " +
         std::to_string(node->tag) + " of " + std::to_string(buffer->bytes) +
         " bytes, and number " + std::to_string(message.tag) + " of " +
         std::to_string(message.bytes) + " is waited for");
    return nullptr;
  }
  if (options.link.enabled())
    waiting().waitUntil(node->there);
  return {buffer->data, [buffer](void *) {
            buffer->isFree.store(true, std::memory_order_release);
          }};
}

bool LocalRank::outlast(const Channel &channel) const {
  return !run.outlivesRanks() && channel.visitors.outlast();
}

bool LocalRank::together(const CollectiveCall &call, int64_t calledAt,
                         int64_t &sent) {
  Channel &channel = channelOf(call);
  const Communicator &comm = topology.comms[call.comm];
  int64_t me = comm.place[index];
  GroupBuffers &buffers = this->buffers[call.stream];
  buffers.ins.resize(comm.size);
  buffers.outs.resize(comm.size);
  buffers.plans.resize(comm.size);
  std::function<std::string()> what = [this, &call] { return waitsIn(call); };

  if (comm.size > 1) {
    Channel::Slot &slot = channel.slots[me];
    slot.call = call;
    slot.print = fingerprint(call);
    slot.calledAt = std::max(calledAt, readyAt(call.stream));
    if (!meet(channel, what) || !agree(channel, call) ||
        !channel.visitors.enter(waiting()))
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
  sent = bytesSent(call, topology, buffers, me);
  if (comm.size == 1)
    return true;
  channel.visitors.leave();
  // Others have done their part while the link is busy.
  int64_t end = options.link.enabled() ? takeLink(call, sent, channel) : 0;
  uint32_t seen = arrive(channel);
  if (options.link.enabled())
    waiting().waitUntil(end);
  return waiting().wait(channel.turn, seen, what) || outlast(channel);
}
