//===- MessagesRun.cpp - Ranks that send messages -------------------------===//

#include "runtime/messages/MessagesRun.h"
#include "runtime/local/HostRank.h"
#include "runtime/messages/Exchange.h"

#include <array>

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

  /// For messages: "" if it is in no collective.
  std::string describe() const {
    std::lock_guard<std::mutex> lock(mutex);
    for (const CollectiveCall *call : current)
      if (call)
        return waitsIn(*call);
    return "";
  }

private:
  bool together(const CollectiveCall &call, int64_t,
                int64_t &bytesSent) override {
    setCurrent(call.stream, &call);
    bool ok = exchanges[call.stream]->run(call, bytesSent);
    setCurrent(call.stream, nullptr);
    return ok;
  }

  void setCurrent(int32_t stream, const CollectiveCall *call) {
    std::lock_guard<std::mutex> lock(mutex);
    current[stream] = call;
  }

  /// What each stream is doing.
  mutable std::mutex mutex;
  std::array<const CollectiveCall *, numStreams> current = {};
  /// By stream; ranks meet by the last.
  std::vector<std::unique_ptr<Exchange>> exchanges;
};

} // namespace

bool MessagesRun::run(const std::function<int32_t(dist_rank &)> &body) {
  std::vector<std::unique_ptr<HostRank>> ranks;
  std::vector<const MessageRank *> own;
  for (auto [rank, link] : links) {
    auto made = std::make_unique<MessageRank>(*this, rank, *link);
    own.push_back(made.get());
    ranks.push_back(std::move(made));
  }
  auto setDescribe = [this](std::function<std::string()> describe) {
    std::lock_guard<std::mutex> lock(mutex);
    describeRanks = std::move(describe);
  };
  setDescribe([own] {
    std::string text;
    for (const MessageRank *rank : own)
      if (text = rank->describe(); !text.empty())
        break;
    return text;
  });
  bool ok = runThreads(ranks, cores, body);
  setDescribe(nullptr);
  return ok;
}

std::string MessagesRun::describe() const {
  std::lock_guard<std::mutex> lock(mutex);
  return describeRanks ? describeRanks() : "";
}

bool MessagesRun::broadcast(int64_t rank, PointToPoint &link,
                            std::string &text) {
  PointToPoint::Requests requests;
  auto length = static_cast<int64_t>(text.size());
  // The length, then the text if there is one.
  for (bool isText : {false, true}) {
    text.resize(length);
    char *data = isText ? text.data() : reinterpret_cast<char *>(&length);
    int64_t bytes = isText ? length : int64_t(sizeof length);
    if (bytes == 0)
      break;
    std::vector<PointToPoint::Outgoing> sends;
    std::vector<PointToPoint::Incoming> receives;
    if (rank != 0)
      receives.push_back({0, data, bytes});
    for (int64_t to = 1; rank == 0 && to < places.mesh.size(); ++to)
      sends.push_back({to, data, bytes});
    link.start(numStreams, sends, receives, requests);
    if (!link.wait(requests, *waiting))
      return false;
  }
  return true;
}
