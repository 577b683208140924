//===- Halo.h - Halos in shared memory --------------------------*- C++ -*-===//
//
// A member's window is its block with the halo: rows before and after it, which
// other members' blocks have.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_COLLECTIVES_HALO_H
#define DIST_RUNTIME_COLLECTIVES_HALO_H

#include "runtime/collectives/Transfer.h"

namespace dist {

/// Fills the window of `me`.
void haloExchange(const CollectiveCall &call, const Communicator &comm,
                  const GroupBuffers &buffers, int64_t me);

/// Adds up what members' windows hold of the block of `me`.
void haloReduce(const CollectiveCall &call, const Communicator &comm,
                const GroupBuffers &buffers, int64_t me);

} // namespace dist

#endif // DIST_RUNTIME_COLLECTIVES_HALO_H
