//===- LocalRank.h - A rank that reads others' memory -----------*- C++ -*-===//
//
// One rank of a LocalRun, and where ranks meet. The members of a group meet in
// a Channel, one per communicator, group and stream.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LOCAL_LOCALRANK_H
#define DIST_RUNTIME_LOCAL_LOCALRANK_H

#include "runtime/collectives/Transfer.h"
#include "runtime/local/HostRank.h"
#include "runtime/local/LocalRun.h"

namespace dist {

/// Counts the threads that touch memory of others. When a run fails, a thread
/// whose memory they touch must not leave before they have noticed.
class Visitors {
public:
  /// False, and no visit, if the run has failed.
  bool enter(const Waiting &waiting) {
    count.fetch_add(1, std::memory_order_seq_cst);
    if (!waiting.failed())
      return true;
    leave();
    return false;
  }
  void leave() { count.fetch_sub(1, std::memory_order_seq_cst); }
  /// After a failure: waits for the visits to end, which are short; returns
  /// false.
  bool outlast() const {
    while (count.load(std::memory_order_seq_cst) != 0)
      sched_yield();
    return false;
  }

private:
  std::atomic<int> count{0};
};

/// Where a group meets on one stream.
struct Channel {
  Channel(int64_t members, Sharing sharing, std::pmr::memory_resource *memory);

  struct alignas(64) Slot {
    uint64_t print = 0;
    CollectiveCall call;
    /// When the program had called it, and what it waits for was there.
    int64_t calledAt = 0;
  };

  Word turn;
  std::atomic<uint32_t> arrived{0};
  Visitors visitors;
  std::pmr::vector<Slot> slots;
};

class LocalRank final : public HostRank {
public:
  LocalRank(LocalRun &run, int64_t index)
      : HostRank(run, index), run(run),
        channels(topology.comms.size() * numStreams), buffers(numStreams),
        linkFreeAt(topology.mesh.axes.size()) {}

  bool meet() override;
  bool send(const TaskMessage &message, const void *data) override;
  std::shared_ptr<void> receive(const TaskMessage &message) override;

private:
  bool meet(Channel &channel, const std::function<std::string()> &what);
  bool together(const CollectiveCall &call, int64_t calledAt,
                int64_t &bytesSent) override;
  bool agree(const Channel &channel, const CollectiveCall &call);
  /// After a failure; returns false.
  bool outlast(const Channel &channel) const;
  /// Occupies the emulated link for the call, and returns when the transfer is
  /// complete. The transfer starts when the last member has called it, or when
  /// the link has finished earlier transfers. The time at which a stream's
  /// thread gets to it does not count.
  int64_t takeLink(const CollectiveCall &call, int64_t bytes,
                   const Channel &channel);
  Channel &channelOf(const CollectiveCall &call);
  /// When the link that a message takes has it at the other end.
  int64_t takeLink(const TaskMessage &message);

  LocalRun &run;
  std::vector<Channel *> channels;
  /// By stream.
  std::vector<GroupBuffers> buffers;
  /// For each axis of the mesh, when this rank's link along it is free again;
  /// streams share the links.
  std::mutex linkMutex;
  std::vector<int64_t> linkFreeAt;
  /// Likewise of messages, which take no turns with those the other way.
  std::map<std::pair<int32_t, bool>, int64_t> messageLinkFreeAt;
  /// By the other rank.
  std::map<int64_t, TaskSender> senders;
  std::map<int64_t, TaskReceiver> receivers;
};

} // namespace dist

#endif // DIST_RUNTIME_LOCAL_LOCALRANK_H
