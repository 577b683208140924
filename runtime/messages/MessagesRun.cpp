//===- MessagesRun.cpp - Ranks that send messages -------------------------===//

#include "runtime/messages/MessagesRun.h"
#include "runtime/local/HostRank.h"
#include "runtime/messages/Exchange.h"

using namespace dist;

namespace {

class MessageRank final : public HostRank {
public:
  MessageRank(HostRun &run, int64_t index, PointToPoint &link)
      : HostRank(run, index) {
    for (int32_t channel = 0; channel < MessagesRun::numChannels; ++channel)
      exchanges.push_back(std::make_unique<Exchange>(topology, index, channel,
                                                     link, waiting()));
  }

  bool meet() override { return exchanges[numStreams]->meet(); }

private:
  bool together(const CollectiveCall &call, int64_t,
                int64_t &bytesSent) override {
    return exchanges[call.stream]->run(call, bytesSent);
  }

  /// By stream; ranks meet by the last.
  std::vector<std::unique_ptr<Exchange>> exchanges;
};

} // namespace

bool MessagesRun::run(const std::function<int32_t(dist_rank &)> &body) {
  std::vector<std::unique_ptr<HostRank>> ranks;
  for (auto [rank, link] : links)
    ranks.push_back(std::make_unique<MessageRank>(*this, rank, *link));
  return runThreads(ranks, cores, body);
}
