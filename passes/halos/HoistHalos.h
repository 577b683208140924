//===- HoistHalos.h - Exchanges where rows are smallest ---------*- C++ -*-===//
//
// A device may compute its neighbours' keys and values from what they are
// projected from, if fewer bytes of that would move. Examples: the layer's
// input, or keys before they are repeated for the heads that share them. Only
// rows beyond the ends of the sequence differ then, and these have no weight in
// the attention.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_HOISTHALOS_H
#define DIST_PASSES_HALOS_HOISTHALOS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/halos/SyncedHalos.h"

namespace mlir::dist {

/// Moves the halo exchanges of keys and values of attentions, in a function of
/// level 3, to where they send the fewest bytes. If syncs have brought rows,
/// keys and values are computed from these. Fails if a sync brought too few,
/// with an error at the sync.
LogicalResult hoistHalos(FunctionOpInterface function,
                         const SyncedHalos &synced);

/// Moves sums that are sent to their owners, in a function of level 3, past ops
/// that only move them or that reduce them. Cotangents of keys that several
/// heads share are then added before they are sent.
void sinkHalos(FunctionOpInterface function);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_HOISTHALOS_H
