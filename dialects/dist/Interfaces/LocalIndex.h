//===- LocalIndex.h - A device's part of a dimension ------------*- C++ -*-===//
//
// What `makeLocal` of an op needs that holds indices or sizes: where a device's
// part lies in the whole dimension, and how large it is. Also right where parts
// are uneven, or cut again by another axis.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_LOCALINDEX_H
#define DIST_DIALECTS_DIST_INTERFACES_LOCALINDEX_H

#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/IR/Builders.h"

namespace mlir::dist {

/// Where an element of a device's part lies in the whole dimension.
struct GlobalIndex {
  /// Index into the whole dimension.
  Value index;
  /// Whether it is an element and not padding; null where there is no padding.
  Value inBounds;
};

/// Computes where element `local` of a dimension of `size` elements sharded as
/// `dim` lies. Coordinates come from dist.axis_index. Where the size is not
/// known, `localSize` is that of the device's part.
GlobalIndex getGlobalIndex(OpBuilder &builder, Location loc,
                           const MeshLayout &layout, DimShardingAttr dim,
                           int64_t size, Value local, Value localSize = {});

/// Where element `global` of the whole dimension lies in the device's part, and
/// whether it does; the inverse of getGlobalIndex. An index outside of the
/// dimension lies nowhere.
struct LocalIndex {
  Value index;
  Value isHere;
};
LocalIndex getLocalIndex(OpBuilder &builder, Location loc,
                         const MeshLayout &layout, DimShardingAttr dim,
                         int64_t size, Value global, Value localSize = {});

/// The size of the whole dimension, `size` where that is known; else what
/// `localSize` is a device's part of.
Value getWholeSize(OpBuilder &builder, Location loc, const MeshLayout &layout,
                   DimShardingAttr dim, int64_t size, Value localSize = {});

/// The size of a device's part of a dimension whose whole size is `size`, which
/// its devices divide.
Value divideSize(OpBuilder &builder, Location loc, const MeshLayout &layout,
                 DimShardingAttr dim, Value size);

/// Divides `sizes`, one for each dimension of `whole` whose size is not known,
/// among the devices that share the dimension: the sizes of a device's part.
void divideSizes(OpBuilder &builder, Location loc, const MeshLayout &layout,
                 RankedTensorType whole, ShardingAttr sharding,
                 MutableOperandRange sizes);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_LOCALINDEX_H
