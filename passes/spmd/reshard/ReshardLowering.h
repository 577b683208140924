//===- ReshardLowering.h - A reshard as collectives -------------*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_RESHARD_RESHARDLOWERING_H
#define DIST_PASSES_SPMD_RESHARD_RESHARDLOWERING_H

#include "passes/spmd/reshard/ReshardPlan.h"

namespace mlir::dist {

/// Builds the collectives that take `local`, a device's part of a tensor of
/// type `global` placed as `from`, to its part placed as `to`. Collectives
/// carry `cause` and `scope` (which may be null).
FailureOr<Value> lowerReshard(OpBuilder &builder, Location loc,
                              const MeshLayout &layout, ReshardPlanner &planner,
                              Value local, RankedTensorType global,
                              ShardingAttr from, ShardingAttr to,
                              StringAttr cause, Attribute scope);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_RESHARD_RESHARDLOWERING_H
