//===- Constant.cpp - Converters of operators that make tensors -----------===//

#include "Converter.h"

#include <cmath>

using namespace mlir;
using namespace mlir::dist::frontend;

static LogicalResult constant(NodeContext &c) {
  if (std::optional<HostTensor> tensor = c.tensorAttr("value")) {
    c.set(0, *tensor);
    return success();
  }
  auto list = [&](DType type, auto values) {
    HostTensor tensor(type, {static_cast<int64_t>(values.size())});
    for (auto [i, value] : llvm::enumerate(values)) {
      if (type == DType::I64)
        tensor.setInt(i, static_cast<int64_t>(value));
      else
        tensor.setFloat(i, value);
    }
    return tensor;
  };
  if (c.hasAttr("value_int"))
    c.set(0,
          list(DType::I64, ArrayRef(c.intAttr("value_int", 0))).reshaped({}));
  else if (c.hasAttr("value_float"))
    c.set(
        0,
        list(DType::F32, ArrayRef(c.floatAttr("value_float", 0))).reshaped({}));
  else if (std::optional<SmallVector<int64_t>> ints = c.intsAttr("value_ints"))
    c.set(0, list(DType::I64, *ints));
  else if (std::optional<SmallVector<double>> floats =
               c.floatsAttr("value_floats"))
    c.set(0, list(DType::F32, *floats));
  else
    return c.unsupported("a Constant that is neither a tensor nor numbers");
  return success();
}

static LogicalResult constantOfShape(NodeContext &c) {
  std::optional<SmallVector<int64_t>> shape = c.openInts(0);
  if (!shape)
    return c.unsupported("ConstantOfShape of a shape computed at run time");
  if (!c.isPossible(*shape))
    return c.invalid("impossible shape " + toString(*shape));
  for (int64_t size : *shape)
    if (!c.sizes().isAtLeast(size, 0))
      return c.open("ConstantOfShape of " + c.sizes().toString(*shape), size);
  HostTensor number(DType::F32, {});
  if (std::optional<HostTensor> given = c.tensorAttr("value")) {
    if (given->size() != 1)
      return c.invalid("value has " + Twine(given->size()) + " elements");
    number = given->reshaped({});
  }
  Tensor scalar;
  scalar.type = number.getType();
  scalar.known = number;
  c.set(0, c.broadcast(scalar, *shape));
  return success();
}

/// start, start + step, … up to an end, where a start or an end is open.
static LogicalResult openRange(NodeContext &c) {
  Sizes &sizes = c.sizes();
  int64_t start = c.openInts(0)->front(), end = c.openInts(1)->front(),
          step = c.openInts(2)->front();
  if (isOpen(step) || step == 0)
    return c.open("Range with a step of " + sizes.toString(step), step);
  int64_t length = step > 0 ? sizes.sub(end, start) : sizes.sub(start, end);
  length = sizes.ceilDiv(sizes.max(length, 0), std::abs(step));
  DType type = c.in(0).type;
  Emitter &e = c.emitter;
  Type element = e.typeOf(type);
  Value first = e.sizeValue(start, element);
  Value result = e.mapPositions(
      {}, {length}, element, [&](LoopScalar &s, ArrayRef<Value>) {
        Value position = s.positionInt(0);
        if (step != 1)
          position = s.mul(position, s.constantInt(element, step));
        return start == 0 ? position : s.add(position, first);
      });
  c.set(0, result, type);
  return success();
}

static LogicalResult range(NodeContext &c) {
  if (c.hasOpenInput()) {
    for (size_t i : {0, 1, 2})
      if (c.in(i).type != DType::I64 || !c.openInts(i) ||
          c.openInts(i)->size() != 1)
        return c.unsupported("Range with bounds computed at run time");
    return openRange(c);
  }
  std::optional<double> start = c.number(0), limit = c.number(1),
                        delta = c.number(2);
  if (!start || !limit || !delta)
    return c.unsupported("Range with bounds computed at run time");
  DType type = c.in(0).type;
  if (*delta == 0)
    return c.invalid("Range with a step of 0");
  double steps = std::ceil((*limit - *start) / *delta);
  if (!(steps < 1e9))
    return c.invalid("Range from " + std::to_string(*start) + " to " +
                     std::to_string(*limit) + " by " + std::to_string(*delta));
  int64_t count = std::max<int64_t>(static_cast<int64_t>(steps), 0);
  if (isSmall(type, count)) {
    HostTensor values(type, {count});
    for (int64_t i = 0; i < count; ++i) {
      if (isFloat(type))
        values.setFloat(i, *start + i * *delta);
      else
        values.setInt(i, c.data(0)->getInt(0) + i * c.data(2)->getInt(0));
    }
    c.set(0, values);
    return success();
  }
  Type element = c.emitter.typeOf(type);
  Value result = c.emitter.mapPositions(
      {}, {count}, element, [&](LoopScalar &s, ArrayRef<Value>) {
        Value position = s.positionInt(0);
        position = s.cast(position, DType::I64, type);
        return s.add(s.mul(position, s.constant(element, *delta)),
                     s.constant(element, *start));
      });
  c.set(0, result, type);
  return success();
}

static LogicalResult eyeLike(NodeContext &c) {
  Shape shape = c.in(0).shape;
  if (shape.size() != 2)
    return c.invalid("EyeLike of rank " + Twine(shape.size()));
  DType type = static_cast<DType>(
      c.intAttr("dtype", static_cast<int64_t>(c.in(0).type)));
  if (sizeOf(type) == 0)
    return c.unsupported("EyeLike of type " + nameOf(type));
  int64_t k = c.intAttr("k", 0);
  Type element = c.emitter.typeOf(type);
  if (!hasOpen(shape) && isSmall(type, *countElements(shape))) {
    HostTensor eye(type, shape);
    for (int64_t i = 0; i < shape[0]; ++i)
      if (i + k >= 0 && i + k < shape[1])
        eye.setInt(i * shape[1] + i + k, 1);
    c.set(0, eye);
    return success();
  }
  Value result = c.emitter.mapPositions(
      {}, shape, element, [&](LoopScalar &s, ArrayRef<Value>) {
        Value row = s.positionInt(0);
        Value column = s.positionInt(1);
        row = s.add(row, s.constantInt(row.getType(), k));
        return s.select(s.compare(Compare::EQ, row, column),
                        s.constant(element, 1), s.constant(element, 0));
      });
  c.set(0, result, type);
  return success();
}

void mlir::dist::frontend::addConstantConverters(ConverterTable &table) {
  table.add("Constant", 0, constant);
  table.add("ConstantOfShape", 1, constantOfShape);
  table.add("Range", 3, range);
  table.add("EyeLike", 1, eyeLike);
  table.takeOpenSizes({"ConstantOfShape", "Range", "EyeLike"});
}
