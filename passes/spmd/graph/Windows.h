//===- Windows.h - Communication for windows --------------------*- C++ -*-===//
//
// An op that reads windows of a sharded dimension needs rows of its neighbours'
// blocks. Rows that a tensor.pad adds belong to no device. If all readers of
// the pad read them in windows, the pad moves nothing itself: the readers fill
// them in.
//
// The adjoint is an op that adds up in windows of a sharded dimension of its
// result. Example: the cotangent of a convolution's input. Iteration i
// (TensorRule::windows) adds to the elements from i * stride + offset on. Sums
// for rows of neighbours' blocks are sent to the owners and added there. Rows
// that a tensor.extract_slice cuts off belong to no device.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_WINDOWS_H
#define DIST_PASSES_SPMD_GRAPH_WINDOWS_H

#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::dist {

/// Whether an op's rule, which is expensive to make, may have windows.
bool mayReadWindows(Operation *op);

/// The slice that cuts rows off a result that is written in windows, and that
/// is its only reader; null if there is no such slice.
tensor::ExtractSliceOp findCrop(OpResult result);

/// Whether the user of a pad, with the rule `rule`, reads in windows each
/// dimension that the pad adds to and that is sharded in `padded`.
bool fillsPad(OpOperand &use, const ShardingRule &rule, tensor::PadOp pad,
              ShardingAttr padded);

/// The blocks of a dimension on the devices that shard it, row-major.
class Blocks {
public:
  Blocks(const MeshLayout &layout, DimShardingAttr dim, int64_t size);

  int64_t size;
  /// Elements of a block, padding included.
  int64_t extent;
  int64_t devices = 1;
  /// Whether each block begins at the end of a full block before it.
  bool isLine = true;

  int64_t getStart(int64_t device) const { return locate(device).first; }
  /// Elements of a device's block without padding.
  int64_t getValid(int64_t device) const { return locate(device).second; }
  bool isEven() const { return extent * devices == size; }

private:
  std::pair<int64_t, int64_t> locate(int64_t device) const;
  SmallVector<int64_t, 2> counts;
};

/// How devices get the elements of a dimension that their iterations read: the
/// `low` rows before and the `high` rows after their own, or the whole
/// dimension.
struct WindowPlan {
  WindowPlan(const MeshLayout &layout, DimShardingAttr dim, int64_t size,
             int64_t iterations, const Window &window);

  Blocks rows, iterations;
  int64_t low = 0, high = 0;
  /// Otherwise the dimension is gathered. That is also done if it sends no
  /// more, and if blocks are not contiguous in device order.
  bool isExchanged = false;
  /// Rows that a device sends in an exchange.
  int64_t sent = 0;

  /// Whether both are lines of blocks.
  bool isLine() const { return rows.isLine && iterations.isLine; }
  /// Devices among which are those with the most and the least of anything that
  /// is linear in the position of their block.
  SmallVector<int64_t> getEnds() const;
};

/// Bytes that a device sends for the op's windows if its factors are sharded as
/// `factors`. Gathers count as in the limit of many devices.
int64_t getWindowBytes(Operation *op, const ShardingRule &rule,
                       const MeshLayout &layout,
                       ArrayRef<DimShardingAttr> factors);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_WINDOWS_H
