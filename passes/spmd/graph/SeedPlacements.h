//===- SeedPlacements.h - What the annotations ask for ----------*- C++ -*-===//
//
// Where placement begins. Needs a graph and placements in which nothing is
// sharded; leaves in these what the module says: shardings of arguments,
// constraints (whose values are pinned), the results of syncs, and what an
// earlier run wrote.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_SEEDPLACEMENTS_H
#define DIST_PASSES_SPMD_GRAPH_SEEDPLACEMENTS_H

#include "passes/spmd/graph/Placements.h"

namespace mlir::dist {

/// Fails, with an error at the op, where annotations contradict each other or
/// ask for pending reductions.
LogicalResult seedPlacements(Operation *module, const PlacementGraph &graph,
                             const MeshLayout &layout, Placements &placements);

/// Decides over which axes parameters are only stored. Needs seeded placements.
void findStoredParameters(const PlacementGraph &graph, Placements &placements);

/// Shards what syncs scatter, where nothing else does. Needs seeded placements.
void seedSyncs(const PlacementGraph &graph, const MeshLayout &layout,
               Placements &placements);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_SEEDPLACEMENTS_H
