//===- SeedPlacements.h - Placements that annotations ask for ---*- C++ -*-===//
//
// Where placement starts. Needs a graph, and placements in which nothing is
// sharded. Leaves the placements that the module has: shardings of arguments,
// constraints (whose values are pinned), results of syncs, and shardings from
// an earlier run.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_SEEDPLACEMENTS_H
#define DIST_PASSES_SPMD_GRAPH_SEEDPLACEMENTS_H

#include "passes/spmd/graph/Placements.h"

namespace mlir::dist {

/// Fails, with an error at the op, if annotations contradict each other or ask
/// for pending reductions.
LogicalResult seedPlacements(Operation *module, const PlacementGraph &graph,
                             const MeshLayout &layout, Placements &placements);

/// Decides over which axes parameters are stored only. Needs seeded placements.
void findStoredParameters(const PlacementGraph &graph, Placements &placements);

/// Shards the results of scatters in syncs, unless something else shards them.
/// Needs seeded placements.
void seedSyncs(const PlacementGraph &graph, const MeshLayout &layout,
               Placements &placements);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_SEEDPLACEMENTS_H
