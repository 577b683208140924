//===- Windows.cpp - What ops send for their windows ----------------------===//

#include "passes/spmd/graph/Windows.h"
#include "dialects/dist/IR/Halo.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/bounds/Bounds.h"
#include "passes/spmd/graph/PendingReductions.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::mayReadWindows(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return llvm::any_of(linalgOp.getIndexingMapsArray(), [](AffineMap map) {
      return !map.isProjectedPermutation(/*allowZeroInResults=*/true);
    });
  if (isa<tensor::PadOp, tensor::ExtractSliceOp>(op))
    return true;
  // Upstream's other ops have no windows; a user's op may have some.
  return isa<ShardingRuleOpInterface>(op) &&
         !llvm::is_contained({"arith", "linalg", "math", "scf", "tensor"},
                             op->getName().getDialectNamespace());
}

tensor::ExtractSliceOp mlir::dist::findCrop(OpResult result) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(result.getOwner());
  if (!linalgOp || !result.hasOneUse())
    return {};
  auto slice = dyn_cast<tensor::ExtractSliceOp>(*result.user_begin());
  if (!slice || slice->getBlock() != linalgOp->getBlock() ||
      !slice.hasUnitStride() ||
      slice.getType().getRank() != slice.getSourceType().getRank() ||
      !slice.getType().hasStaticShape() ||
      ShapedType::isDynamicShape(slice.getStaticOffsets()))
    return {};
  OpOperand *init = linalgOp.getDpsInitOperand(result.getResultNumber());
  if (!isNeutral(init->get(), ReductionKind::Sum))
    return {};
  return slice;
}

/// Whether rows that a slice cuts off are not sent to their owners by the op
/// that computes them.
static bool isCutByMaker(tensor::ExtractSliceOp slice, unsigned dim) {
  auto made = dyn_cast<OpResult>(slice.getSource());
  if (!made || findCrop(made) != slice)
    return false;
  auto maker = cast<linalg::LinalgOp>(made.getOwner());
  AffineMap map = maker.getMatchingIndexingMap(
      maker.getDpsInitOperand(made.getResultNumber()));
  return !isa<AffineDimExpr>(map.getResult(dim));
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
  unsigned seen = 0;
  for (Operation *user : pad.getResult().getUsers())
    if (++seen > kMostPadUsers || user->getBlock() != pad->getBlock() ||
        !isa<linalg::LinalgOp>(user) || !mayReadWindows(user))
      return false;
  return true;
}

Blocks::Blocks(const MeshLayout &layout, DimShardingAttr dim, int64_t size)
    : size(size), extent(size) {
  for (AxisRefAttr axis : dim.getAllAxes()) {
    int64_t count = layout.size(axis), block = llvm::divideCeil(extent, count);
    isLine &= counts.empty() || block * count == extent;
    counts.push_back(count);
    devices *= count;
    extent = block;
  }
}

std::pair<int64_t, int64_t> Blocks::locate(int64_t device) const {
  int64_t digits = devices, start = 0, valid = size, block = size;
  for (int64_t count : counts) {
    digits /= count;
    block = llvm::divideCeil(block, count);
    int64_t before = device / digits % count * block;
    start += before;
    valid = std::clamp<int64_t>(valid - before, 0, block);
  }
  return {start, valid};
}

/// Devices among which is the one that lacks most rows. In lines of blocks, the
/// number that a device lacks is linear in its position. Exceptions are the
/// positions where its window crosses an end of the dimension and those where
/// iterations end.
static SmallVector<int64_t>
getCorners(const Blocks &rows, const Blocks &iterations, const Window &window) {
  int64_t step = iterations.extent * window.stride;
  int64_t length = (iterations.extent - 1) * window.stride + window.extent;
  int64_t last = (iterations.size - 1) / iterations.extent;
  SmallVector<int64_t> corners{0, last - 1, last};
  for (int64_t begin : {window.offset, window.offset + length})
    for (int64_t end : {int64_t(0), rows.size})
      for (int64_t around : {-1, 0, 1, 2})
        corners.push_back((end - begin) / step + around);
  llvm::erase_if(corners, [&](int64_t i) { return i < 0 || i > last; });
  return corners;
}

