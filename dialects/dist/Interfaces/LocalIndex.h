//===- LocalIndex.h - A device's part of a dimension ------------*- C++ -*-===//
//
// For `makeLocal` of ops with indices or sizes: where a device's part begins in
// the whole dimension, and its size. This is also right if parts are uneven, or
// sharded again by another axis.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_LOCALINDEX_H
#define DIST_DIALECTS_DIST_INTERFACES_LOCALINDEX_H

#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/IR/Builders.h"

namespace mlir::dist {

/// The position in the whole dimension of an element of a device's part.
struct GlobalIndex {
  /// Index into the whole dimension.
  Value index;
  /// Whether it is an element and not padding; null where there is no padding.
  Value inBounds;
};

/// Computes the position of element `local` of a dimension of `size` elements
/// that is sharded as `dim`. Coordinates come from dist.axis_index. If the size
/// is unknown, `localSize` is the size of the device's part.
GlobalIndex getGlobalIndex(OpBuilder &builder, Location loc,
                           const MeshLayout &layout, DimShardingAttr dim,
                           int64_t size, Value local, Value localSize = {});

/// The position of element `global` of the whole dimension in the device's
/// part, and whether it is there: the inverse of getGlobalIndex. An index
/// outside of the dimension is nowhere.
struct LocalIndex {
  Value index;
  Value isHere;
};
LocalIndex getLocalIndex(OpBuilder &builder, Location loc,
                         const MeshLayout &layout, DimShardingAttr dim,
                         int64_t size, Value global, Value localSize = {});

/// The size of the whole dimension: `size` if that is known, else computed from
/// the size `localSize` of the device's part.
Value getWholeSize(OpBuilder &builder, Location loc, const MeshLayout &layout,
                   DimShardingAttr dim, int64_t size, Value localSize = {});

/// The size of a device's part of a dimension of size `size`, which the devices
/// divide.
Value divideSize(OpBuilder &builder, Location loc, const MeshLayout &layout,
                 DimShardingAttr dim, Value size);

/// Divides `sizes`, one for each dimension of `whole` of unknown size, among
/// the devices that shard the dimension: the sizes of a device's part.
void divideSizes(OpBuilder &builder, Location loc, const MeshLayout &layout,
                 RankedTensorType whole, ShardingAttr sharding,
                 MutableOperandRange sizes);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_LOCALINDEX_H
