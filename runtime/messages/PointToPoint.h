//===- PointToPoint.h - Messages between ranks ------------------*- C++ -*-===//
//
// What a library of messages (MPI) has to offer: messages, and perhaps
// reductions of its own.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_MESSAGES_POINTTOPOINT_H
#define DIST_RUNTIME_MESSAGES_POINTTOPOINT_H

#include "dist/runtime.h"
#include "runtime/local/Waiting.h"

#include <cstdint>
#include <vector>

namespace dist {

class PointToPoint {
public:
  struct Outgoing {
    int64_t rank;
    const void *data;
    int64_t bytes;
  };
  struct Incoming {
    int64_t rank;
    void *data;
    int64_t bytes;
  };
  /// What has been started and is not done; its numbers are the library's.
  using Requests = std::vector<int64_t>;

  virtual ~PointToPoint() = default;

  /// Starts to send and receive. Between two ranks, messages of a channel come
  /// in the order in which they were sent. Both know how long they are; none is
  /// empty. Memory must stay until they are done. Throws Error.
  virtual void start(int32_t channel, const std::vector<Outgoing> &sends,
                     const std::vector<Incoming> &receives,
                     Requests &requests) = 0;

  /// Waits until all of `requests` are done, and clears them. False if the run
  /// of `waiting` has failed meanwhile. Throws Error.
  virtual bool wait(Requests &requests, const Waiting &waiting) = 0;

  /// Removes those of `requests` that are done. Throws Error.
  virtual void poll(Requests &requests) = 0;

  /// A reduction by the library, in an order of its own.
  struct Reduction {
    /// Number of the communicator in the topology.
    int32_t comm;
    dist_dtype dtype;
    dist_op op;
    /// `in` may be `out` if all get all.
    const void *in;
    void *out;
    int64_t count;
    /// Null if all get all. Else how many of the `count` elements each member
    /// gets, by place; to stay until it is done.
    const int32_t *counts = nullptr;
  };
  /// Whether such reductions are wanted over communicator `comm`, and the
  /// library has this one: its results are those in the order of places, but
  /// for rounding. All members hear the same.
  virtual bool canReduce(int32_t comm, dist_dtype, dist_op) const {
    return false;
  }
  /// Starts one. Those of a communicator are started in the same order by all
  /// members: a program has it on one stream (VerifySchedule.cpp). Throws
  /// Error.
  virtual void startReduction(const Reduction &, Requests &) {}
};

} // namespace dist

#endif // DIST_RUNTIME_MESSAGES_POINTTOPOINT_H
