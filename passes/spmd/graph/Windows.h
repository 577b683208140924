//===- Windows.h - What ops send for their windows --------------*- C++ -*-===//
//
// An op that reads windows of a sharded dimension needs rows of its neighbours'
// blocks. Rows that a tensor.pad adds are no device's: where the ops that read
// them do so in windows, the pad moves nothing itself, but they fill them in.
//
// What an op adds up in windows of a sharded dimension of its result, as the
// gradient of what a convolution reads, is the adjoint: rows of neighbours'
// blocks travel home and are added there. Iteration i of the windows of a
// result (TensorRule::windows) adds to the elements from i * stride + offset
// on. Rows that a tensor.extract_slice cuts off are no device's.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_WINDOWS_H
#define DIST_PASSES_SPMD_GRAPH_WINDOWS_H

#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::dist {

/// Whether an op's rule, which costs something to make, may have windows.
bool mayReadWindows(Operation *op);

/// The slice that alone reads a result that is written in windows, of which it
/// cuts rows off; null if there is none.
tensor::ExtractSliceOp findCrop(OpResult result);

/// Whether the user of a pad, whose rule is `rule`, reads every dimension in
/// windows that the pad adds to and that is sharded in `padded`.
bool fillsPad(OpOperand &use, const ShardingRule &rule, tensor::PadOp pad,
              ShardingAttr padded);

/// The blocks of a dimension on the devices that share it, row-major.
class Blocks {
public:
  Blocks(const MeshLayout &layout, DimShardingAttr dim, int64_t size);

  int64_t size;
  /// Elements of a block, padding included.
  int64_t extent;
  int64_t devices = 1;
  /// Whether each block begins where a full one before it ends.
  bool isLine = true;

  int64_t getStart(int64_t device) const { return locate(device).first; }
  /// Elements of a device's block that are no padding.
  int64_t getValid(int64_t device) const { return locate(device).second; }
  bool isEven() const { return extent * devices == size; }

private:
  std::pair<int64_t, int64_t> locate(int64_t device) const;
  SmallVector<int64_t, 2> counts;
};

/// How devices get what their iterations read of a dimension: the `low` rows
/// before and the `high` rows after their own, or the dimension whole.
struct WindowPlan {
  WindowPlan(const MeshLayout &layout, DimShardingAttr dim, int64_t size,
             int64_t iterations, const Window &window);

  Blocks rows, iterations;
  int64_t low = 0, high = 0;
  /// Else the dimension is gathered, which is smaller where it sends no more,
  /// and what is done where blocks are no lines.
  bool isExchanged = false;
  /// Rows that a device sends in an exchange.
  int64_t sent = 0;

  /// Whether both are lines of blocks.
  bool isLine() const { return rows.isLine && iterations.isLine; }
  /// Devices of which some has the most, and some the least, of anything that
  /// is linear in where blocks begin.
  SmallVector<int64_t> getEnds() const;
};

/// Bytes that a device sends so that the op has its windows where its factors
/// are sharded as `factors`; gathers as in the limit of many devices.
int64_t getWindowBytes(Operation *op, const ShardingRule &rule,
                       const MeshLayout &layout,
                       ArrayRef<DimShardingAttr> factors);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_WINDOWS_H
