//===- Rows.h - Rows that indices name, in shared memory --------*- C++ -*-===//
//
// What one member does where rows are looked up, or added up, by plans.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_COLLECTIVES_ROWS_H
#define DIST_RUNTIME_COLLECTIVES_ROWS_H

#include "runtime/collectives/Transfer.h"

namespace dist {

/// Puts the rows that the indices of `me` name into its output.
void gatherRows(const CollectiveCall &call, const Communicator &comm,
                const GroupBuffers &buffers, int64_t me);

/// Adds up what all members' indices send to the rows of `me`.
void reduceRows(const CollectiveCall &call, const Communicator &comm,
                const GroupBuffers &buffers, int64_t me);

/// Bytes that `me` sends in either.
int64_t rowBytesSent(const CollectiveCall &call, const GroupBuffers &buffers,
                     int64_t me);

} // namespace dist

#endif // DIST_RUNTIME_COLLECTIVES_ROWS_H
