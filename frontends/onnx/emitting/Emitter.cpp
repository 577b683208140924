//===- Emitter.cpp - Constants, slices, gathers ---------------------------===//
//
// The part of the emitter that moves data without computing; reshapes and
// transposes are in Reshapes.cpp, loops in Loops.cpp.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "frontends/bounds/Bounds.h"

#include "dialects/dist/IR/Gradients.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist::frontend;

std::optional<Shape>
mlir::dist::frontend::broadcastShapes(ArrayRef<int64_t> a,
                                      ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape result(a);
  for (size_t i = 0, skip = a.size() - b.size(); i < b.size(); ++i) {
    int64_t &dim = result[skip + i];
    if (dim != b[i] && dim != 1 && b[i] != 1)
      return std::nullopt;
    if (dim == 1)
      dim = b[i];
  }
  return result;
}

Emitter::Emitter(MLIRContext *context)
    : builder(context, this), loc(UnknownLoc::get(context)) {}

void Emitter::setLocation(Location location, StringRef newScope) {
  loc = location;
  if (scopeAttr && newScope == scope)
    return;
  scope = newScope.str();
  scopeAttr = builder.getStringAttr(scope);
  scalars.clear();
}

/// Every op of the function's own block says which module it came from.
void Emitter::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) {
  Operation *parent = op->getParentOp();
  if (scopeAttr && parent && parent->getName().getStringRef() == "func.func" &&
      !op->hasTrait<OpTrait::IsTerminator>())
    op->setDiscardableAttr(dist::kScopeAttr, scopeAttr);
}

Type Emitter::typeOf(DType type) {
  return toType(builder.getContext(), type);
}

RankedTensorType Emitter::tensorType(ArrayRef<int64_t> shape, Type element) {
  SmallVector<int64_t> dims(shape);
  for (int64_t &dim : dims)
    dim = isOpen(dim) ? ShapedType::kDynamic : dim;
  return RankedTensorType::get(dims, element);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether there are integers computed of open sizes.
static bool hasOpen(const HostTensor &tensor) {
  return tensor.getType() == DType::I64 &&
         mlir::dist::frontend::hasOpen(tensor.getInts());
}

static Attribute elementAttr(OpBuilder &builder, Type type,
                             const HostTensor &tensor, int64_t index) {
  if (auto floating = dyn_cast<FloatType>(type))
    return builder.getFloatAttr(floating, tensor.getFloat(index));
  return builder.getIntegerAttr(
      type, APInt(type.getIntOrFloatBitWidth(), tensor.getInt(index),
                  /*isSigned=*/false, /*implicitTrunc=*/true));
}

Value Emitter::constant(const HostTensor &tensor) {
  Type element = typeOf(tensor.getType());
  RankedTensorType type = tensorType(tensor.getShape(), element);
  if (tensor.size() == 0)
    return empty(tensor.getShape(), element);
  if (::hasOpen(tensor)) {
    SmallVector<Value> elements;
    for (int64_t number : tensor.getInts())
      elements.push_back(sizeValue(number, element));
    return tensor::FromElementsOp::create(builder, loc, type, elements);
  }
  if (tensor.isSplat())
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(type, elementAttr(builder, element, tensor, 0)));
  if (tensor.getBytes().size() > kConstantBytes && largeConstant)
    return largeConstant(tensor);
  if (tensor.getType() == DType::Bool) {
    SmallVector<bool> bits;
    for (int64_t i = 0; i < tensor.size(); ++i)
      bits.push_back(tensor.getInt(i) != 0);
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, bits));
  }
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::getFromRawBuffer(type, tensor.getBytes()));
}

Value Emitter::scalar(const HostTensor &tensor, int64_t index) {
  if (::hasOpen(tensor))
    return sizeValue(tensor.getInt(index), typeOf(tensor.getType()));
  auto attr = mlir::cast<TypedAttr>(
      elementAttr(builder, typeOf(tensor.getType()), tensor, index));
  Value &value = scalars[{builder.getBlock(), attr}];
  if (!value)
    value = arith::ConstantOp::create(builder, loc, attr);
  return value;
}

Value Emitter::scalar(Type type, double number) {
  TypedAttr attr;
  if (auto floating = dyn_cast<FloatType>(type))
    attr = builder.getFloatAttr(floating, number);
  else
    attr = builder.getIntegerAttr(type, static_cast<int64_t>(number));
  Value &value = scalars[{builder.getBlock(), attr}];
  if (!value)
    value = arith::ConstantOp::create(builder, loc, attr);
  return value;
}

Value Emitter::scalarInt(Type type, int64_t number) {
  if (isa<FloatType>(type))
    return scalar(type, static_cast<double>(number));
  TypedAttr attr = builder.getIntegerAttr(type, number);
  Value &value = scalars[{builder.getBlock(), attr}];
  if (!value)
    value = arith::ConstantOp::create(builder, loc, attr);
  return value;
}

