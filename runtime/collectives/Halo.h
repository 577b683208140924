//===- Halo.h - Which rows of a halo are whose ------------------*- C++ -*-===//
//
// A member's window is its block with the halo: rows before and after it, which
// other members' blocks have.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_COLLECTIVES_HALO_H
#define DIST_RUNTIME_COLLECTIVES_HALO_H

#include "runtime/collectives/Copies.h"

namespace dist {

/// As findCopies, of halo_exchange and halo_reduce. The outer dimension is the
/// first loop.
std::vector<Copy> findHaloCopies(const CollectiveCall &call,
                                 const Communicator &comm, int64_t from,
                                 int64_t to);

/// As fillRest, of halo_exchange.
void fillHalo(const CollectiveCall &call, const Communicator &comm, int64_t me,
              char *out, OperandMemory &memory);

} // namespace dist

#endif // DIST_RUNTIME_COLLECTIVES_HALO_H
