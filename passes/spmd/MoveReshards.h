//===- MoveReshards.h - Reshards where values are smallest ------*- C++ -*-===//
//
// A reshard belongs where its value is smallest: before what repeats, pads or
// widens it, after what slices or narrows it. Ops that only move elements, or
// compute them one by one, may be sharded in any way; here they are sharded
// anew, tree by tree, where that sends fewer bytes, by dynamic programming over
// the ways to place each op of a tree. What a constraint or a sync asked for
// stays where it is.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_MOVERESHARDS_H
#define DIST_PASSES_SPMD_MOVERESHARDS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/PlacedValues.h"

namespace mlir::dist {

/// Needs a function in which every op has been visited.
void moveReshards(FunctionOpInterface function, const MeshLayout &layout,
                  PlacementGraph &graph, PlacedValues &values);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_MOVERESHARDS_H
