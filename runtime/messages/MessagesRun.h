//===- MessagesRun.h - Ranks that send messages -----------------*- C++ -*-===//
//
// The ranks of this process, most often one. Others are in other processes, on
// any host.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_MESSAGES_MESSAGESRUN_H
#define DIST_RUNTIME_MESSAGES_MESSAGESRUN_H

#include "runtime/local/HostRun.h"
#include "runtime/messages/PointToPoint.h"

#include <mutex>
#include <utility>

namespace dist {

class MessagesRun final : public HostRun {
public:
  /// The ranks of this process, and what each sends by.
  using Links = std::vector<std::pair<int64_t, PointToPoint *>>;

  /// The number of a channel is less.
  static constexpr int32_t numChannels = numStreams + 1;

  /// Threads of this process may keep `cores` busy by waiting.
  MessagesRun(Topology topology, HostOptions options, Links links, size_t cores)
      : HostRun(std::move(topology), options, Sharing::Threads,
                std::pmr::get_default_resource()),
        links(std::move(links)), cores(cores) {}
  ~MessagesRun() override { endWaiting(); }

  bool run(const std::function<int32_t(dist_rank &)> &body) override;

  /// Fails the run for what another process says.
  void fail(const std::string &message) { waiting->fail(message); }
  bool failed() const { return waiting->failed(); }

  /// Gives all ranks the text of rank 0; each calls it, on its own thread,
  /// while no collective is under way. False if the run has failed.
  bool broadcast(int64_t rank, PointToPoint &link, std::string &text);

  /// "rank 1 (tp=1) waits in all_reduce …", of a rank of this process that
  /// does; else "".
  std::string describe() const;

private:
  Links links;
  size_t cores;
  mutable std::mutex mutex;
  std::function<std::string()> describeRanks;
};

} // namespace dist

#endif // DIST_RUNTIME_MESSAGES_MESSAGESRUN_H
