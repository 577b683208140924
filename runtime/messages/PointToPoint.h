//===- PointToPoint.h - Messages between ranks ------------------*- C++ -*-===//
//
// What a library of messages (MPI) has to offer.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_MESSAGES_POINTTOPOINT_H
#define DIST_RUNTIME_MESSAGES_POINTTOPOINT_H

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
};

} // namespace dist

#endif // DIST_RUNTIME_MESSAGES_POINTTOPOINT_H
