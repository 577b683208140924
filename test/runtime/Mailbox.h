//===- Mailbox.h - Messages between threads, for tests ----------*- C++ -*-===//
//
// Takes nothing before it is received, so that memory that is used too early
// shows. A message that is longer or shorter than expected is an error. If
// asked to, it has reductions of its own, which begin with the last place.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_RUNTIME_MAILBOX_H
#define DIST_TEST_RUNTIME_MAILBOX_H

#include "dist/Tensor.h"
#include "runtime/collectives/Reduce.h"
#include "runtime/messages/PointToPoint.h"
#include "runtime/rank/Rank.h"

#include <algorithm>
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
  /// With a topology, whose communicators it reduces over.
  explicit Mailbox(const Topology *reduces = nullptr) : reduces(reduces) {}

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

    void poll(Requests &requests) override {
      std::lock_guard<std::mutex> lock(box.mutex);
      std::erase_if(requests, [&](int64_t request) {
        return box.open.at(request).isDone && box.open.erase(request);
      });
    }

    bool canReduce(int32_t, dist_dtype, dist_op) const override {
      return box.reduces;
    }
    void startReduction(const Reduction &one, Requests &requests) override {
      std::lock_guard<std::mutex> lock(box.mutex);
      const Communicator &comm = box.reduces->comms[one.comm];
      int64_t turn = turns[one.comm]++;
      auto &parts = box.reductions[{one.comm, comm.group[rank], turn}];
      parts.resize(comm.size);
      parts[comm.place[rank]] = {box.next, one};
      requests.push_back(box.next);
      box.open.emplace(box.next++, State());
      if (std::all_of(parts.begin(), parts.end(),
                      [](const auto &part) { return part.first; })) {
        box.reduce(parts);
        box.reductions.erase({one.comm, comm.group[rank], turn});
      }
    }

  private:
    Mailbox &box;
    const int64_t rank;
    /// How many reductions it has started, by communicator.
    std::map<int32_t, int64_t> turns;
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

  /// Of all members, by place.
  void reduce(
      const std::vector<std::pair<int64_t, PointToPoint::Reduction>> &parts) {
    const PointToPoint::Reduction &first = parts[0].second;
    int64_t size = dtypeBytes(first.dtype);
    std::vector<char> whole(first.count * size);
    std::vector<const char *> ins;
    for (const auto &[id, part] : parts)
      ins.insert(ins.begin(), static_cast<const char *>(part.in));
    reduceBuffers(first.dtype, first.op, ins, {whole.data()}, first.count);
    const char *at = whole.data();
    for (size_t place = 0; place < parts.size(); ++place) {
      const auto &[id, part] = parts[place];
      if (part.count != first.count || part.op != first.op)
        open.at(id).error = "members of a group reduce something else";
      int64_t bytes = (part.counts ? part.counts[place] : part.count) * size;
      if (bytes > 0)
        std::memcpy(part.out, at, bytes);
      at += part.counts ? bytes : 0;
      open.at(id).isDone = true;
    }
  }

  const Topology *reduces;
  std::mutex mutex;
  int64_t next = 1;
  std::map<std::tuple<int32_t, int64_t, int64_t>,
           std::vector<std::pair<int64_t, PointToPoint::Reduction>>>
      reductions;
  std::map<int64_t, State> open;
  std::map<Way, std::deque<std::pair<int64_t, PointToPoint::Outgoing>>> sent;
  std::map<Way, std::deque<std::pair<int64_t, PointToPoint::Incoming>>> wanted;
};

} // namespace dist::test

#endif // DIST_TEST_RUNTIME_MAILBOX_H
