//===- PlacementAnalysis.h - A module and its placements --------*- C++ -*-===//
//
// Shared by the passes to level 2: the mesh, the graph of the module, and the
// placements of its values. Seeded from the annotations when it is created.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PROPAGATE_PLACEMENTANALYSIS_H
#define DIST_PASSES_SPMD_PROPAGATE_PLACEMENTANALYSIS_H

#include "mlir/Pass/AnalysisManager.h"
#include "passes/spmd/propagate/Propagation.h"
#include <optional>

namespace mlir::dist {

/// Erases syncs of the backward pass, which only gradients need, from a program
/// that is about to be placed. To be called before the analysis, which does not
/// change the program.
void eraseBackwardSyncs(Operation *module);

class PlacementAnalysis {
public:
  explicit PlacementAnalysis(Operation *module, MeshLayout::Merging merging =
                                                    MeshLayout::Merging::Even)
      : status(build(module, merging)) {}
  PlacementAnalysis(const PlacementAnalysis &) = delete;

  /// Analyses of the module survive until the placements are lowered.
  bool isInvalidated(const AnalysisManager::PreservedAnalyses &preserved) {
    return !preserved.isPreserved<PlacementAnalysis>();
  }

  /// Why the module cannot be placed; success if it can.
  LogicalResult getStatus() const { return status; }
  /// Null if no mesh is in use: then the others are null, too.
  const MeshLayout *getLayout() const { return layout ? &*layout : nullptr; }
  PlacementGraph &getGraph() { return graph; }
  Placements &getPlacements() { return *placements; }

  /// Seeds the scatters of syncs, and propagates.
  void propagate(LostProposals *lost = nullptr);

private:
  LogicalResult build(Operation *module, MeshLayout::Merging merging);

  std::optional<MeshLayout> layout;
  PlacementGraph graph;
  std::optional<Placements> placements;
  LogicalResult status;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PROPAGATE_PLACEMENTANALYSIS_H
