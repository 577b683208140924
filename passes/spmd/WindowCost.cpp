//===- WindowCost.cpp - What ops that read windows send -------------------===//

#include "passes/spmd/WindowCost.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::mayReadWindows(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return llvm::any_of(linalgOp.getIndexingMapsArray(), [](AffineMap map) {
      return !map.isProjectedPermutation(/*allowZeroInResults=*/true);
    });
  if (isa<tensor::PadOp>(op))
    return true;
  // Of upstream's other ops none does; one of a user's may.
  return isa<ShardingRuleOpInterface>(op) &&
         !llvm::is_contained({"arith", "linalg", "math", "scf", "tensor"},
                             op->getName().getDialectNamespace());
}

/// Whether a pad adds something along a dimension.
static bool addsTo(tensor::PadOp pad, int64_t dim) {
  return pad.getStaticLow()[dim] != 0 || pad.getStaticHigh()[dim] != 0;
}

bool mlir::dist::fillsPad(OpOperand &use, const ShardingRule &rule,
                          tensor::PadOp pad, ShardingAttr padded) {
  if (use.getOwner()->getBlock() != pad->getBlock() ||
      !isa<linalg::LinalgOp>(use.getOwner()))
    return false;
  const TensorRule &tensor = rule.operands[use.getOperandNumber()];
  for (auto [dim, sharding] : llvm::enumerate(padded.getDims()))
    if (addsTo(pad, dim) && !sharding.getAllAxes().empty() &&
        !tensor.getWindow(dim))
      return false;
  return true;
}

/// Whether all that use a pad read it in windows, so that it moves nothing.
static bool isFilledByUsers(tensor::PadOp pad) {
  constexpr unsigned kMostUsers = 8;
  unsigned seen = 0;
  for (Operation *user : pad.getResult().getUsers())
    if (++seen > kMostUsers || user->getBlock() != pad->getBlock() ||
        !isa<linalg::LinalgOp>(user) || !mayReadWindows(user))
      return false;
  return true;
}

int64_t mlir::dist::getWindowBytes(Operation *op, const ShardingRule &rule,
                                   ArrayRef<DimShardingAttr> factors,
                                   DimShardingAttr none) {
  int64_t sum = 0;
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), rule.operands))
    for (const Window &window : tensor.windows) {
      unsigned factor = tensor.dims[window.dim][0];
      if (factors[factor] == none)
        continue;
      auto type = cast<RankedTensorType>(operand.getType());
      int64_t size = type.getDimSize(window.dim);
      int64_t drift =
          std::abs(size - window.stride * rule.factors[factor].size);
      int64_t rows = std::max<int64_t>(0, window.extent - window.stride);
      if (auto pad = dyn_cast<tensor::PadOp>(op))
        // Each row moves on by as many more as there are devices before.
        rows = isFilledByUsers(pad) ? 0 : size;
      else if (auto pad = operand.getDefiningOp<tensor::PadOp>();
               !pad || !addsTo(pad, window.dim))
        rows = std::max(rows, drift);
      sum += getTensorBytes(type) / size * std::min(rows, size);
    }
  return sum;
}
