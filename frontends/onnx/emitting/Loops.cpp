//===- Loops.cpp - Elementwise loops and reductions -----------------------===//

#include "Emitter.h"

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace mlir::dist::frontend;

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

namespace {
/// A tensor operand of an elementwise op and the loops of its dimensions.
struct Access {
  Value tensor;
  SmallVector<int64_t> loops;
};
} // namespace

/// What a broadcast adds need not be read from memory.
static void lookThroughBroadcast(Access &access) {
  while (auto broadcast = access.tensor.getDefiningOp<linalg::BroadcastOp>()) {
    SmallVector<int64_t> loops;
    for (auto [dim, loop] : llvm::enumerate(access.loops))
      if (!llvm::is_contained(broadcast.getDimensions(),
                              static_cast<int64_t>(dim)))
        loops.push_back(loop);
    access = {broadcast.getInput(), loops};
  }
}

/// Unit dimensions that every operand of full rank only has because a reshape
/// added them (a reduction that keeps its dimensions).
static SmallVector<int64_t> addedUnits(const Emitter &emitter,
                                       ArrayRef<Value> operands,
                                       ArrayRef<int64_t> shape) {
  SmallVector<int64_t> units;
  if (llvm::none_of(operands, isTensor))
    return units;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size == 1)
      units.push_back(dim);
  for (Value operand : operands) {
    if (!isTensor(operand) || emitter.shapeOf(operand).size() < shape.size())
      continue;
    auto expand = operand.getDefiningOp<tensor::ExpandShapeOp>();
    if (!expand)
      return {};
    Shape source = emitter.shapeOf(expand.getSrc());
    SmallVector<int64_t> added;
    for (auto [from, group] :
         llvm::enumerate(expand.getReassociationIndices())) {
      // Of several unit dimensions the first may stand for the source's.
      int64_t keep = source[from] == 1 ? 1 : 0;
      for (int64_t dim : group)
        if (emitter.shapeOf(operand)[dim] == 1 && keep-- <= 0)
          added.push_back(dim);
    }
    llvm::erase_if(
        units, [&](int64_t dim) { return !llvm::is_contained(added, dim); });
  }
  return units;
}

Value Emitter::map(ArrayRef<Value> operands, ArrayRef<int64_t> shape,
                   Type element, Body body) {
  if (countElements(shape) == 0)
    return empty(shape, element);
  int64_t rank = shape.size();

  SmallVector<int64_t> units = addedUnits(*this, operands, shape);
  if (!units.empty()) {
    auto without = [&](ArrayRef<int64_t> from) {
      Shape kept;
      int64_t skip = rank - from.size();
      for (auto [i, size] : llvm::enumerate(from))
        if (!llvm::is_contained(units, skip + static_cast<int64_t>(i)))
          kept.push_back(size);
      return kept;
    };
    SmallVector<Value> inner;
    for (Value operand : operands)
      inner.push_back(isTensor(operand)
                          ? reshape(operand, without(shapeOf(operand)))
                          : operand);
    return reshape(map(inner, without(shape), element, body), shape);
  }

  // Where an operand is flattened and the others are too, or do not vary along
  // the flattened dimensions, compute before the flattening.
  for (Value operand : operands) {
    if (!isTensor(operand) || shapeOf(operand) != Shape(shape))
      continue;
    std::optional<Unflattened> whole = unflatten(operand, {});
    if (!whole)
      continue;
    Shape inner = shapeOf(whole->value);
    SmallVector<Value> innerOperands;
    bool fits = true;
    for (Value other : operands) {
      if (!isTensor(other)) {
        innerOperands.push_back(other);
        continue;
      }
      Shape otherShape = shapeOf(other);
      if (otherShape == Shape(shape)) {
        std::optional<Unflattened> same = unflatten(other, {});
        fits &= same && shapeOf(same->value) == inner;
        if (fits)
          innerOperands.push_back(same->value);
        continue;
      }
      Shape spread;
      int64_t skip = rank - otherShape.size();
      for (int64_t dim = skip; dim < rank; ++dim) {
        int64_t size = otherShape[dim - skip];
        const auto &group = whole->groups[dim];
        fits &= group.size() == 1 || size == 1;
        spread.push_back(size);
        for (size_t i = 1; i < group.size(); ++i)
          spread.push_back(1);
      }
      if (fits)
        innerOperands.push_back(reshape(other, spread));
    }
    if (fits)
      return reshape(map(innerOperands, inner, element, body), shape);
    break;
  }

  return mapPositions(
      operands, shape, element,
      [&](LoopScalar &s, ArrayRef<Value> in) { return body(s, in); });
}

Value Emitter::mapPositions(ArrayRef<Value> operands, ArrayRef<int64_t> shape,
                            Type element, PositionBody body) {
  if (countElements(shape) == 0)
    return empty(shape, element);
  int64_t rank = shape.size();
  SmallVector<Access> accesses;
  for (Value operand : operands) {
    if (!isTensor(operand))
      continue;
    Shape from = shapeOf(operand), kept;
    Access access;
    int64_t skip = rank - from.size();
    for (int64_t dim = skip; dim < rank; ++dim) {
      if (from[dim - skip] != shape[dim])
        continue;
      kept.push_back(shape[dim]);
      access.loops.push_back(dim);
    }
    access.tensor = reshape(operand, kept);
    lookThroughBroadcast(access);
    accesses.push_back(access);
  }

  MLIRContext *context = builder.getContext();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Access &access : accesses) {
    SmallVector<AffineExpr> exprs;
    for (int64_t loop : access.loops)
      exprs.push_back(getAffineDimExpr(loop, context));
    inputs.push_back(access.tensor);
    maps.push_back(AffineMap::get(rank, 0, exprs, context));
  }
  Value init = empty(shape, element);
  auto generic = createParallelLoops(
      builder, loc, inputs, maps, init,
      [&](OpBuilder &nested, Location at, ValueRange args) {
        LoopScalar scalar(nested, at);
        SmallVector<Value> values;
        size_t next = 0;
        for (Value operand : operands)
          values.push_back(isTensor(operand) ? args[next++] : operand);
        return SmallVector<Value>{body(scalar, values)};
      });
  return note(generic.getResult(0), shape);
}

