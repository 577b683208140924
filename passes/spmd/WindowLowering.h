//===- WindowLowering.h - What a device's iterations read -------*- C++ -*-===//
//
// Brings to a device what its iterations of an op read of an operand in
// windows, so that the op's maps are right in the local operand. Along each
// dimension the devices form a line of blocks; where neighbours have all that
// is missing one dist.halo_exchange brings it, dimension by dimension, so that
// corners come along. Else the dimension is gathered, and the cause says why.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_WINDOWLOWERING_H
#define DIST_PASSES_SPMD_WINDOWLOWERING_H

#include "dialects/dist/Interfaces/ShardingRule.h"
#include "passes/spmd/ReshardPlan.h"

namespace mlir::dist {

/// How one dimension is read: the window, whose offset counts from the first
/// element of the source, and the number of iterations in all. Unsharded
/// dimensions are only padded.
struct WindowRead {
  Window window;
  int64_t iterations;
  /// What a tensor.pad in between adds.
  int64_t low = 0, high = 0;

  bool operator==(const WindowRead &other) const {
    auto numbers = [](const WindowRead &read) {
      const Window &window = read.window;
      return std::make_tuple(window.dim, window.stride, window.extent,
                             window.offset, read.iterations, read.low,
                             read.high);
    };
    return numbers(*this) == numbers(other);
  }
};

/// The device's part of a tensor that is read.
struct WindowSource {
  Value local;
  RankedTensorType whole;
  ShardingAttr sharding;
};

/// What the device reads of `source`. Elements in front of the first one of the
/// whole dimension, and after its last, are `fill`, or anything where that is
/// null. The cause of what is sent begins with `why`.
FailureOr<Value> readWindows(OpBuilder &builder, Location loc,
                             const MeshLayout &layout, ReshardPlanner &planner,
                             WindowSource source, ArrayRef<WindowRead> reads,
                             Value fill, const Twine &why, Attribute scope);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_WINDOWLOWERING_H
