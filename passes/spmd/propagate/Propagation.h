//===- Propagation.h - Spreads placements over the graph --------*- C++ -*-===//
//
// Needs seeded placements. Lets them grow along the factors of nodes until
// nothing changes; then they are final. Seeded placements stay.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PROPAGATE_PROPAGATION_H
#define DIST_PASSES_SPMD_PROPAGATE_PROPAGATION_H

#include "passes/spmd/graph/Placements.h"

namespace mlir::dist {

/// The sharding that a node proposes for a dimension of a value.
struct Proposal {
  unsigned value, dim;
  DimShardingAttr sharding;
  unsigned cause, node;
  bool isPinned;
  /// Bytes that stay in place.
  int64_t score;
};

/// Proposals that lost, by value and dimension.
using LostProposals =
    llvm::DenseMap<std::pair<unsigned, unsigned>, SmallVector<Proposal, 1>>;

/// Fills `lost`, if given, for explanations.
void propagate(const PlacementGraph &graph, const MeshLayout &layout,
               Placements &placements, LostProposals *lost = nullptr);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PROPAGATE_PROPAGATION_H
