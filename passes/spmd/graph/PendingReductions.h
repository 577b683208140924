//===- PendingReductions.h - What sharded factors leave to do ---*- C++ -*-===//
//
// A sharded reduction factor leaves results partial; which of them, over which
// axes and in which way. Needs the factors' shardings of one op, looks at
// nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_PENDINGREDUCTIONS_H
#define DIST_PASSES_SPMD_GRAPH_PENDINGREDUCTIONS_H

#include "dialects/dist/Interfaces/ShardingRule.h"

namespace mlir::dist {

/// The reductions that sharded factors leave pending in a result: all of one
/// kind, since a value has no more.
struct Reduced {
  ReductionKind kind = ReductionKind::Sum;
  SmallVector<AxisRefAttr, 2> axes;
  /// The last of the factors.
  unsigned factor = ~0u;
};

/// What is pending in result `result` of an op whose factors are sharded as
/// `factors`. Axes are in the factors' order.
Reduced getReduced(const MeshLayout &layout, const ShardingRule &rule,
                   ArrayRef<DimShardingAttr> factors, unsigned result);

/// Whether two factors reduce some result in different ways: they cannot be
/// sharded both.
bool areKindsApart(const ShardingRule &rule, unsigned a, unsigned b);

/// Adds axes that are pending as well, and brings all into the order and form
/// that placements have them in.
void addPending(const MeshLayout &layout, SmallVectorImpl<AxisRefAttr> &axes,
                ArrayRef<AxisRefAttr> passed);

/// The number that all elements are, if that is known.
TypedAttr getConstantNumber(Value value);

/// Whether accumulating onto `value` under `kind` adds nothing. Under
/// sums both zeros do: all devices may begin with them, as one device does.
bool isNeutral(Value value, ReductionKind kind);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_PENDINGREDUCTIONS_H
