//===- WindowCost.h - What ops that read windows send -----------*- C++ -*-===//
//
// An op that reads windows of a sharded dimension needs rows of its neighbours'
// blocks. Rows that a tensor.pad adds are no device's: where the ops that read
// them do so in windows, the pad moves nothing itself, but they fill them in.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_WINDOWCOST_H
#define DIST_PASSES_SPMD_WINDOWCOST_H

#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::dist {

/// Whether an op's rule, which costs something to make, may have windows.
bool mayReadWindows(Operation *op);

/// Whether the user of a pad, whose rule is `rule`, reads every dimension in
/// windows that the pad adds to and that is sharded in `padded`.
bool fillsPad(OpOperand &use, const ShardingRule &rule, tensor::PadOp pad,
              ShardingAttr padded);

/// Bytes that a device sends, at most, so that the op has its windows where its
/// factors are sharded as `factors`; in the limit of many devices.
int64_t getWindowBytes(Operation *op, const ShardingRule &rule,
                       ArrayRef<DimShardingAttr> factors, DimShardingAttr none);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_WINDOWCOST_H
