//===- JoinedWriter.h - One exchange for several layers ---------*- C++ -*-===//

#ifndef DIST_PASSES_HALOS_JOINEDWRITER_H
#define DIST_PASSES_HALOS_JOINEDWRITER_H

#include "passes/halos/HaloGroup.h"

namespace mlir::dist {

/// Joins exchanges in a block. The first exchanges bring more rows, and the ops
/// in between compute more rows. Readers of a device's own rows take a slice.
/// Rows past the ends get the values that the removed exchanges filled in. A
/// level is in one group at most. The chains are invalid afterwards.
void writeJoined(HaloChains &chains, const DeviceLine &line,
                 MutableArrayRef<JoinedHalos> groups);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_JOINEDWRITER_H
