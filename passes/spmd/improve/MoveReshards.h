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

#ifndef DIST_PASSES_SPMD_IMPROVE_MOVERESHARDS_H
#define DIST_PASSES_SPMD_IMPROVE_MOVERESHARDS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/graph/PlacedValues.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::dist {

/// Needs a function in which every op has been visited.
void moveReshards(FunctionOpInterface function, const MeshLayout &layout,
                  PlacementGraph &graph, PlacedValues &values);

/// Where two sums that are pending alike are completed alike, and what they
/// become is only added to each other, perhaps with more beside, adds their
/// parts first: one collective in place of two, of the same form. The parallel
/// residual x + attention(x) + mlp(x) under sequence parallelism has one
/// reduce_scatter, also where the schedule asks for one of each module.
/// Needs the same; reshards that are `kept` stay as they are.
void combineSums(FunctionOpInterface function,
                 const llvm::SmallPtrSetImpl<Operation *> &kept,
                 PlacedValues &values);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_IMPROVE_MOVERESHARDS_H
