//===- MessagesRun.cpp - Ranks that send messages -------------------------===//

#include "runtime/messages/MessagesRun.h"
#include "runtime/local/HostRank.h"
#include "runtime/messages/Exchange.h"

#include <cstring>
#include <deque>
#include <map>
#include <memory>

using namespace dist;

namespace {

class MessageRank final : public HostRank {
public:
  MessageRank(HostRun &run, int64_t index, PointToPoint &link,
              CallLedger &ledger)
      : HostRank(run, index), link(link), ledger(ledger) {
    for (int32_t channel = 0; channel <= numStreams; ++channel)
      exchanges.push_back(std::make_unique<Exchange>(topology, index, channel,
                                                     link, waiting()));
  }
  ~MessageRank() override {
    // What a run that has failed has not sent is still read, and what has not
    // come is still written.
    for (Sent &one : sent)
      if (!one.requests.empty())
        new std::shared_ptr<void>(std::move(one.data));
    if (receiving)
      new std::shared_ptr<void>(std::move(receiving));
  }

  bool meet() override {
    CallLedger::Entry entry(ledger, index, {kMeeting, numStreams}, nullptr);
    return exchanges[numStreams]->meet();
  }

  bool send(const TaskMessage &message, const void *data) override;
  std::shared_ptr<void> receive(const TaskMessage &message) override;
  /// All that it has sent has been received.
  bool finish() override;

private:
  /// A message of a task, on its way or used again.
  struct Sent {
    std::shared_ptr<void> data;
    int64_t bytes;
    PointToPoint::Requests requests;
  };
  std::shared_ptr<void> take(int64_t bytes);

  bool together(const CollectiveCall &call, int64_t,
                int64_t &bytesSent) override {
    CallLedger::Entry entry(ledger, index, {call.comm, call.stream}, &call);
    return exchanges[call.stream]->run(call, bytesSent);
  }

  PointToPoint &link;
  CallLedger &ledger;
  std::deque<Sent> sent;
  /// Memory of the message that is waited for.
  std::shared_ptr<void> receiving;
  /// By bytes; also what was received goes back there.
  std::shared_ptr<std::map<int64_t, std::vector<std::shared_ptr<void>>>> spare =
      std::make_shared<std::map<int64_t, std::vector<std::shared_ptr<void>>>>();
  /// By stream; ranks meet by the last.
  std::vector<std::unique_ptr<Exchange>> exchanges;
};

} // namespace

//===----------------------------------------------------------------------===//
// Messages between tasks
//===----------------------------------------------------------------------===//

namespace {
/// Before the data of a message, which stays aligned.
struct alignas(64) Header {
  int64_t tag, bytes;
};
constexpr int32_t kTasks = MessagesRun::numChannels - 1;
} // namespace

std::shared_ptr<void> MessageRank::take(int64_t bytes) {
  std::vector<std::shared_ptr<void>> &list = (*spare)[bytes];
  if (list.empty())
    return allocate(sizeof(Header) + bytes);
  std::shared_ptr<void> data = std::move(list.back());
  list.pop_back();
  return data;
}

bool MessageRank::send(const TaskMessage &message, const void *data) {
  if (failed())
    return false;
  // Those before may have gone.
  for (Sent &one : sent)
    link.poll(one.requests);
  while (!sent.empty() && sent.front().requests.empty()) {
    (*spare)[sent.front().bytes].push_back(std::move(sent.front().data));
    sent.pop_front();
  }
  Sent &one = sent.emplace_back(take(message.bytes), message.bytes);
  auto *header = static_cast<Header *>(one.data.get());
  *header = {message.tag, message.bytes};
  std::memcpy(header + 1, data, message.bytes);
  link.start(kTasks,
             {{message.peer, header, int64_t(sizeof(Header)) + message.bytes}},
             {}, one.requests);
  return true;
}

std::shared_ptr<void> MessageRank::receive(const TaskMessage &message) {
  std::shared_ptr<void> data = take(message.bytes);
  auto *header = static_cast<Header *>(data.get());
  receiving = data;
  PointToPoint::Requests requests;
  link.start(kTasks, {},
             {{message.peer, header, int64_t(sizeof(Header)) + message.bytes}},
             requests);
  if (!link.wait(requests, waiting()))
    return nullptr;
  receiving.reset();
  if (header->tag != message.tag || header->bytes != message.bytes) {
    fail("a message of " + topology.describe(message.peer) + " is number " +
         std::to_string(header->tag) + ", and number " +
         std::to_string(message.tag) + " is waited for");
    return nullptr;
  }
  return {header + 1, [data, bytes = message.bytes, spare = spare](void *) {
            (*spare)[bytes].push_back(data);
          }};
}

bool MessageRank::finish() {
  for (Sent &one : sent)
    if (!link.wait(one.requests, waiting()))
      return false;
  return true;
}

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
