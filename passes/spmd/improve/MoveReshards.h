//===- MoveReshards.h - Reshards where values are smallest ------*- C++ -*-===//
//
// A reshard should stand where its value is smallest: before ops that repeat,
// pad or widen it, after ops that slice or narrow it. Ops that only move
// elements, or compute them one by one, may be sharded in any way. Here they
// are sharded again, tree by tree, if that sends fewer bytes: dynamic
// programming over the placements of each op of a tree. Reshards for
// constraints and syncs stay.
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

/// Merges the collectives of two sums that are pending in the same way and
/// completed in the same way. If the results are only added to each other,
/// perhaps with more terms, their parts are added first: one collective instead
/// of two. Under sequence parallelism, the parallel residual x + attention(x) +
/// mlp(x) has one reduce_scatter, also if the schedule asks for one for each
/// module. Needs the same; reshards that are `kept` stay as they are.
void combineSums(FunctionOpInterface function,
                 const llvm::SmallPtrSetImpl<Operation *> &kept,
                 PlacedValues &values);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_IMPROVE_MOVERESHARDS_H
