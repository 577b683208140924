//===- JoinedWriter.h - One exchange for several layers ---------*- C++ -*-===//

#ifndef DIST_PASSES_HALOS_JOINEDWRITER_H
#define DIST_PASSES_HALOS_JOINEDWRITER_H

#include "passes/halos/HaloGroup.h"

namespace mlir::dist {

/// Writes what is joined in a block: the first exchanges bring more rows, what
/// is in between is computed of more, and what reads a device's own rows of
/// that takes a slice. Rows past the ends are what the exchanges that go would
/// have filled in. Levels are in one group at most. The chains are of no use
/// after.
void writeJoined(HaloChains &chains, const DeviceLine &line,
                 MutableArrayRef<JoinedHalos> groups);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_JOINEDWRITER_H
