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
#include "runtime/messages/Standing.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

namespace dist {

class MessagesRun final : public HostRun {
public:
  /// The ranks of this process, and what each sends by.
  using Links = std::vector<std::pair<int64_t, PointToPoint *>>;

  /// The number of a channel is less.
  static constexpr int32_t numChannels = numStreams + 2;

  /// Threads of this process may keep `cores` busy by waiting.
  MessagesRun(Topology topology, HostOptions options, Links links, size_t cores)
      : HostRun(std::move(topology), options, Sharing::Threads,
                std::pmr::get_default_resource()),
        links(std::move(links)), cores(cores), ledger(ranksOf(this->links)) {}
  ~MessagesRun() override { endWaiting(); }

  bool run(const std::function<int32_t(dist_rank &)> &body) override;

  /// Fails the run for what another process says.
  void fail(const std::string &message) { waiting->fail(message); }
  bool failed() const { return waiting->failed(); }

  /// Gives all ranks the text of rank 0; each calls it, on its own thread,
  /// while no collective is under way. False if the run has failed.
  bool broadcast(int64_t rank, PointToPoint &link, std::string &text);

  /// The same; gives all what each has, texts of one length. Afterwards `text`
  /// is all of them, by rank.
  bool exchange(int64_t rank, PointToPoint &link, std::string &text);

  /// Fails the run if a rank has waited elsewhere for so long (Waiting.h);
  /// whether it has. To be called each second.
  bool limitElsewhere(std::chrono::milliseconds most,
                      std::chrono::milliseconds grace) {
    return waiting->limitElsewhere(most, grace);
  }
  /// Where the ranks of this process stand.
  Standing stand() const;
  /// "rank 1 (tp=1) waits in all_reduce …", of a rank of this process that
  /// does; else "".
  std::string describe() const;

private:
  static std::vector<int64_t> ranksOf(const Links &links);

  std::string &keep(std::string text);

  Links links;
  size_t cores;
  CallLedger ledger;
  std::atomic<bool> hasBegun{false};
  /// Of messages that may be under way after a failure. A rank adds its own.
  std::mutex exchangedMutex;
  std::deque<std::string> exchanged;
};

} // namespace dist

#endif // DIST_RUNTIME_MESSAGES_MESSAGESRUN_H
