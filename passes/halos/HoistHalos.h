//===- HoistHalos.h - Exchanges where rows are smallest ---------*- C++ -*-===//
//
// Neighbours' keys and values may be computed here of what they are made of,
// where fewer bytes of that would move: of the layer's input, of which keys and
// values are projections; or of keys before they are repeated for the groups of
// heads that share them. Only rows beyond the ends of the sequence come out
// otherwise, and these have no weight in the attention.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_HOISTHALOS_H
#define DIST_PASSES_HALOS_HOISTHALOS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/halos/SyncedHalos.h"

namespace mlir::dist {

/// Moves the halo exchanges of keys and values of attentions in a function of
/// level 3 to where they send the fewest bytes; of what syncs have brought,
/// keys and values are computed from there. Fails where that is not enough,
/// with an error at the sync.
LogicalResult hoistHalos(FunctionOpInterface function,
                         const SyncedHalos &synced);

/// Moves sums that go home in a function of level 3 past ops that only move
/// them, or add them up to fewer: cotangents of keys that several heads share
/// are added before they are sent.
void sinkHalos(FunctionOpInterface function);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_HOISTHALOS_H
