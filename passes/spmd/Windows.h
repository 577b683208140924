//===- Windows.h - What ops that read windows send --------------*- C++ -*-===//
//
// An op that reads windows of a sharded dimension needs rows of its neighbours'
// blocks. Rows that a tensor.pad adds are no device's: where the ops that read
// them do so in windows, the pad moves nothing itself, but they fill them in.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_WINDOWS_H
#define DIST_PASSES_SPMD_WINDOWS_H

#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::dist {

/// Whether an op's rule, which costs something to make, may have windows.
bool mayReadWindows(Operation *op);

/// Whether the user of a pad, whose rule is `rule`, reads every dimension in
/// windows that the pad adds to and that is sharded in `padded`.
bool fillsPad(OpOperand &use, const ShardingRule &rule, tensor::PadOp pad,
              ShardingAttr padded);

/// The blocks of a dimension on the devices that share it, row-major.
struct Blocks {
  Blocks(const MeshLayout &layout, DimShardingAttr dim, int64_t size);

  int64_t size;
  /// Elements of a block, padding included.
  int64_t extent;
  SmallVector<int64_t> starts;
  /// Elements that are no padding, by device.
  SmallVector<int64_t> valid;
  /// Whether each block begins where a full one before it ends.
  bool isLine = true;
};

/// How devices get what their iterations read of a dimension: the last `low`
/// rows of the device before and the first `high` rows of the one after, or the
/// dimension whole.
struct WindowPlan {
  WindowPlan(const MeshLayout &layout, DimShardingAttr dim, int64_t size,
             int64_t iterations, const Window &window);

  Blocks rows, iterations;
  int64_t low = 0, high = 0;
  bool isExchanged;
  /// Rows that a device sends.
  int64_t sent;
};

/// Bytes that a device sends so that the op has its windows where its factors
/// are sharded as `factors`; gathers as in the limit of many devices.
int64_t getWindowBytes(Operation *op, const ShardingRule &rule,
                       const MeshLayout &layout,
                       ArrayRef<DimShardingAttr> factors);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_WINDOWS_H
