//===- PlacementMesh.cpp - The mesh of a module's placements --------------===//

#include "passes/spmd/PlacementMesh.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::isOfOneDevice(FunctionOpInterface function) {
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (function.getArgAttr(i, kGlobalTypeAttr))
      return true;
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    if (function.getResultAttr(i, kGlobalTypeAttr))
      return true;
  return false;
}

FailureOr<MeshOp> mlir::dist::getPlacementMesh(Operation *module) {
  for (auto function : module->getRegion(0).getOps<FunctionOpInterface>()) {
    FlatSymbolRefAttr name;
    for (unsigned i = 0, e = function.getNumArguments(); i < e && !name; ++i)
      if (auto s = function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr))
        name = s.getMesh();
    for (unsigned i = 0, e = function.getNumResults(); i < e && !name; ++i)
      if (auto s = function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr))
        name = s.getMesh();
    if (!name)
      continue;
    if (MeshOp mesh = lookupMesh(function, name))
      return mesh;
    return module->emitError() << "has no mesh " << name;
  }
  return MeshOp();
}
