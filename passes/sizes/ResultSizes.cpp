//===- ResultSizes.cpp - Sizes of an op's results from its operands' ------===//

#include "passes/sizes/ResultSizes.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::hasUnknownSize(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && !tensor.hasStaticShape();
}

/// Moves the constants among `sizes` into the list of numbers that they fill
/// the gaps of.
static SmallVector<int64_t> takeConstants(ArrayRef<int64_t> numbers,
                                          MutableOperandRange sizes) {
  SmallVector<int64_t> out(numbers);
  SmallVector<Value> rest;
  unsigned next = 0;
  for (int64_t &number : out) {
    if (!ShapedType::isDynamic(number))
      continue;
    Value size = sizes[next++].get();
    if (std::optional<int64_t> constant = getConstantIntValue(size))
      number = *constant;
    else
      rest.push_back(size);
  }
  sizes.assign(rest);
  return out;
}

template <typename SliceOp> static void takeSliceConstants(SliceOp op) {
  op.setStaticOffsets(
      takeConstants(op.getStaticOffsets(), op.getOffsetsMutable()));
  op.setStaticSizes(takeConstants(op.getStaticSizes(), op.getSizesMutable()));
  op.setStaticStrides(
      takeConstants(op.getStaticStrides(), op.getStridesMutable()));
}

/// The result's type with another shape.
static void setShape(Operation *op, ArrayRef<int64_t> shape) {
  op->getResult(0).setType(
      cast<TensorType>(op->getResult(0).getType()).clone(shape));
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Ops of tensor
//===----------------------------------------------------------------------===//

static void setSliceSizes(tensor::ExtractSliceOp slice) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  takeSliceConstants(slice);
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(slice.getStaticSizes()))
    if (!dropped[dim])
      shape.push_back(size);
  setShape(slice, shape);
}

static void setPadSizes(tensor::PadOp pad) {
  pad.setStaticLow(takeConstants(pad.getStaticLow(), pad.getLowMutable()));
  pad.setStaticHigh(takeConstants(pad.getStaticHigh(), pad.getHighMutable()));
  setShape(pad, tensor::PadOp::inferResultType(
                    pad.getSourceType(), pad.getStaticLow(),
                    pad.getStaticHigh(), pad.getResultType().getShape())
                    .getShape());
}

static void setGatherSizes(tensor::GatherOp gather) {
  int64_t batch = gather.getIndicesType().getRank() - 1;
  ArrayRef<int64_t> source = gather.getSourceType().getShape();
  bool keepsDims = gather.getResultType().getRank() ==
                   batch + static_cast<int64_t>(source.size());
  SmallVector<int64_t> shape(
      gather.getIndicesType().getShape().take_front(batch));
  for (auto [dim, size] : llvm::enumerate(source)) {
    bool isGathered =
        llvm::is_contained(gather.getGatherDims(), static_cast<int64_t>(dim));
    if (!isGathered || keepsDims)
      shape.push_back(isGathered ? 1 : size);
  }
  setShape(gather, shape);
}

/// The shape operand, where all its elements are constants.
static void setReshapeSizes(tensor::ReshapeOp reshape) {
  auto type = dyn_cast<RankedTensorType>(reshape.getType());
  if (!type)
    return;
  SmallVector<int64_t> shape(type.getShape());
  DenseIntElementsAttr constant;
  if (matchPattern(reshape.getShape(), m_Constant(&constant))) {
    for (auto [size, number] :
         llvm::zip_equal(shape, constant.getValues<APInt>()))
      size = number.getSExtValue();
  } else if (auto made =
                 reshape.getShape().getDefiningOp<tensor::FromElementsOp>()) {
    for (auto [size, element] : llvm::zip_equal(shape, made.getElements()))
      size = getConstantIntValue(element).value_or(size);
  }
  setShape(reshape, shape);
}

/// Sizes whose product is not that of the split dimension. At level 3 these are
/// of a device's part, which its devices should divide.
static LogicalResult checkExpand(tensor::ExpandShapeOp expand) {
  ArrayRef<int64_t> shape = expand.getResultType().getShape();
  for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
    int64_t product = 1, whole = expand.getSrcType().getDimSize(dim);
    bool isKnown = !ShapedType::isDynamic(whole);
    for (int64_t part : group) {
      isKnown &= !ShapedType::isDynamic(shape[part]);
      product *= shape[part];
    }
    if (isKnown && product != whole)
      return expand.emitOpError()
             << "takes dimension " << dim << " of size " << whole
             << " apart into sizes that multiply to " << product
             << "; sizes that the program of one device does not know must be "
                "multiples of the devices that share them";
  }
  return success();
}

