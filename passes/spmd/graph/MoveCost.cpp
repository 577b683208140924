//===- MoveCost.cpp - What it costs to move a tensor ----------------------===//

#include "passes/spmd/graph/MoveCost.h"

using namespace mlir;
using namespace mlir::dist;

/// `bytes` of a tensor, with padding. A dimension of `size` is sharded as
/// `dim`. Counted is what pads it beyond what pads it as `other`. For example,
/// a dimension of one element grows by the number of devices.
static int64_t pad(const MeshLayout &layout, int64_t bytes, int64_t size,
                   DimShardingAttr dim, DimShardingAttr other) {
  if (ShapedType::isDynamic(size) || size == 0)
    return bytes;
  auto getPadded = [&](DimShardingAttr sharding) {
    return sharding == layout.none() ? size
                                     : layout.localSize(sharding, size) *
                                           layout.size(sharding.getAllAxes());
  };
  int64_t padded = getPadded(dim), least = getPadded(other);
  if (padded <= least)
    return bytes;
  // A bound as for the bytes of a tensor: sums of some stay numbers.
  return std::min(static_cast<double>(bytes) * padded / least, 0x1p56);
}

int64_t mlir::dist::getMoveCost(const MeshLayout &layout, RankedTensorType type,
                                int64_t bytes, ArrayRef<DimShardingAttr> from,
                                ArrayRef<AxisRefAttr> partial,
                                ArrayRef<DimShardingAttr> to) {
  int64_t cost = 0;
  SmallVector<AxisRefAttr, 4> goal;
  for (DimShardingAttr dim : to)
    if (dim != layout.none())
      llvm::append_range(goal, dim.getAllAxes());
  // Parts of an axis may go to different places: the one that sends most
  // counts.
  auto getMost = [&](AxisRefAttr axis, function_ref<int64_t(AxisRefAttr)> get) {
    SmallVector<AxisRefAttr> parts{axis};
    layout.refine(parts, goal);
    int64_t most = 0;
    for (AxisRefAttr part : parts)
      most = std::max(most, get(part));
    return most;
  };
  // With the padding of the dimension that gets the axis, if any does.
  auto padWhereSharded = [&](int64_t some,
                             AxisRefAttr axis) -> std::optional<int64_t> {
    for (auto [size, before, after] :
         llvm::zip_equal(type.getShape(), from, to))
      if (after != layout.none() && anyOverlap(axis, after.getAllAxes()))
        return pad(layout, some, size, after, before);
    return std::nullopt;
  };
  for (auto [size, before, after] :
       llvm::zip_equal(type.getShape(), from, to)) {
    if (before == after || layout.isPrefix(before, after))
      continue;
    int64_t gathered = pad(layout, bytes, size, before, after);
    SmallVector<AxisRefAttr> kept = after.getAllAxes();
    bool sameDims = before.getSubDims().size() == after.getSubDims().size();
    for (AxisRefAttr axis : before.getAllAxes())
      cost += getMost(axis, [&](AxisRefAttr part) {
        if (anyOverlap(part, kept))
          return sameDims ? 0 : gathered;
        std::optional<int64_t> moved = padWhereSharded(gathered, part);
        return moved ? std::min(*moved / 8, gathered) : gathered;
      });
  }
  // A sum is scattered, or completed everywhere and sliced.
  for (AxisRefAttr axis : partial)
    cost += getMost(axis, [&](AxisRefAttr part) {
      return std::min(padWhereSharded(bytes, part).value_or(2 * bytes),
                      2 * bytes);
    });
  return cost;
}
