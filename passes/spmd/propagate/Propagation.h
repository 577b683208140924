//===- Propagation.h - Spreads placements over the graph --------*- C++ -*-===//
//
// Needs seeded placements; leaves them grown along the factors of nodes until
// nothing changes, and final. What was there stays.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PROPAGATE_PROPAGATION_H
#define DIST_PASSES_SPMD_PROPAGATE_PROPAGATION_H

#include "passes/spmd/graph/Placements.h"

namespace mlir::dist {

/// What a node would have a dimension of a value be.
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
