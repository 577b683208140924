//===- DimOrders.cpp - Ops that work in any order of dimensions -----------===//

#include "passes/layout/DimOrders.h"
#include "dialects/dist/IR/Collectives.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dist;

/// The tensors of a reshape: the one with fewer dimensions, the one with more,
/// and which of the former each of the latter belongs to.
namespace {
struct Reshape {
  Value few, many;
  SmallVector<ReassociationIndices> groups;
};
} // namespace

static std::optional<Reshape> getReshape(Operation *op) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return Reshape{expand.getSrc(), expand.getResult(),
                   expand.getReassociationIndices()};
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return Reshape{collapse.getResult(), collapse.getSrc(),
                   collapse.getReassociationIndices()};
  return std::nullopt;
}

SmallVector<Value> mlir::dist::getCarried(Operation *op) {
  SmallVector<Value> tensors;
  if (std::optional<Reshape> reshape = getReshape(op)) {
    // A tensor of one element has no dimensions that groups could name.
    if (reshape->groups.empty())
      return {};
    return {reshape->few, reshape->many};
  }
  auto pad = dyn_cast<tensor::PadOp>(op);
  bool isPadding = pad && pad.getConstantPaddingValue();
  if (!isPadding &&
      !isa<CollectiveOpInterface, tensor::ExtractSliceOp, tensor::InsertSliceOp,
           tensor::ConcatOp>(op) &&
      !OpTrait::hasElementwiseMappableTraits(op))
    return {};
  int64_t rank = -1;
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type && isa<ShapedType>(value.getType()))
      return {};
    if (!type)
      continue;
    if (rank >= 0 && rank != type.getRank())
      return {};
    rank = type.getRank();
    tensors.push_back(value);
  }
  return tensors;
}

std::optional<DimOrder> mlir::dist::carry(Operation *op, Value from,
                                          ArrayRef<int64_t> order, Value to) {
  std::optional<Reshape> reshape = getReshape(op);
  if (!reshape || from == to)
    return DimOrder(order);
  DimOrder out;
  if (to == reshape->many) {
    for (int64_t dim : order)
      llvm::append_range(out, reshape->groups[dim]);
    return out;
  }
  // Dimensions that are one dimension in the other tensor must stay side by
  // side.
  SmallVector<int64_t> groupOf(order.size());
  for (auto [number, group] : llvm::enumerate(reshape->groups))
    for (int64_t dim : group)
      groupOf[dim] = number;
  for (size_t place = 0; place < order.size();) {
    int64_t number = groupOf[order[place]];
    for (int64_t dim : reshape->groups[number])
      if (place == order.size() || order[place++] != dim)
        return std::nullopt;
    out.push_back(number);
  }
  return out;
}

RankedTensorType mlir::dist::reorder(RankedTensorType type,
                                     ArrayRef<int64_t> order) {
  return type.clone(applyPermutation(type.getShape(), order));
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Where dimension `dim` is in `order`.
static int64_t placeOf(ArrayRef<int64_t> order, int64_t dim) {
  return llvm::find(order, dim) - order.begin();
}

/// Numbers, some of them operands, in another order.
static SmallVector<int64_t> reorderMixed(ArrayRef<int64_t> numbers,
                                         MutableOperandRange operands,
                                         ArrayRef<int64_t> order) {
  Builder builder(operands.getOwner()->getContext());
  SmallVector<OpFoldResult> mixed =
      getMixedValues(numbers, OperandRange(operands), builder);
  SmallVector<Value> values;
  SmallVector<int64_t> out;
  dispatchIndexOpFoldResults(applyPermutation(mixed, order), values, out);
  operands.assign(values);
  return out;
}

template <typename Slice>
static void reorderSlice(Slice op, ArrayRef<int64_t> order) {
  op.setStaticOffsets(
      reorderMixed(op.getStaticOffsets(), op.getOffsetsMutable(), order));
  op.setStaticSizes(
      reorderMixed(op.getStaticSizes(), op.getSizesMutable(), order));
  op.setStaticStrides(
      reorderMixed(op.getStaticStrides(), op.getStridesMutable(), order));
}

/// The groups of a reshape whose tensor of fewer dimensions has `order`.
static ArrayAttr reorderGroups(ArrayRef<ReassociationIndices> groups,
                               ArrayRef<int64_t> order, Builder builder) {
  SmallVector<ReassociationIndices> out;
  int64_t next = 0;
  for (int64_t dim : order) {
    ReassociationIndices &group = out.emplace_back();
    for (size_t i = 0; i < groups[dim].size(); ++i)
      group.push_back(next++);
  }
  return getReassociationIndicesAttribute(builder, out);
}

void mlir::dist::reorderCarrier(
    Operation *op, llvm::function_ref<ArrayRef<int64_t>(Value)> orderOf) {
  Builder builder(op->getContext());
  auto moveDim = [&](auto collective) {
    collective.setDim(
        placeOf(orderOf(collective.getOperand()), collective.getDim()));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<AllGatherOp, ReduceScatterOp, AllSliceOp, HaloExchangeOp,
            HaloReduceOp>(moveDim)
      .Case([&](AllToAllOp exchange) {
        ArrayRef<int64_t> order = orderOf(exchange.getOperand());
        exchange.setSplitDim(placeOf(order, exchange.getSplitDim()));
        exchange.setConcatDim(placeOf(order, exchange.getConcatDim()));
      })
      .Case([&](tensor::ConcatOp concat) {
        concat.setDim(placeOf(orderOf(concat.getResult()), concat.getDim()));
      })
      .Case<tensor::ExtractSliceOp, tensor::InsertSliceOp>(
          [&](auto slice) { reorderSlice(slice, orderOf(slice.getResult())); })
      .Case([&](tensor::PadOp pad) {
        ArrayRef<int64_t> order = orderOf(pad.getResult());
        pad.setStaticLow(
            reorderMixed(pad.getStaticLow(), pad.getLowMutable(), order));
        pad.setStaticHigh(
            reorderMixed(pad.getStaticHigh(), pad.getHighMutable(), order));
      })
      .Case([&](tensor::ExpandShapeOp expand) {
        expand.setStaticOutputShape(reorderMixed(expand.getStaticOutputShape(),
                                                 expand.getOutputShapeMutable(),
                                                 orderOf(expand.getResult())));
        expand.setReassociationAttr(
            reorderGroups(expand.getReassociationIndices(),
                          orderOf(expand.getSrc()), builder));
      })
      .Case([&](tensor::CollapseShapeOp collapse) {
        collapse.setReassociationAttr(
            reorderGroups(collapse.getReassociationIndices(),
                          orderOf(collapse.getResult()), builder));
      });
}