Value Emitter::empty(ArrayRef<int64_t> shape, Type element) {
  return note(tensor::EmptyOp::create(builder, loc, tensorType(shape, element),
                                      openSizes(shape)),
              shape);
}

Value Emitter::filled(ArrayRef<int64_t> shape, Value scalar) {
  if (countElements(shape) == 0)
    return empty(shape, scalar.getType());
  Value init = empty(shape, scalar.getType());
  return note(linalg::FillOp::create(builder, loc, scalar, init).getResult(0),
              shape);
}

Value Emitter::iota(ArrayRef<int64_t> shape, int64_t dim, Type element) {
  return mapPositions({}, shape, element, [&](LoopScalar &s, ArrayRef<Value>) {
    Value position = s.position(dim);
    return isa<IndexType>(element) ? position : s.fromIndex(position, element);
  });
}

Value Emitter::cast(Value value, DType from, DType to) {
  if (from == to ||
      (sizeOf(from) == sizeOf(to) && isInteger(from) && isInteger(to)))
    return value;
  return map(
      value, shapeOf(value), typeOf(to),
      [&](Scalar &s, ArrayRef<Value> in) { return s.cast(in[0], from, to); });
}

//===----------------------------------------------------------------------===//
// Parts and wholes
//===----------------------------------------------------------------------===//

Value Emitter::slice(Value value, ArrayRef<int64_t> offsets,
                     ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  Shape shape = shapeOf(value);
  SmallVector<int64_t> cut;
  for (size_t i = 0; i < shape.size(); ++i)
    if (sizes[i] != shape[i])
      cut.push_back(i);
  if (cut.empty())
    return value;
  if (countElements(sizes) == 0)
    return empty(sizes, getElementTypeOrSelf(value));
  if (std::optional<Unflattened> whole = unflatten(value, cut)) {
    Shape inner = shapeOf(whole->value);
    SmallVector<int64_t> innerOffsets(inner.size(), 0), innerSizes(inner),
        innerStrides(inner.size(), 1);
    for (int64_t dim : cut) {
      int64_t at = whole->groups[dim].front();
      innerOffsets[at] = offsets[dim];
      innerSizes[at] = sizes[dim];
      innerStrides[at] = strides[dim];
    }
    return reshape(slice(whole->value, innerOffsets, innerSizes, innerStrides),
                   sizes);
  }
  return note(tensor::ExtractSliceOp::create(builder, loc, value,
                                             mixed(offsets), mixed(sizes),
                                             mixed(strides)),
              sizes);
}

Value Emitter::insert(Value base, Value part, ArrayRef<int64_t> offsets,
                      ArrayRef<int64_t> strides) {
  Shape sizes = shapeOf(part);
  if (sizes == shapeOf(base))
    return part;
  // What is transposed for this is transposed back behind it, as a rule.
  if (auto before = base.getDefiningOp<linalg::TransposeOp>()) {
    ArrayRef<int64_t> order = before.getPermutation();
    SmallVector<int64_t> back(order.size()), innerOffsets(order.size()),
        innerStrides(order.size());
    for (auto [i, dim] : llvm::enumerate(order)) {
      back[dim] = i;
      innerOffsets[dim] = offsets[i];
      innerStrides[dim] = strides[i];
    }
    return transpose(insert(before.getInput(), transpose(part, back),
                            innerOffsets, innerStrides),
                     order);
  }
  return tensor::InsertSliceOp::create(builder, loc, part, base,
                                       mixed(offsets), mixed(sizes),
                                       mixed(strides));
}

Value Emitter::sliceDim(Value value, int64_t dim, int64_t offset, int64_t size,
                        int64_t stride) {
  Shape sizes = shapeOf(value);
  SmallVector<int64_t> offsets(sizes.size(), 0), strides(sizes.size(), 1);
  offsets[dim] = offset;
  sizes[dim] = size;
  strides[dim] = stride;
  return slice(value, offsets, sizes, strides);
}

Value Emitter::concat(ArrayRef<Value> values, int64_t dim) {
  SmallVector<Value> parts;
  for (Value value : values)
    if (shapeOf(value)[dim] != 0)
      parts.push_back(value);
  if (parts.empty())
    return values.front();
  if (parts.size() == 1)
    return parts.front();
  Shape shape = shapeOf(parts.front());
  shape[dim] = 0;
  for (Value part : parts)
    shape[dim] = sizes.add(shape[dim], shapeOf(part)[dim]);
  return note(tensor::ConcatOp::create(
                  builder, loc,
                  tensorType(shape, getElementTypeOrSelf(parts.front())), dim,
                  parts),
              shape);
}

