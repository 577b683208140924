//===- Transfer.h - Collectives in shared memory ----------------*- C++ -*-===//
//
// What one member of a group does in a collective, when it can read all
// members' operands: it computes its part of the results and nobody else's.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_COLLECTIVES_TRANSFER_H
#define DIST_RUNTIME_COLLECTIVES_TRANSFER_H

#include "runtime/rank/Rank.h"

#include <vector>

namespace dist {

/// The buffers of all members, by place.
struct GroupBuffers {
  std::vector<const char *> ins;
  std::vector<char *> outs;
  /// Of calls that have some; else null.
  std::vector<const RowPlan *> plans;
};

/// Bytes that `me` sends: as in the manifest's entry of the call, or as in
/// plans of rows.
int64_t bytesSent(const CollectiveCall &call, const Topology &topology,
                  const GroupBuffers &buffers, int64_t me);

/// The part of `me` in `call`. Writes
/// its own output; for all_reduce its share of every member's output instead.
void transfer(const CollectiveCall &call, const Communicator &comm,
              const GroupBuffers &buffers, int64_t me);

} // namespace dist

#endif // DIST_RUNTIME_COLLECTIVES_TRANSFER_H
