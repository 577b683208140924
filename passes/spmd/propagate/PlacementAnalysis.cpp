//===- PlacementAnalysis.cpp - A module, and where it is placed -----------===//

#include "passes/spmd/propagate/PlacementAnalysis.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "passes/spmd/graph/SeedPlacements.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether anything asks for a placement.
static bool asksForPlacement(ModuleOp module) {
  if (module.getOps<MeshOp>().empty())
    return getLevel(module) > 0;
  return module
      .walk([](SyncOp sync) {
        return sync.getOperand() ? WalkResult::interrupt()
                                 : WalkResult::advance();
      })
      .wasInterrupted();
}

void mlir::dist::eraseBackwardSyncs(Operation *module) {
  module->walk([](SyncOp sync) {
    if (!sync.getOperand() || sync.getMode() != SyncMode::BwdPost)
      return;
    sync.getResult().replaceAllUsesWith(sync.getOperand());
    sync.erase();
  });
}

LogicalResult PlacementAnalysis::build(Operation *root,
                                       MeshLayout::Merging merging) {
  auto module = cast<ModuleOp>(root);
  if (getLevel(module) == 3) {
    auto functions = module.getOps<FunctionOpInterface>();
    return emitError(functions.empty() ? module.getLoc()
                                       : (*functions.begin()).getLoc())
           << "is the program of one device already: it cannot be placed again";
  }
  FailureOr<MeshOp> mesh = findProgramMesh(module);
  if (failed(mesh))
    return failure();
  if (!*mesh) {
    if (asksForPlacement(module))
      return module.emitError()
             << "has no dist.mesh that its placements could be on";
    return success();
  }
  layout.emplace(*mesh, merging);
  if (failed(graph.build(module)))
    return failure();
  placements.emplace(graph, *layout);
  if (failed(seedPlacements(module, graph, *layout, *placements)))
    return failure();
  findStoredParameters(graph, *placements);
  return success();
}

void PlacementAnalysis::propagate(LostProposals *lost) {
  seedSyncs(graph, *layout, *placements);
  dist::propagate(graph, *layout, *placements, lost);
}
