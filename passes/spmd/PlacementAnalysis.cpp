//===- PlacementAnalysis.cpp - A module, and where it is placed -----------===//

#include "passes/spmd/PlacementAnalysis.h"
#include "passes/spmd/PlacementMesh.h"
#include "passes/spmd/SeedPlacements.h"

using namespace mlir;
using namespace mlir::dist;

/// The mesh that all annotations name, null where they name none.
static FailureOr<FlatSymbolRefAttr> findMeshName(Operation *module) {
  // All shardings must speak of one mesh.
  FlatSymbolRefAttr mesh;
  LogicalResult status = success();
  auto see = [&](Operation *at, FlatSymbolRefAttr name) {
    if (!name || failed(status))
      return;
    if (mesh && mesh != name)
      status = at->emitOpError()
               << "is placed on mesh " << name << ", but others are on " << mesh
               << "; one mesh a module is supported";
    mesh = name;
  };
  module->walk([&](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      if (isOfOneDevice(function) && succeeded(status))
        status = op->emitOpError()
                 << "is the program of one device already ('" << kGlobalTypeAttr
                 << "'): it cannot be placed again";
      for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
        if (auto s = function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr))
          see(op, s.getMesh());
      for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
        if (auto s =
                function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr))
          see(op, s.getMesh());
    } else if (auto constraint = dyn_cast<ShardingConstraintOp>(op)) {
      see(op, constraint.getSharding().getMesh());
    } else if (auto sync = dyn_cast<SyncOp>(op)) {
      if (sync.getMeshAttr() && sync.getOperand())
        see(op, sync.getMeshAttr());
    }
  });
  if (failed(status))
    return failure();
  return mesh;
}

LogicalResult PlacementAnalysis::build(Operation *module) {
  FailureOr<FlatSymbolRefAttr> name = findMeshName(module);
  if (failed(name))
    return failure();
  Block &body = module->getRegion(0).front();
  if (body.empty())
    return success();
  MeshOp mesh = lookupMesh(&body.front(), *name);
  if (!mesh) {
    bool hasSync = module
                       ->walk([&](SyncOp sync) {
                         return sync.getOperand() ? WalkResult::interrupt()
                                                  : WalkResult::advance();
                       })
                       .wasInterrupted();
    if (*name || hasSync)
      return module->emitOpError()
             << "has no dist.mesh that its placements could be on";
    return success();
  }
  layout.emplace(mesh);
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
