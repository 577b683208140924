//===- OpPlacement.h - Check of an op's placement ---------------*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_GRAPH_OPPLACEMENT_H
#define DIST_PASSES_SPMD_GRAPH_OPPLACEMENT_H

#include "dialects/dist/Interfaces/ExclusiveSums.h"

namespace mlir::dist {

/// Checks the placements of an op's operands and results, in this order (null
/// for values that are not ranked tensors). They must be those of one sharding
/// of its factors. Reductions must be pending where sharded factors leave them,
/// or where the op commutes with them, or where they are `exclusive` and pass.
/// No others may be pending. Otherwise emits an error at the op that names the
/// values that disagree.
LogicalResult verifyOpPlacement(Operation *op, const ShardingRule &rule,
                                const MeshLayout &layout,
                                ArrayRef<ShardingAttr> shardings,
                                const ExclusiveSums &exclusive);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_OPPLACEMENT_H
