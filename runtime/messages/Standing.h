//===- Standing.h - Who waits for whom, over processes ----------*- C++ -*-===//
//
// Processes that share no memory tell one of them, each second, where they
// stand. It finds a deadlock without a moment that all agree on, as two things
// only grow: which calls a rank has begun, and what it has said.
//
//   A rank in a call cannot leave it before all members of its group have begun
//   theirs, since each waits for a word of all others. Say that each process,
//   at a time of its own, was stuck: all of its threads were waiting, and of
//   each call that one was in, a member had not begun its own, by that member's
//   process at its time. Then the first of all ranks to go on after its time
//   would need one that had gone on before. So none ever does.
//
// A process that computes, is stopped or comes late has not said that it is
// stuck, or what it has said is still true.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_MESSAGES_STANDING_H
#define DIST_RUNTIME_MESSAGES_STANDING_H

#include "runtime/rank/Rank.h"

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace dist {

class Waiting;

/// Which calls follow each other: those of a communicator on a stream.
struct CallChannel {
  int32_t comm, stream;
  auto operator<=>(const CallChannel &) const = default;
};

/// In place of a communicator: all ranks meet; rank 0 has something for all.
constexpr int32_t kMeeting = -1, kGiven = -2;

/// A process at one moment.
struct Standing {
  struct Call {
    CallChannel channel;
    /// From 1.
    uint64_t number;
  };
  struct Rank {
    int64_t rank;
    /// The last call of each channel.
    std::map<CallChannel, uint64_t> begun;
    std::vector<Call> waits;
  };
  /// Each thread waits, or there is none left.
  bool isStuck = false;
  std::vector<Rank> ranks;
  /// What each rank waits for, or that it has ended; for messages.
  std::vector<std::string> lines;

  std::string write() const;
  /// Throws Error if the text is none.
  static Standing read(std::string_view text);
};

/// The message of a deadlock of all ranks, or "".
std::string findDeadlock(const Topology &topology,
                         const std::vector<Standing> &processes);

/// What the ranks of this process have begun.
class CallLedger {
public:
  explicit CallLedger(const std::vector<int64_t> &ranks);

  /// A call that a rank is in while this object exists.
  class Entry {
  public:
    /// `call` may be null. A rank that does not wait for all says so.
    Entry(CallLedger &ledger, int64_t rank, CallChannel channel,
          const CollectiveCall *call, bool waits = true);
    ~Entry();
    Entry(const Entry &) = delete;

  private:
    CallLedger &ledger;
    const int64_t rank;
    const int32_t stream;
  };

  /// `line` describes a rank in a call.
  Standing
  stand(const Waiting &waiting,
        const std::function<std::string(int64_t, const CollectiveCall *)> &line)
      const;

private:
  struct State {
    const CollectiveCall *call = nullptr;
    Standing::Call wait = {};
    bool isWaiting = false;
  };
  struct Own {
    std::map<CallChannel, uint64_t> begun;
    std::array<State, numStreams + 1> streams = {};
  };

  mutable std::mutex mutex;
  /// By rank; none is added later.
  std::map<int64_t, Own> ranks;
};

} // namespace dist

#endif // DIST_RUNTIME_MESSAGES_STANDING_H
