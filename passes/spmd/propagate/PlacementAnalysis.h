//===- PlacementAnalysis.h - A module, and where it is placed ---*- C++ -*-===//
//
// What the passes to level 2 share: the mesh, the graph of the module, and the
// placements of its values. Seeded from the annotations when it is made.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PROPAGATE_PLACEMENTANALYSIS_H
#define DIST_PASSES_SPMD_PROPAGATE_PLACEMENTANALYSIS_H

#include "mlir/Pass/AnalysisManager.h"
#include "passes/spmd/propagate/Propagation.h"
#include <optional>

namespace mlir::dist {

/// Erases what only gradients need, syncs of the backward pass, from a program
/// that is about to be placed. Before the analysis, which does not change it.
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

  /// Why the module cannot be placed; success where there is nothing wrong.
  LogicalResult getStatus() const { return status; }
  /// Null where no mesh is in use: then there is nothing else either.
  const MeshLayout *getLayout() const { return layout ? &*layout : nullptr; }
  PlacementGraph &getGraph() { return graph; }
  Placements &getPlacements() { return *placements; }

  /// Seeds what syncs scatter, and propagates.
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
