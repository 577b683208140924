//===- InFlight.h - Nobody touches what a call has in flight ----*- C++ -*-===//
//
// For the debug modes of streams (dist/StreamMode.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_RANK_INFLIGHT_H
#define DIST_RUNTIME_RANK_INFLIGHT_H

#include "runtime/rank/Rank.h"

namespace dist {

/// A collective between its start and its wait. Its result is poisoned at the
/// start: every byte 255, which makes floats NaN. From then on neither operand
/// nor result may change but by the call.
class InFlight {
public:
  InFlight(const CollectiveCall &call, const Topology &topology);

  /// Empty, or what has changed.
  std::string check() const;
  /// The call has been done: its result is there, and has to stay.
  void arrive();

  /// The count of completed tasks of the stream that includes the call.
  uint32_t at = 0;

private:
  const CollectiveCall call;
  const Topology &topology;
  int64_t inBytes, outBytes;
  uint64_t inSum, outSum;
};

} // namespace dist

#endif // DIST_RUNTIME_RANK_INFLIGHT_H