Value Emitter::pad(Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                   Value scalar) {
  Shape shape = shapeOf(value);
  bool nothing = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    shape[i] = sizes.add(shape[i], sizes.add(low[i], high[i]));
    nothing &= low[i] == 0 && high[i] == 0;
  }
  if (nothing)
    return value;
  if (countElements(shapeOf(value)) == 0)
    return filled(shape, scalar);
  return note(tensor::PadOp::create(
                  builder, loc, tensorType(shape, getElementTypeOrSelf(value)),
                  value, mixed(low), mixed(high), scalar),
              shape);
}

Value Emitter::broadcast(Value value, ArrayRef<int64_t> shape) {
  if (countElements(shape) == 0)
    return empty(shape, getElementTypeOrSelf(value));
  Shape from = shapeOf(value);
  size_t skip = shape.size() - from.size();
  SmallVector<int64_t> added;
  Shape kept;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i >= skip && from[i - skip] == shape[i])
      kept.push_back(shape[i]);
    else
      added.push_back(i);
  }
  bool grows = llvm::any_of(added, [&](int64_t i) { return shape[i] != 1; });
  if (!grows)
    return reshape(value, shape);
  value = reshape(value, kept);
  Value init = empty(shape, getElementTypeOrSelf(value));
  return note(linalg::BroadcastOp::create(builder, loc, value, init, added)
                  ->getResult(0),
              shape);
}

Value Emitter::tile(Value value, int64_t dim, int64_t times) {
  if (times == 1)
    return value;
  Shape shape = shapeOf(value);
  Shape apart = shape, spread = shape;
  apart.insert(apart.begin() + dim, 1);
  spread.insert(spread.begin() + dim, times);
  shape[dim] = sizes.mul(shape[dim], times);
  return reshape(broadcast(reshape(value, apart), spread), shape);
}

Value Emitter::take(Value value, int64_t dim, ArrayRef<int64_t> indices) {
  // Runs of a constant positive step are slices.
  struct Run {
    int64_t start, size, step;
  };
  SmallVector<Run> runs;
  for (int64_t index : indices) {
    if (!runs.empty()) {
      Run &run = runs.back();
      int64_t step = index - (run.start + (run.size - 1) * run.step);
      if (step > 0 && (run.size == 1 || step == run.step)) {
        run.step = step;
        ++run.size;
        continue;
      }
    }
    runs.push_back({index, 1, 1});
  }
  if (runs.size() <= 8 || shapeOf(value).empty()) {
    SmallVector<Value> parts;
    for (const Run &run : runs)
      parts.push_back(sliceDim(value, dim, run.start, run.size, run.step));
    if (parts.empty())
      return sliceDim(value, dim, 0, 0);
    return concat(parts, dim);
  }
  int64_t count = indices.size();
  RankedTensorType type = tensorType({count, 1}, builder.getIndexType());
  Value where = arith::ConstantOp::create(
      builder, loc, DenseIntElementsAttr::get(type, indices));
  Value gathered = gather(value, where, dim);
  // The gathered dimension comes first.
  SmallVector<int64_t> permutation;
  for (int64_t i = 0, rank = shapeOf(value).size(); i < rank; ++i)
    permutation.push_back(i == dim ? 0 : i < dim ? i + 1 : i);
  return transpose(gathered, permutation);
}

Value Emitter::gather(Value source, Value indices, ArrayRef<int64_t> dims) {
  Shape shape(shapeOf(indices));
  shape.pop_back();
  Shape from = shapeOf(source);
  for (int64_t i = 0, rank = from.size(); i < rank; ++i)
    if (!llvm::is_contained(dims, i))
      shape.push_back(from[i]);
  if (countElements(shape) == 0)
    return empty(shape, getElementTypeOrSelf(source));
  Type type = tensorType(shape, getElementTypeOrSelf(source));
  return note(
      tensor::GatherOp::create(builder, loc, type, source, indices, dims),
      shape);
}

Value Emitter::scatterAdd(Value base, Value indices, Value updates,
                          ArrayRef<int64_t> dims) {
  Shape shape(shapeOf(base));
  Value sums = dist::ScatterAddOp::create(builder, loc, base.getType(), updates,
                                          base, indices, dims)
                   .getResult();
  return note(sums, shape);
}

Value Emitter::toIndices(Value integers, int64_t size) {
  Value open =
      isOpen(size) ? sizeValue(size, getElementTypeOrSelf(integers)) : Value();
  return map(
      integers, shapeOf(integers), builder.getIndexType(),
      [&](Scalar &s, ArrayRef<Value> in) {
        Type type = in[0].getType();
        Value zero = s.constantInt(type, 0);
        Value wrapped = s.add(in[0], open ? open : s.constantInt(type, size));
        Value negative = s.compare(Compare::LT, in[0], zero);
        return s.toIndex(whereTaken(s, s.select(negative, wrapped, in[0]), 0));
      });
}
