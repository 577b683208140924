//===- PendingReductions.h - Partial results of sharded factors -*- C++ -*-===//
//
// A sharded reduction factor makes results partial: which results, over which
// axes and of which kind. Depends only on the factors' shardings of one op.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_PENDINGREDUCTIONS_H
#define DIST_PASSES_SPMD_GRAPH_PENDINGREDUCTIONS_H

#include "dialects/dist/Interfaces/ShardingRule.h"

namespace mlir::dist {

/// The reductions that sharded factors leave pending in a result. All have one
/// kind, since a value has only one.
struct Reduced {
  ReductionKind kind = ReductionKind::Sum;
  SmallVector<AxisRefAttr, 2> axes;
  /// The last of the factors.
  unsigned factor = ~0u;
};

/// The reductions pending in result `result` of an op whose factors are sharded
/// as `factors`. Axes are in the factors' order.
Reduced getReduced(const MeshLayout &layout, const ShardingRule &rule,
                   ArrayRef<DimShardingAttr> factors, unsigned result);

/// Whether two factors reduce some result in different ways. Then only one of
/// them can be sharded.
bool areKindsApart(const ShardingRule &rule, unsigned a, unsigned b);

/// Adds pending axes, and normalizes the order and form of all of them as in
/// placements.
void addPending(const MeshLayout &layout, SmallVectorImpl<AxisRefAttr> &axes,
                ArrayRef<AxisRefAttr> passed);

/// The number that all elements equal, if it is known.
TypedAttr getConstantNumber(Value value);

/// Whether accumulating onto `value` under `kind` adds nothing. For sums, both
/// zeros do: all devices may start from them, as one device does.
bool isNeutral(Value value, ReductionKind kind);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_PENDINGREDUCTIONS_H
