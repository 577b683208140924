//===- Windows.cpp - What ops that read windows send ----------------------===//

#include "passes/spmd/Windows.h"
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

Blocks::Blocks(const MeshLayout &layout, DimShardingAttr dim, int64_t size)
    : size(size), extent(size), starts{0}, valid{size} {
  for (AxisRefAttr axis : dim.getAllAxes()) {
    int64_t count = layout.size(axis);
    int64_t block = llvm::divideCeil(extent, count);
    SmallVector<int64_t> nextStarts, nextValid;
    for (auto [start, left] : llvm::zip_equal(starts, valid))
      for (int64_t i = 0; i < count; ++i) {
        nextStarts.push_back(start + i * block);
        nextValid.push_back(std::clamp<int64_t>(left - i * block, 0, block));
      }
    starts = std::move(nextStarts);
    valid = std::move(nextValid);
    extent = block;
  }
  for (auto [i, start] : llvm::enumerate(starts))
    isLine &= start == static_cast<int64_t>(i) * extent;
}

/// What devices lack of what they read: that of elements there are, and for
/// iterations that are no padding.
static std::pair<int64_t, int64_t>
getHalo(const Blocks &rows, const Blocks &iterations, const Window &window) {
  int64_t low = 0, high = 0;
  for (size_t i = 0; i < rows.starts.size(); ++i) {
    if (iterations.valid[i] == 0)
      continue;
    int64_t first = iterations.starts[i] * window.stride + window.offset;
    int64_t last =
        first + (iterations.valid[i] - 1) * window.stride + window.extent;
    first = std::clamp<int64_t>(first, 0, rows.size);
    last = std::clamp<int64_t>(last, 0, rows.size);
    if (first == last)
      continue;
    low = std::max(low, rows.starts[i] - first);
    high = std::max(high, last - rows.starts[i] - rows.extent);
  }
  return {low, high};
}

WindowPlan::WindowPlan(const MeshLayout &layout, DimShardingAttr dim,
                       int64_t size, int64_t iterationCount,
                       const Window &window)
    : rows(layout, dim, size), iterations(layout, dim, iterationCount) {
  std::tie(low, high) = getHalo(rows, iterations, window);
  int64_t devices = rows.starts.size();
  // Of two devices each has one neighbour.
  sent = devices == 2 ? std::max(low, high) : low + high;
  isExchanged = rows.isLine && iterations.isLine && low <= rows.extent &&
                high <= rows.extent && sent <= (devices - 1) * rows.extent;
}

int64_t mlir::dist::getWindowBytes(Operation *op, const ShardingRule &rule,
                                   const MeshLayout &layout,
                                   ArrayRef<DimShardingAttr> factors) {
  int64_t sum = 0;
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), rule.operands))
    for (Window window : tensor.windows) {
      unsigned factor = tensor.dims[window.dim][0];
      auto pad = dyn_cast<tensor::PadOp>(op);
      if (factors[factor] == layout.none() || (pad && isFilledByUsers(pad)))
        continue;
      Value source = operand;
      if (auto padded = operand.getDefiningOp<tensor::PadOp>();
          padded && !pad && addsTo(padded, window.dim)) {
        source = padded.getSource();
        window.offset -= padded.getStaticLow()[window.dim];
      }
      auto type = cast<RankedTensorType>(source.getType());
      int64_t size = type.getDimSize(window.dim);
      WindowPlan plan(layout, factors[factor], size, rule.factors[factor].size,
                      window);
      int64_t rows = plan.isExchanged ? plan.sent : size;
      sum += size ? getTensorBytes(type) / size * rows : 0;
    }
  return sum;
}