/// The elements that devices need and lack: only elements that exist, and for
/// iterations that are not padding.
static std::pair<int64_t, int64_t>
getHalo(const Blocks &rows, const Blocks &iterations, const Window &window) {
  int64_t low = 0, high = 0;
  for (int64_t i : getCorners(rows, iterations, window)) {
    int64_t valid = iterations.getValid(i);
    if (valid == 0)
      continue;
    int64_t first = iterations.getStart(i) * window.stride + window.offset;
    int64_t last = first + (valid - 1) * window.stride + window.extent;
    first = std::clamp<int64_t>(first, 0, rows.size);
    last = std::clamp<int64_t>(last, 0, rows.size);
    if (first == last)
      continue;
    int64_t start = rows.getStart(i);
    low = std::max(low, start - first);
    high = std::max(high, last - start - rows.extent);
  }
  return {low, high};
}

WindowPlan::WindowPlan(const MeshLayout &layout, DimShardingAttr dim,
                       int64_t size, int64_t iterationCount,
                       const Window &window)
    : rows(layout, dim, size), iterations(layout, dim, iterationCount) {
  if (!isLine())
    return;
  std::tie(low, high) = getHalo(rows, iterations, window);
  sent = getHaloRowsSent(rows.extent, rows.devices, low, high);
  int64_t others = (rows.devices - 1) * rows.extent;
  isExchanged = sent < others || low + high <= others;
}

SmallVector<int64_t> WindowPlan::getEnds() const {
  if (isLine())
    return {0, rows.devices - 1};
  return llvm::to_vector(llvm::seq<int64_t>(0, rows.devices));
}

int64_t mlir::dist::getWindowBytes(Operation *op, const ShardingRule &rule,
                                   const MeshLayout &layout,
                                   ArrayRef<DimShardingAttr> factors) {
  int64_t sum = 0;
  auto add = [&](RankedTensorType type, const Window &window, unsigned factor) {
    int64_t size = type.getDimSize(window.dim);
    WindowPlan plan(layout, factors[factor], size, rule.factors[factor].size,
                    window);
    int64_t rows = plan.isExchanged ? plan.sent : size;
    sum += size ? getTensorBytes(type) / size * rows : 0;
  };
  auto isShared = [&](unsigned factor) {
    return factors[factor] != layout.none();
  };
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    for (Window window : tensor.windows) {
      unsigned factor = tensor.dims[window.dim][0];
      if (!isShared(factor))
        continue;
      Value sent = result;
      if (tensor::ExtractSliceOp crop = findCrop(result)) {
        sent = crop.getResult();
        window.offset -= crop.getStaticOffsets()[window.dim];
      }
      add(cast<RankedTensorType>(sent.getType()), window, factor);
    }
  auto writer = dyn_cast<DestinationStyleOpInterface>(op);
  auto pad = dyn_cast<tensor::PadOp>(op);
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  for (auto [number, operand, tensor] :
       llvm::enumerate(op->getOperands(), rule.operands))
    for (Window window : tensor.windows) {
      unsigned factor = tensor.dims[window.dim][0];
      // Windows of an accumulator are those of the result.
      if (!isShared(factor) || (pad && isFilledByUsers(pad)) ||
          (slice && isCutByMaker(slice, window.dim)) ||
          (writer && writer.isDpsInit(&op->getOpOperand(number))))
        continue;
      Value source = operand;
      if (auto padded = operand.getDefiningOp<tensor::PadOp>();
          padded && !pad && addsTo(padded, window.dim)) {
        source = padded.getSource();
        window.offset -= padded.getStaticLow()[window.dim];
      }
      add(cast<RankedTensorType>(source.getType()), window, factor);
    }
  return sum;
}
