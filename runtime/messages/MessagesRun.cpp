//===- MessagesRun.cpp - Ranks that send messages -------------------------===//

#include "runtime/messages/MessagesRun.h"
#include "runtime/local/HostRank.h"
#include "runtime/messages/Exchange.h"

#include <memory>

using namespace dist;

namespace {

class MessageRank final : public HostRank {
public:
  MessageRank(HostRun &run, int64_t index, PointToPoint &link,
              CallLedger &ledger)
      : HostRank(run, index), ledger(ledger) {
    for (int32_t channel = 0; channel < MessagesRun::numChannels; ++channel)
      exchanges.push_back(std::make_unique<Exchange>(topology, index, channel,
                                                     link, waiting()));
  }

  bool meet() override {
    CallLedger::Entry entry(ledger, index, {kMeeting, numStreams}, nullptr);
    return exchanges[numStreams]->meet();
  }

private:
  bool together(const CollectiveCall &call, int64_t,
                int64_t &bytesSent) override {
    CallLedger::Entry entry(ledger, index, {call.comm, call.stream}, &call);
    return exchanges[call.stream]->run(call, bytesSent);
  }

  CallLedger &ledger;
  /// By stream; ranks meet by the last.
  std::vector<std::unique_ptr<Exchange>> exchanges;
};

} // namespace

std::vector<int64_t> MessagesRun::ranksOf(const Links &links) {
  std::vector<int64_t> ranks;
  for (const auto &[rank, link] : links)
    ranks.push_back(rank);
  return ranks;
}

bool MessagesRun::run(const std::function<int32_t(dist_rank &)> &body) {
  std::vector<std::unique_ptr<HostRank>> ranks;
  for (auto [rank, link] : links)
    ranks.push_back(std::make_unique<MessageRank>(*this, rank, *link, ledger));
  return runThreads(ranks, cores, [&](dist_rank &rank) {
    hasBegun = true;
    return body(rank);
  });
}

Standing MessagesRun::stand() const {
  Standing standing =
      ledger.stand(*waiting, [&](int64_t rank, const CollectiveCall *call) {
        return call ? places.waitsIn(rank, *call)
                    : places.describe(rank) + " is ready to start or stop";
      });
  standing.isStuck &= hasBegun;
  return standing;
}

std::string MessagesRun::describe() const {
  for (const std::string &line : stand().lines)
    if (line.find(" waits ") != std::string::npos)
      return line;
  return "";
}

std::string &MessagesRun::keep(std::string text) {
  std::lock_guard<std::mutex> lock(exchangedMutex);
  return exchanged.emplace_back(std::move(text));
}

bool MessagesRun::broadcast(int64_t rank, PointToPoint &link,
                            std::string &text) {
  CallLedger::Entry entry(ledger, rank, {kGiven, numStreams}, nullptr,
                          /*waits=*/rank != 0);
  PointToPoint::Requests requests;
  // A failure leaves messages under way: what they are of is given up then.
  auto length = std::make_unique<int64_t>(text.size());
  auto sent = std::make_unique<std::string>(std::move(text));
  // The length, then the text if there is one.
  for (bool isText : {false, true}) {
    sent->resize(*length);
    char *data = isText ? sent->data() : reinterpret_cast<char *>(length.get());
    int64_t bytes = isText ? *length : int64_t(sizeof *length);
    if (bytes == 0)
      break;
    std::vector<PointToPoint::Outgoing> sends;
    std::vector<PointToPoint::Incoming> receives;
    if (rank != 0)
      receives.push_back({0, data, bytes});
    for (int64_t to = 1; rank == 0 && to < places.mesh.size(); ++to)
      sends.push_back({to, data, bytes});
    link.start(numStreams, sends, receives, requests);
    if (!link.wait(requests, *waiting)) {
      length.release();
      sent.release();
      return false;
    }
  }
  text = std::move(*sent);
  return true;
}

bool MessagesRun::exchange(int64_t rank, PointToPoint &link,
                           std::string &text) {
  int64_t ranks = places.mesh.size(), bytes = text.size();
  const std::string &own = keep(text);
  std::string &all = keep(text);
  {
    CallLedger::Entry entry(ledger, rank, {kGiven, numStreams}, nullptr,
                            /*waits=*/rank == 0);
    std::vector<PointToPoint::Outgoing> sends;
    std::vector<PointToPoint::Incoming> receives;
    all.resize(ranks * bytes);
    if (rank != 0)
      sends.push_back({0, own.data(), bytes});
    for (int64_t from = 1; rank == 0 && from < ranks; ++from)
      receives.push_back({from, all.data() + from * bytes, bytes});
    PointToPoint::Requests requests;
    link.start(numStreams, sends, receives, requests);
    if (!link.wait(requests, *waiting))
      return false;
  }
  bool ok = broadcast(rank, link, all);
  text = all;
  return ok;
}