Value Emitter::loops(ArrayRef<Value> inputs, ArrayRef<AffineMap> inputMaps,
                     Value init, AffineMap initMap, Combine body) {
  // Over nothing: neither loops without iterations nor empty buffers are left.
  auto isEmpty = [&](Value value) {
    return countElements(shapeOf(value)) == 0;
  };
  if (isEmpty(init) || llvm::any_of(inputs, isEmpty))
    return init;
  SmallVector<AffineMap> maps(inputMaps);
  maps.push_back(initMap);
  SmallVector<utils::IteratorType> iterators(initMap.getNumDims(),
                                             utils::IteratorType::reduction);
  for (AffineExpr expr : initMap.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      iterators[dim.getPosition()] = utils::IteratorType::parallel;
  auto generic = linalg::GenericOp::create(
      builder, loc, init.getType(), inputs, init, maps, iterators,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange args) {
        LoopScalar scalar(nested, nestedLoc);
        SmallVector<Value> values(args.drop_back());
        linalg::YieldOp::create(nested, nestedLoc,
                                body(scalar, values, args.back()));
      });
  return note(generic.getResult(0), shapeOf(init));
}

Value Emitter::reduce(Reduction kind, Value value, ArrayRef<int64_t> axes,
                      bool keep, bool isUnsigned, bool isFirst) {
  Shape shape = shapeOf(value), kept, left;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(dim))) {
      kept.push_back(size);
      left.push_back(size);
    } else if (keep) {
      kept.push_back(1);
    }
  }
  if (axes.empty())
    return value;
  if (std::optional<Unflattened> whole = unflatten(value, axes)) {
    SmallVector<int64_t> innerAxes;
    for (int64_t axis : axes)
      innerAxes.push_back(whole->groups[axis].front());
    return reshape(
        reduce(kind, whole->value, innerAxes, /*keep=*/false, isUnsigned,
               isFirst),
        kept);
  }
  Type type = getElementTypeOrSelf(value);
  Value start;
  if (kind == Reduction::Sum || kind == Reduction::Prod) {
    start = scalar(type, kind == Reduction::Sum ? 0.0 : 1.0);
  } else if (isa<FloatType>(type)) {
    double infinity = std::numeric_limits<double>::infinity();
    start = scalar(type, kind == Reduction::Max ? -infinity : infinity);
  } else {
    unsigned width = type.getIntOrFloatBitWidth();
    bool plain = isUnsigned || width == 1;
    APInt bound = kind == Reduction::Max
                      ? (plain ? APInt::getMinValue(width)
                               : APInt::getSignedMinValue(width))
                      : (plain ? APInt::getMaxValue(width)
                               : APInt::getSignedMaxValue(width));
    start = arith::ConstantOp::create(builder, loc,
                                      builder.getIntegerAttr(type, bound));
  }
  Value init = filled(left, start);
  MLIRContext *context = builder.getContext();
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim)
    if (!llvm::is_contained(axes, dim))
      exprs.push_back(getAffineDimExpr(dim, context));
  Value result =
      loops(value, AffineMap::getMultiDimIdentityMap(shape.size(), context),
            init, AffineMap::get(shape.size(), 0, exprs, context),
            [&](LoopScalar &s, ArrayRef<Value> in, Value out) {
              switch (kind) {
              case Reduction::Sum:
                return s.add(in[0], out);
              case Reduction::Prod:
                return s.mul(in[0], out);
              case Reduction::Max:
                return s.max(in[0], out, isUnsigned);
              case Reduction::Min:
                return s.min(in[0], out, isUnsigned);
              }
              return out;
            });
  if (isFirst)
    result.getDefiningOp()->setAttr(dist::kFirstAttr, builder.getUnitAttr());
  return reshape(result, kept);
}

Value Emitter::convolve(Value image, Value kernel, Value init,
                        ArrayRef<int64_t> strides,
                        ArrayRef<int64_t> dilations) {
  if (countElements(shapeOf(init)) == 0 || countElements(shapeOf(image)) == 0)
    return init;
  Attribute strideAttr = builder.getI64TensorAttr(strides);
  Attribute dilationAttr = builder.getI64TensorAttr(dilations);
  ValueRange inits(init);
  SmallVector<Value> inputs{image, kernel};
  auto make = [&]() -> Value {
    switch (strides.size()) {
    case 1:
      return linalg::Conv1DNcwFcwOp::create(builder, loc, init.getType(),
                                            inputs, inits, strideAttr,
                                            dilationAttr)
          .getResult(0);
    case 2:
      return linalg::Conv2DNchwFchwOp::create(builder, loc, init.getType(),
                                              inputs, inits, strideAttr,
                                              dilationAttr)
          .getResult(0);
    default:
      return linalg::Conv3DNcdhwFcdhwOp::create(builder, loc, init.getType(),
                                                inputs, inits, strideAttr,
                                                dilationAttr)
          .getResult(0);
    }
  };
  return note(make(), shapeOf(init));
}
