//===- PlacementMesh.h - The mesh of a module's placements ------*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_PLACEMENTMESH_H
#define DIST_PASSES_SPMD_PLACEMENTMESH_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dist {

/// Whether the function is what one device runs, made by --dist-partition.
bool isOfOneDevice(FunctionOpInterface function);

/// The mesh on which the module's functions are placed; success without one
/// where none is.
FailureOr<MeshOp> getPlacementMesh(Operation *module);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PLACEMENTMESH_H