/// Whether `op` was one of those.
static bool setTensorOpSizes(Operation *op) {
  if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    setShape(op, takeConstants(empty.getType().getShape(),
                               empty.getDynamicSizesMutable()));
  } else if (auto generate = dyn_cast<tensor::GenerateOp>(op)) {
    setShape(op, takeConstants(shapeOf(op->getResult(0)),
                               generate.getDynamicExtentsMutable()));
  } else if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    setShape(op, takeConstants(shapeOf(op->getResult(0)),
                               splat.getDynamicSizesMutable()));
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    expand.setStaticOutputShape(takeConstants(expand.getStaticOutputShape(),
                                              expand.getOutputShapeMutable()));
    setShape(op, expand.getStaticOutputShape());
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    setShape(op, tensor::CollapseShapeOp::inferCollapsedType(
                     collapse.getSrcType(), collapse.getReassociationMaps())
                     .getShape());
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    setSliceSizes(slice);
  } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    takeSliceConstants(insert);
    setShape(op, shapeOf(insert.getDest()));
  } else if (auto insert = dyn_cast<tensor::InsertOp>(op)) {
    setShape(op, shapeOf(insert.getDest()));
  } else if (auto scatter = dyn_cast<tensor::ScatterOp>(op)) {
    setShape(op, shapeOf(scatter.getDest()));
  } else if (auto scatter = dyn_cast<ScatterAddOp>(op)) {
    setShape(op, shapeOf(scatter.getDest()));
  } else if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    setPadSizes(pad);
  } else if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    setShape(op, tensor::ConcatOp::inferResultType(
                     concat.getDim(), concat.getInputs().getTypes())
                     .getShape());
  } else if (auto gather = dyn_cast<tensor::GatherOp>(op)) {
    setGatherSizes(gather);
  } else if (auto reshape = dyn_cast<tensor::ReshapeOp>(op)) {
    setReshapeSizes(reshape);
  } else if (isa<tensor::CastOp, tensor::BitcastOp>(op)) {
    setShape(op, shapeOf(op->getOperand(0)));
  } else {
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static LogicalResult setCollectiveSizes(CollectiveOpInterface op) {
  MeshOp mesh = lookupMesh(op, op.getMeshAttr());
  int64_t devices = getGroupSize(getAxisRefs(op.getAxes()), mesh.getAxes());
  SmallVector<int64_t> shape(shapeOf(op->getOperand(0)));
  auto divide = [&](int64_t dim) -> LogicalResult {
    if (shape[dim] % devices != 0)
      return op->emitOpError()
             << "cuts dimension " << dim << " of size " << shape[dim]
             << " among " << devices
             << " devices; a size that the program of one device does not know "
                "must be a multiple of them (a module of level 0 to 2 takes "
                "any)";
    shape[dim] /= devices;
    return success();
  };
  LogicalResult done = success();
  if (auto gather = dyn_cast<AllGatherOp>(*op)) {
    shape[gather.getDim()] *= devices;
  } else if (auto scatter = dyn_cast<ReduceScatterOp>(*op)) {
    done = divide(scatter.getDim());
  } else if (auto slice = dyn_cast<AllSliceOp>(*op)) {
    done = divide(slice.getDim());
  } else if (auto exchange = dyn_cast<AllToAllOp>(*op)) {
    done = divide(exchange.getSplitDim());
    shape[exchange.getConcatDim()] *= devices;
  } else if (auto halo = dyn_cast<HaloExchangeOp>(*op)) {
    shape[halo.getDim()] += halo.getLow() + halo.getHigh();
  } else if (auto halo = dyn_cast<HaloReduceOp>(*op)) {
    shape[halo.getDim()] -= halo.getLow() + halo.getHigh();
  }
  if (succeeded(done))
    setShape(op, shape);
  return done;
}

//===----------------------------------------------------------------------===//
// Ops in general
//===----------------------------------------------------------------------===//

/// The types from traits and interfaces; returns whether these tell.
static bool setByInterface(Operation *op) {
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op)) {
    for (OpResult result : op->getResults())
      result.setType(destination.getTiedOpOperand(result)->get().getType());
    return true;
  }
  if (op->hasTrait<OpTrait::Elementwise>() ||
      op->hasTrait<OpTrait::SameOperandsAndResultType>() ||
      op->hasTrait<OpTrait::SameOperandsAndResultShape>() ||
      isa<ReshardOp, ShardingConstraintOp, FollowOp, OptimizationBarrierOp,
          SyncOp>(op)) {
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type)
        continue;
      for (Value result : op->getResults())
        result.setType(
            cast<TensorType>(result.getType()).clone(type.getShape()));
      return true;
    }
  }
  auto infer = dyn_cast<InferTypeOpInterface>(op);
  SmallVector<Type> types;
  if (!infer ||
      failed(infer.inferReturnTypes(
          op->getContext(), op->getLoc(), op->getOperands(),
          op->getRawDictionaryAttrs(), op->getPropertiesStorage(),
          op->getRegions(), types)) ||
      types.size() != op->getNumResults())
    return false;
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
    result.setType(type);
  return true;
}

LogicalResult mlir::dist::setResultSizes(Operation *op) {
  bool wasUnknown = llvm::any_of(op->getResultTypes(), hasUnknownSize);
  bool isKnownOp = setTensorOpSizes(op);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    if (failed(checkExpand(expand)))
      return failure();
  if (!wasUnknown)
    return success();
  if (!isKnownOp) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
      if (failed(setCollectiveSizes(collective)))
        return failure();
    } else {
      setByInterface(op);
    }
  }
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && llvm::any_of(tensor.getShape(), [](int64_t size) {
          return size < 0 && !ShapedType::isDynamic(size);
        }))
      return op->emitOpError() << "makes a tensor of a negative size: " << type;
    if (hasUnknownSize(type))
      return op->emitOpError()
             << "results in " << type
             << ", whose size does not follow from the sizes of the arguments";
  }
  return success();
}
