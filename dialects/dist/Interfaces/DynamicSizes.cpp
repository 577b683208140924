//===- DynamicSizes.cpp - Sizes that only running tells -------------------===//
//
// Which of them are equal, and how they become those of a device's part.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace mlir::dist;

using Origin = SizeOrigins::Origin;

/// The size of dimension `dim` of the result where the op itself gives it.
static OpFoldResult getGivenSize(Operation *op, int64_t dim) {
  if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    return empty.getMixedSizes()[dim];
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return getMixedValues(splat.getType().getShape(), splat.getDynamicSizes(),
                          op->getContext())[dim];
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return expand.getMixedOutputShape()[dim];
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    if (slice.getDroppedDims().none())
      return slice.getMixedSizes()[dim];
  return {};
}

/// The tensor that a result has the shape of, where its op says so.
static Value getAlike(OpResult result) {
  Operation *op = result.getOwner();
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    return destination.getTiedOpOperand(result)->get();
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return insert.getDest();
  if (auto scatter = dyn_cast<ScatterAddOp>(op))
    return scatter.getDest();
  if (op->hasTrait<OpTrait::Elementwise>() ||
      isa<tensor::CastOp, ReshardOp, ManualReshardOp, ShardingConstraintOp,
          FollowOp, OptimizationBarrierOp, SyncOp>(op))
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        return operand;
  return {};
}

/// One step back; whether there was one.
static bool traceBack(Origin &origin) {
  if (!origin.tensor) {
    auto index = dyn_cast<Value>(origin.size);
    auto dim = index ? index.getDefiningOp<tensor::DimOp>() : nullptr;
    if (!dim || !dim.getConstantIndex() ||
        !isa<RankedTensorType>(dim.getSource().getType()))
      return false;
    origin = {{}, dim.getSource(), *dim.getConstantIndex()};
    return true;
  }
  auto type = cast<RankedTensorType>(origin.tensor.getType());
  if (!type.isDynamicDim(origin.dim)) {
    Builder b(type.getContext());
    origin = {b.getIndexAttr(type.getDimSize(origin.dim)), {}, -1};
    return true;
  }
  auto result = dyn_cast<OpResult>(origin.tensor);
  if (!result)
    return false;
  if (OpFoldResult size = getGivenSize(result.getOwner(), origin.dim)) {
    origin = {size, {}, -1};
    return true;
  }
  Value alike = getAlike(result);
  if (!alike)
    return false;
  origin.tensor = alike;
  return true;
}

Origin SizeOrigins::trace(Origin origin) {
  // All that is passed on the way has the same origin: every chain is walked
  // once, however many sizes are traced through it.
  SmallVector<std::pair<Value, int64_t>> passed;
  while (true) {
    auto index = dyn_cast_or_null<Value>(origin.size);
    if (origin.tensor || index) {
      std::pair<Value, int64_t> key = origin.tensor
                                          ? std::pair(origin.tensor, origin.dim)
                                          : std::pair(index, int64_t(-1));
      if (auto found = known.find(key); found != known.end()) {
        origin = found->second;
        break;
      }
      passed.push_back(key);
    }
    if (!traceBack(origin))
      break;
  }
  for (auto key : passed)
    known[key] = origin;
  return origin;
}

Origin SizeOrigins::get(OpFoldResult size) { return trace({size, {}, -1}); }

Origin SizeOrigins::get(Value tensor, int64_t dim) {
  return trace({{}, tensor, dim});
}

bool SizeOrigins::isSizeOf(OpFoldResult size, Value tensor, int64_t dim) {
  Origin a = get(size), b = get(tensor, dim);
  if (a.tensor || b.tensor)
    return a.tensor == b.tensor && a.dim == b.dim;
  return isEqualConstantIntOrValue(a.size, b.size);
}

void mlir::dist::divideSizes(OpBuilder &b, Location loc,
                             const MeshLayout &layout, RankedTensorType whole,
                             ShardingAttr sharding, MutableOperandRange sizes) {
  unsigned number = 0;
  for (auto [size, dim] :
       llvm::zip_equal(whole.getShape(), sharding.getDims())) {
    if (!ShapedType::isDynamic(size))
      continue;
    OpOperand &operand = sizes[number++];
    operand.set(divideSize(b, loc, layout, dim, operand.get()));
  }
}

Value mlir::dist::divideSize(OpBuilder &b, Location loc,
                             const MeshLayout &layout, DimShardingAttr dim,
                             Value size) {
  int64_t devices = layout.size(dim.getAllAxes());
  if (devices == 1)
    return size;
  // The size of a sharded tensor is that of its part times the devices.
  Value part;
  IntegerAttr count;
  if (matchPattern(size, m_Op<arith::MulIOp>(matchers::m_Any(&part),
                                             m_Constant(&count))) &&
      count.getInt() == devices)
    return part;
  return arith::DivUIOp::create(
      b, loc, size, arith::ConstantIndexOp::create(b, loc, devices));
}
