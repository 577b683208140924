//===- OpPlacement.h - Whether an op can be placed like this ----*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_GRAPH_OPPLACEMENT_H
#define DIST_PASSES_SPMD_GRAPH_OPPLACEMENT_H

#include "dialects/dist/Interfaces/ExclusiveSums.h"

namespace mlir::dist {

/// Checks that placements of an op's operands and results (in this order; null
/// for what is no ranked tensor) are those of one sharding of its factors, and
/// that reductions are pending where these leave them, or where the op commutes
/// with them or they are `exclusive` and pass, and nowhere else. Else an error
/// at the op names what disagrees.
LogicalResult verifyOpPlacement(Operation *op, const ShardingRule &rule,
                                const MeshLayout &layout,
                                ArrayRef<ShardingAttr> shardings,
                                const ExclusiveSums &exclusive);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_OPPLACEMENT_H
