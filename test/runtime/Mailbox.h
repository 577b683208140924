//===- Mailbox.h - Messages between threads, for tests ----------*- C++ -*-===//
//
// Takes nothing before it is received, so that memory that is used too early
// shows. A message that is longer or shorter than expected is an error.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_RUNTIME_MAILBOX_H
#define DIST_TEST_RUNTIME_MAILBOX_H

#include "dist/Tensor.h"
#include "runtime/messages/PointToPoint.h"

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <sched.h>
#include <string>
#include <tuple>

namespace dist::test {

class Mailbox {
public:
  class Link final : public PointToPoint {
  public:
    Link(Mailbox &box, int64_t rank) : box(box), rank(rank) {}

    void start(int32_t channel, const std::vector<Outgoing> &sends,
               const std::vector<Incoming> &receives,
               Requests &requests) override {
      std::lock_guard<std::mutex> lock(box.mutex);
      for (const Outgoing &one : sends) {
        if (one.rank == rank || one.bytes <= 0)
          throw Error("a message to itself, or an empty one");
        requests.push_back(box.next);
        box.sent[{rank, one.rank, channel}].push_back({box.next, one});
        box.open.emplace(box.next++, State());
      }
      for (const Incoming &one : receives) {
        requests.push_back(box.next);
        box.wanted[{one.rank, rank, channel}].push_back({box.next, one});
        box.open.emplace(box.next++, State());
        box.deliver({one.rank, rank, channel});
      }
      for (const Outgoing &one : sends)
        box.deliver({rank, one.rank, channel});
    }

    bool wait(Requests &requests, const Waiting &waiting) override {
      while (!requests.empty()) {
        if (waiting.failed())
          return false;
        {
          std::lock_guard<std::mutex> lock(box.mutex);
          State state = box.open.at(requests.back());
          if (!state.error.empty())
            throw Error(state.error);
          if (state.isDone) {
            box.open.erase(requests.back());
            requests.pop_back();
            continue;
          }
        }
        sched_yield();
      }
      return true;
    }

  private:
    Mailbox &box;
    const int64_t rank;
  };

private:
  using Way = std::tuple<int64_t, int64_t, int32_t>;
  struct State {
    bool isDone = false;
    std::string error;
  };

  void deliver(const Way &way) {
    auto &from = sent[way];
    auto &to = wanted[way];
    while (!from.empty() && !to.empty()) {
      auto [sendId, send] = from.front();
      auto [receiveId, receive] = to.front();
      from.pop_front();
      to.pop_front();
      if (send.bytes != receive.bytes)
        open.at(receiveId).error =
            "a message of " + std::to_string(send.bytes) + " bytes, where " +
            std::to_string(receive.bytes) + " are expected";
      else
        std::memcpy(receive.data, send.data, send.bytes);
      open.at(sendId).isDone = open.at(receiveId).isDone = true;
    }
  }

  std::mutex mutex;
  int64_t next = 1;
  std::map<int64_t, State> open;
  std::map<Way, std::deque<std::pair<int64_t, PointToPoint::Outgoing>>> sent;
  std::map<Way, std::deque<std::pair<int64_t, PointToPoint::Incoming>>> wanted;
};

} // namespace dist::test

#endif // DIST_TEST_RUNTIME_MAILBOX_H
