//===- GatherRemarks.cpp - Says where halos would do, and do not ----------===//

#include "passes/spmd/graph/GatherRemarks.h"
#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/attention/AttentionMatch.h"
#include "passes/spmd/graph/PlacementText.h"
#include "passes/spmd/graph/Windows.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether the op joins an operand with rows of its own, fewer than it has.
static bool isPaddedWithItself(tensor::ConcatOp concat, OpOperand &operand,
                               int64_t dim) {
  if (static_cast<int64_t>(concat.getDim()) != dim ||
      concat.getNumOperands() == 1)
    return false;
  auto type = cast<RankedTensorType>(operand.get().getType());
  return concat.getResultType().getDimSize(dim) < 2 * type.getDimSize(dim) &&
         llvm::all_of(
             concat->getOpOperands(),
             [&](OpOperand &other) {
               Value piece = other.get();
               while (auto reshard = piece.getDefiningOp<ReshardOp>())
                 piece = reshard.getOperand();
               auto slice = piece.getDefiningOp<tensor::ExtractSliceOp>();
               return &other == &operand ||
                      (slice && slice.getSource() == operand.get());
             });
}

/// Whether the op reads that dimension of an operand by neighbouring rows.
static bool readsNearby(OpOperand &operand, int64_t dim,
                        const ShardingRule &rule) {
  Operation *op = operand.getOwner();
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return slice.getSourceType().getDimSize(dim) !=
               slice.getStaticSizes()[dim] &&
           slice.getStaticSizes()[dim] > 1;
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return isPaddedWithItself(concat, operand, dim);
  if (isa<AttentionLikeOpInterface>(op))
    return rule.operands[operand.getOperandNumber()].getWindow(dim);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !linalgOp.isDpsInput(&operand))
    return false;
  AffineExpr index = linalgOp.getMatchingIndexingMap(&operand).getResult(dim);
  return !isa<AffineDimExpr, AffineConstantExpr>(index);
}

/// Whether the devices along a dimension all get it whole.
static bool isGathered(DimShardingAttr now, ShardingAttr wanted) {
  SmallVector<AxisRefAttr> axes = now.getAllAxes();
  if (axes.empty() || anyOverlap(axes, wanted.getPartialAxes()))
    return false;
  return llvm::none_of(wanted.getDims(), [&](DimShardingAttr dim) {
    return anyOverlap(axes, dim.getAllAxes());
  });
}

/// The keys of an attention that is gathered, if its mask would be a window
/// beside smaller scores.
static std::optional<std::string>
describeLikelyWindow(OpOperand &operand, int64_t dim,
                     const ShardingRule &rule) {
  auto window =
      operand.getOwner()->getAttrOfType<DenseI64ArrayAttr>(kLikelyWindowAttr);
  ArrayRef<unsigned> factors =
      rule.operands[operand.getOperandNumber()].dims[dim];
  if (!window || factors.size() != 1 ||
      rule.factors[factors[0]].kind != FactorKind::Reduction)
    return std::nullopt;
  return "the mask leaves each query the keys from " +
         std::to_string(window[0]) + " before it to " +
         std::to_string(window[1]) +
         " after it, but by a number in place of -inf, which larger scores "
         "would outweigh, and which makes a row that it masks all over the "
         "mean of all values; a mask of -inf, or --assume-masks if there are "
         "neither (no score is larger than 4000), makes it a window";
}

/// The keys or values of what is no attention because of its sink, if
/// dimension `dim` is that of the keys.
static std::string describeSink(OpOperand &operand, int64_t dim,
                                const ShardingRule &rule) {
  ArrayRef<unsigned> factors =
      rule.operands[operand.getOperandNumber()].dims[dim];
  if (factors.size() != 1 ||
      rule.factors[factors[0]].kind != FactorKind::Reduction)
    return "";
  return describeFoldedSink(operand.getOwner());
}

void mlir::dist::remarkGather(Location loc, const Twine &reader, int64_t dim,
                              int64_t bytes, const Twine &why,
                              const Twine &remedy) {
  emitRemark(loc) << "dimension " << dim << " of " << reader.str()
                  << " is gathered, of which each device sends " << bytes
                  << " bytes, and not neighbours' rows alone: " << why.str()
                  << "; another dimension can be sharded instead; "
                  << remedy.str()
                  << "or a dist.sync with all_gather says that this is meant";
}

void GatherRemarks::visit(OpOperand &operand, ShardingAttr now,
                          ShardingAttr wanted, const ShardingRule &rule) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() == 0 || !now ||
      !wanted)
    return;
  for (auto [dim, before] : llvm::enumerate(now.getDims())) {
    if (!isGathered(before, wanted))
      continue;
    std::optional<std::string> likely =
        describeLikelyWindow(operand, dim, rule);
    if (!likely && !readsNearby(operand, dim, rule)) {
      std::string sink = describeSink(operand, dim, rule);
      if (!sink.empty() &&
          said.insert({operand.get(), operand.getOwner()->getLoc()}).second)
        emitRemark(operand.getOwner()->getLoc())
            << "keys and values are gathered, as this is " << sink
            << ": then neighbours' rows do for a window, and dist.ring sends "
               "blocks round";
      continue;
    }
    Blocks blocks(layout, before, type.getDimSize(dim));
    if (blocks.devices == 1)
      continue;
    const TensorRule &tensor = rule.operands[operand.getOperandNumber()];
    std::string why, remedy;
    if (likely) {
      why = *likely;
    } else if (const Window *window = tensor.getWindow(dim)) {
      int64_t iterations = rule.factors[tensor.dims[dim][0]].size;
      WindowPlan plan(layout, before, type.getDimSize(dim), iterations,
                      *window);
      if (plan.isLine() && !plan.isExchanged)
        continue;
      why = before.getSubDims().size() > 1
                ? "rows of a device are no block, as they were merged with "
                  "another dimension"
            : plan.isLine() ? "what is made of these rows is placed otherwise"
                            : "blocks within blocks are uneven";
    } else if (auto concat = dyn_cast<tensor::ConcatOp>(operand.getOwner())) {
      int64_t rows = concat.getResultType().getDimSize(dim) - blocks.size;
      if (rows >= (blocks.devices - 1) * blocks.extent)
        continue;
      why = "it is padded with rows of its own, which are not read in place";
    } else if (isa<linalg::LinalgOp>(operand.getOwner())) {
      why = "no loop that moves its windows can be sharded";
    } else {
      why = "it is cut out of several blocks";
      remedy = "'groups N' or 'heads' in its directive, if N parts stand side "
               "by side in it, as q, k and v; ";
    }
    if (!said.insert({operand.get(), operand.getOwner()->getLoc()}).second)
      return;
    int64_t bytes = getTensorBytes(type) / type.getDimSize(dim);
    for (auto [other, sharding] : llvm::enumerate(now.getDims()))
      if (other != dim)
        bytes = bytes / type.getDimSize(other) *
                layout.localSize(sharding, type.getDimSize(other));
    bytes *= blocks.extent * (blocks.devices - 1);
    return remarkGather(operand.getOwner()->getLoc(),
                        "operand " + Twine(operand.getOperandNumber()) +
                            " of " + describeOp(operand.getOwner()),
                        dim, bytes, why, remedy);
  }
}
