//===- Shape.cpp - Converters of operators that move data -----------------===//

#include "Converter.h"

using namespace mlir;
using namespace mlir::dist::frontend;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static LogicalResult setReshaped(NodeContext &c, ArrayRef<int64_t> shape) {
  if (countElements(shape) != countElements(c.in(0).shape))
    return c.invalid("shape " + toString(c.in(0).shape) + " cannot become " +
                     toString(shape));
  c.set(0, c.reshape(c.in(0), shape));
  return success();
}

static LogicalResult identity(NodeContext &c) {
  c.set(0, c.in(0));
  return success();
}

static LogicalResult dropout(NodeContext &c) {
  if (c.has(2) && c.number(2) != 0.0)
    return c.unsupported("Dropout in training mode");
  if (c.wants(1)) {
    HostTensor one(DType::Bool, {});
    one.setInt(0, 1);
    Tensor all;
    all.type = DType::Bool;
    all.known = one;
    c.set(1, c.broadcast(all, c.in(0).shape));
  }
  return identity(c);
}

/// 0 copies a dimension (unless allowzero), -1 is what is left.
static LogicalResult reshape(NodeContext &c) {
  std::optional<SmallVector<int64_t>> target = c.ints(1);
  if (!target)
    return c.unsupported("Reshape to a shape computed at run time");
  bool allowZero = c.intAttr("allowzero", 0) != 0;
  Shape shape;
  int64_t open = -1, known = 1;
  for (auto [i, dim] : llvm::enumerate(*target)) {
    if (dim == 0 && !allowZero) {
      if (i >= c.in(0).shape.size())
        return c.invalid("target " + toString(*target) + " copies dimension " +
                         Twine(i) + " of " + toString(c.in(0).shape));
      dim = c.in(0).shape[i];
    }
    if (dim == -1) {
      if (open >= 0)
        return c.invalid("target " + toString(*target) + " has two -1");
      open = i;
      dim = 1;
    }
    shape.push_back(dim);
  }
  std::optional<int64_t> product = countElements(shape);
  std::optional<int64_t> count = countElements(c.in(0).shape);
  if (!product || !count)
    return c.invalid("impossible target " + toString(*target));
  known = *product;
  if (open >= 0) {
    if (known == 0 || *count % known != 0)
      return c.invalid("shape " + toString(c.in(0).shape) + " cannot become " +
                       toString(*target));
    shape[open] = *count / known;
  }
  return setReshaped(c, shape);
}

static LogicalResult flatten(NodeContext &c) {
  ArrayRef<int64_t> shape = c.in(0).shape;
  int64_t rank = shape.size(), at = c.intAttr("axis", 1);
  if (at < -rank || at > rank)
    return c.invalid("axis " + Twine(at) + " of a tensor of rank " +
                     Twine(rank));
  if (at < 0)
    at += rank;
  return setReshaped(c, {*countElements(shape.take_front(at)),
                         *countElements(shape.drop_front(at))});
}

static LogicalResult unsqueeze(NodeContext &c) {
  std::optional<SmallVector<int64_t>> list = c.intsAttrOrInput("axes", 1);
  if (!list)
    return c.invalid("no axes");
  int64_t rank = c.in(0).rank() + list->size();
  FailureOr<SmallVector<int64_t>> axes = c.axes(*list, rank);
  if (failed(axes))
    return failure();
  Shape shape = c.in(0).shape;
  for (int64_t axis : *axes)
    shape.insert(shape.begin() + axis, 1);
  return setReshaped(c, shape);
}

static LogicalResult squeeze(NodeContext &c) {
  std::optional<SmallVector<int64_t>> list = c.intsAttrOrInput("axes", 1);
  SmallVector<int64_t> all;
  if (!list)
    for (auto [i, dim] : llvm::enumerate(c.in(0).shape))
      if (dim == 1)
        all.push_back(i);
  FailureOr<SmallVector<int64_t>> axes =
      c.axes(list ? *list : all, c.in(0).rank());
  if (failed(axes))
    return failure();
  Shape shape;
  for (auto [i, dim] : llvm::enumerate(c.in(0).shape)) {
    if (!llvm::is_contained(*axes, static_cast<int64_t>(i)))
      shape.push_back(dim);
    else if (dim != 1)
      return c.invalid("dimension " + Twine(i) + " of " +
                       toString(c.in(0).shape) + " is not 1");
  }
  return setReshaped(c, shape);
}

static LogicalResult transpose(NodeContext &c) {
  int64_t rank = c.in(0).rank();
  SmallVector<int64_t> permutation;
  for (int64_t i = rank - 1; i >= 0; --i)
    permutation.push_back(i);
  if (std::optional<SmallVector<int64_t>> given = c.intsAttr("perm"))
    permutation = *given;
  SmallVector<int64_t> sorted = permutation;
  llvm::sort(sorted);
  bool valid = static_cast<int64_t>(sorted.size()) == rank;
  for (auto [i, dim] : llvm::enumerate(sorted))
    valid &= dim == static_cast<int64_t>(i);
  if (!valid)
    return c.invalid("perm " + toString(permutation) +
                     " is no permutation of rank " + Twine(rank));
  c.set(0, c.transpose(c.in(0), permutation));
  return success();
}

static LogicalResult shapeOp(NodeContext &c) {
  int64_t rank = c.in(0).rank();
  auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t start = clamp(c.intAttr("start", 0));
  int64_t end = clamp(c.hasAttr("end") ? c.intAttr("end", 0) : rank);
  HostTensor dims(DType::I64, {std::max<int64_t>(end - start, 0)});
  for (int64_t i = start; i < end; ++i)
    dims.setInt(i - start, c.in(0).shape[i]);
  c.set(0, dims);
  return success();
}

static LogicalResult size(NodeContext &c) {
  HostTensor count(DType::I64, {});
  count.setInt(0, *countElements(c.in(0).shape));
  c.set(0, count);
  return success();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static LogicalResult constant(NodeContext &c) {
  if (std::optional<HostTensor> tensor = c.tensorAttr("value")) {
    c.set(0, *tensor);
    return success();
  }
  const auto &attributes = c.node.attributes;
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
  else if (c.hasAttr("value_ints"))
    c.set(0, list(DType::I64, attributes.find("value_ints")->second.ints));
  else if (c.hasAttr("value_floats"))
    c.set(0, list(DType::F32, attributes.find("value_floats")->second.floats));
  else
    return c.unsupported("a Constant that is neither a tensor nor numbers");
  return success();
}

static LogicalResult constantOfShape(NodeContext &c) {
  std::optional<SmallVector<int64_t>> shape = c.ints(0);
  if (!shape)
    return c.unsupported("ConstantOfShape of a shape computed at run time");
  std::optional<int64_t> count = countElements(*shape);
  if (!count)
    return c.invalid("impossible shape " + toString(*shape));
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

static LogicalResult range(NodeContext &c) {
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
        values.setInt(i,
                      c.in(0).known->getInt(0) + i * c.in(2).known->getInt(0));
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
  if (isSmall(type, *countElements(shape))) {
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

//===----------------------------------------------------------------------===//
// Broadcasting and repeating
//===----------------------------------------------------------------------===//

static LogicalResult expand(NodeContext &c) {
  std::optional<SmallVector<int64_t>> target = c.ints(1);
  if (!target)
    return c.unsupported("Expand to a shape computed at run time");
  std::optional<Shape> shape = broadcastShapes(c.in(0).shape, *target);
  if (!shape || !countElements(*shape))
    return c.invalid("shape " + toString(c.in(0).shape) +
                     " does not broadcast to " + toString(*target));
  c.set(0, c.broadcast(c.in(0), *shape));
  return success();
}

static LogicalResult tile(NodeContext &c) {
  std::optional<SmallVector<int64_t>> repeats = c.ints(1);
  if (!repeats)
    return c.unsupported("Tile with repeats computed at run time");
  Shape shape = c.in(0).shape, apart, spread, result;
  if (repeats->size() != shape.size())
    return c.invalid("repeats " + toString(*repeats) + " for shape " +
                     toString(shape));
  for (auto [dim, times] : llvm::zip(shape, *repeats)) {
    if (times < 0 || !countElements({dim, times}))
      return c.invalid("repeats " + toString(*repeats));
    if (times != 1 && dim != 1) {
      apart.push_back(1);
      spread.push_back(times);
    }
    apart.push_back(dim);
    spread.push_back(times != 1 && dim == 1 ? times : dim);
    result.push_back(dim * times);
  }
  if (!countElements(result))
    return c.invalid("repeats " + toString(*repeats) + " for shape " +
                     toString(shape));
  c.set(0, c.reshape(c.broadcast(c.reshape(c.in(0), apart), spread), result));
  return success();
}

//===----------------------------------------------------------------------===//
// Parts and wholes
//===----------------------------------------------------------------------===//

static LogicalResult concat(NodeContext &c) {
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", 0), c.in(0).rank());
  if (failed(axis))
    return failure();
  SmallVector<Tensor> tensors;
  Shape total = c.in(0).shape;
  for (size_t i = 0; i < c.numInputs(); ++i) {
    Shape shape = c.in(i).shape, first = c.in(0).shape;
    bool fits = c.in(i).type == c.in(0).type && shape.size() == first.size();
    if (fits) {
      if (i > 0)
        total[*axis] += shape[*axis];
      shape[*axis] = first[*axis] = 0;
      fits = shape == first && countElements(total);
    }
    if (!fits)
      return c.invalid("input " + Twine(i) + " of type " +
                       nameOf(c.in(i).type) + " and shape " +
                       toString(c.in(i).shape) + " does not continue " +
                       nameOf(c.in(0).type) + " " + toString(c.in(0).shape) +
                       " along axis " + Twine(*axis));
    tensors.push_back(c.in(i));
  }
  c.set(0, c.concat(tensors, *axis));
  return success();
}

/// Start, end and step of one axis, as in Python.
static LogicalResult slice(NodeContext &c) {
  std::optional<SmallVector<int64_t>> starts = c.ints(1), ends = c.ints(2);
  if (!starts || !ends || (c.has(3) && !c.ints(3)) || (c.has(4) && !c.ints(4)))
    return c.unsupported("Slice with bounds computed at run time");
  int64_t rank = c.in(0).rank();
  SmallVector<int64_t> list;
  if (c.has(3))
    list = *c.ints(3);
  else
    for (size_t i = 0; i < starts->size(); ++i)
      list.push_back(i);
  SmallVector<int64_t> steps(starts->size(), 1);
  if (c.has(4))
    steps = *c.ints(4);
  if (ends->size() != starts->size() || list.size() != starts->size() ||
      steps.size() != starts->size())
    return c.invalid(Twine(starts->size()) + " starts, " + Twine(ends->size()) +
                     " ends, " + Twine(list.size()) + " axes and " +
                     Twine(steps.size()) + " steps");
  if (failed(c.axes(list, rank)))
    return failure();

  SmallVector<int64_t> offsets(rank, 0), strides(rank, 1);
  Shape sizes = c.in(0).shape;
  SmallVector<std::pair<int64_t, SmallVector<int64_t>>> backwards;
  for (size_t i = 0; i < list.size(); ++i) {
    int64_t axis = *c.axis(list[i], rank), dim = c.in(0).shape[axis];
    int64_t step = steps[i];
    if (step == 0)
      return c.invalid("a step of 0");
    auto clamp = [&](int64_t at, int64_t low, int64_t high) {
      return std::clamp(at < 0 ? at + dim : at, low, high);
    };
    if (step > 0) {
      int64_t start = clamp((*starts)[i], 0, dim);
      int64_t end = clamp((*ends)[i], 0, dim);
      int64_t length = std::max<int64_t>(end - start, 0);
      offsets[axis] = length == 0 ? 0 : start;
      strides[axis] = std::min(step, std::max<int64_t>(dim, 1));
      sizes[axis] = length == 0 ? 0 : (length - 1) / step + 1;
      continue;
    }
    int64_t start = clamp((*starts)[i], -1, dim - 1);
    int64_t end = clamp((*ends)[i], -1, dim - 1);
    SmallVector<int64_t> positions;
    for (int64_t at = start; at > end; at = step < -at - 1 ? -1 : at + step)
      positions.push_back(at);
    backwards.push_back({axis, positions});
  }
  Tensor result = c.slice(c.in(0), offsets, sizes, strides);
  for (auto &[axis, positions] : backwards)
    result = c.take(result, axis, positions);
  c.set(0, result);
  return success();
}

static LogicalResult split(NodeContext &c) {
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", 0), c.in(0).rank());
  if (failed(axis))
    return failure();
  int64_t dim = c.in(0).shape[*axis], parts = c.node.outputs.size();
  std::optional<SmallVector<int64_t>> lengths = c.intsAttrOrInput("split", 1);
  if (c.has(1) && !lengths)
    return failure();
  if (!lengths) {
    if (c.intAttr("num_outputs", parts) != parts)
      return c.invalid("num_outputs is not " + Twine(parts));
    // The last part is the smaller one.
    int64_t length = (dim + parts - 1) / parts;
    lengths.emplace();
    for (int64_t i = 0; i < parts; ++i)
      lengths->push_back(std::clamp<int64_t>(dim - i * length, 0, length));
  }
  int64_t total = 0;
  bool valid = static_cast<int64_t>(lengths->size()) == parts;
  for (int64_t length : *lengths) {
    valid &= length >= 0 && length <= dim;
    total += valid ? length : 0;
  }
  if (!valid || total != dim)
    return c.invalid("a dimension of " + Twine(dim) + " does not split into " +
                     toString(*lengths) + " for " + Twine(parts) + " outputs");
  int64_t at = 0;
  for (auto [i, length] : llvm::enumerate(*lengths)) {
    Shape sizes = c.in(0).shape;
    SmallVector<int64_t> offsets(sizes.size(), 0), strides(sizes.size(), 1);
    sizes[*axis] = length;
    offsets[*axis] = at;
    if (c.wants(i))
      c.set(i, c.slice(c.in(0), offsets, sizes, strides));
    at += length;
  }
  return success();
}

/// Positions along a padded dimension, for the modes that repeat the input.
static std::optional<SmallVector<int64_t>>
paddedPositions(StringRef mode, int64_t dim, int64_t low, int64_t high) {
  SmallVector<int64_t> positions;
  if (dim + low + high > (1 << 24))
    return std::nullopt;
  for (int64_t at = -low; at < dim + high; ++at) {
    int64_t from = at;
    if (mode == "edge") {
      from = std::clamp<int64_t>(at, 0, dim - 1);
    } else if (mode == "wrap") {
      from = (at % dim + dim) % dim;
    } else {
      if (at < 0)
        from = -at;
      if (at >= dim)
        from = 2 * (dim - 1) - at;
      if (from < 0 || from >= dim)
        return std::nullopt;
    }
    positions.push_back(from);
  }
  return positions;
}

static LogicalResult pad(NodeContext &c) {
  std::optional<SmallVector<int64_t>> pads = c.ints(1);
  if (!pads)
    return c.unsupported("Pad with amounts computed at run time");
  int64_t rank = c.in(0).rank();
  SmallVector<int64_t> list;
  for (int64_t i = 0; i < rank; ++i)
    list.push_back(i);
  if (c.has(3)) {
    if (!c.ints(3))
      return c.unsupported("Pad with axes computed at run time");
    list = *c.ints(3);
  }
  if (failed(c.axes(list, rank)))
    return failure();
  if (pads->size() != 2 * list.size())
    return c.invalid(Twine(pads->size()) + " amounts for " +
                     Twine(list.size()) + " axes");
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  Shape result = c.in(0).shape;
  for (size_t i = 0; i < list.size(); ++i) {
    int64_t axis = *c.axis(list[i], rank);
    low[axis] = (*pads)[i];
    high[axis] = (*pads)[list.size() + i];
    if (std::abs(low[axis]) > (1 << 30) || std::abs(high[axis]) > (1 << 30) ||
        result[axis] + std::min<int64_t>(low[axis], 0) +
                std::min<int64_t>(high[axis], 0) <
            0)
      return c.invalid("amounts " + toString(*pads) + " for shape " +
                       toString(c.in(0).shape));
    result[axis] += low[axis] + high[axis];
  }
  if (!countElements(result))
    return c.invalid("amounts " + toString(*pads) + " for shape " +
                     toString(c.in(0).shape));
  // Negative amounts cut.
  SmallVector<int64_t> offsets(rank, 0), strides(rank, 1);
  Shape sizes = c.in(0).shape;
  for (int64_t i = 0; i < rank; ++i) {
    offsets[i] = std::max<int64_t>(-low[i], 0);
    sizes[i] -= offsets[i] + std::max<int64_t>(-high[i], 0);
    low[i] = std::max<int64_t>(low[i], 0);
    high[i] = std::max<int64_t>(high[i], 0);
  }
  Tensor data = c.slice(c.in(0), offsets, sizes, strides);

  StringRef mode = c.stringAttr("mode", "constant");
  if (mode == "constant") {
    Value with = c.emitter.scalar(c.emitter.typeOf(data.type), 0.0);
    if (c.has(2)) {
      if (c.in(2).type != data.type || countElements(c.in(2).shape) != 1)
        return c.invalid("the padding value must be one number of type " +
                         nameOf(data.type));
      if (!c.in(2).known)
        return c.unsupported("Pad with a value computed at run time");
      with = c.emitter.scalar(*c.in(2).known);
    }
    c.set(0, c.emitter.pad(c.valueOf(data), low, high, with), data.type);
    return success();
  }
  if (mode != "reflect" && mode != "edge" && mode != "wrap")
    return c.unsupported("Pad with mode '" + mode + "'");
  for (int64_t i = 0; i < rank; ++i) {
    if (low[i] == 0 && high[i] == 0)
      continue;
    std::optional<SmallVector<int64_t>> positions;
    if (data.shape[i] > 0)
      positions = paddedPositions(mode, data.shape[i], low[i], high[i]);
    if (!positions)
      return c.invalid("mode '" + mode + "' cannot pad a dimension of " +
                       Twine(data.shape[i]) + " by " + Twine(low[i]) + " and " +
                       Twine(high[i]));
    data = c.take(data, i, *positions);
  }
  c.set(0, data);
  return success();
}

/// [n, c, h, w] between channels and blocks of space.
static LogicalResult depthToSpace(NodeContext &c) {
  Shape shape = c.in(0).shape;
  int64_t block = c.intAttr("blocksize", 0);
  StringRef mode = c.stringAttr("mode", "DCR");
  if (shape.size() != 4 || block <= 0 || block > (1 << 20) ||
      shape[1] % (block * block) != 0)
    return c.invalid("blocks of " + Twine(block) + " in shape " +
                     toString(shape));
  int64_t n = shape[0], d = shape[1] / (block * block), h = shape[2],
          w = shape[3];
  Tensor value;
  if (mode == "DCR")
    value = c.transpose(c.reshape(c.in(0), {n, block, block, d, h, w}),
                        {0, 3, 4, 1, 5, 2});
  else if (mode == "CRD")
    value = c.transpose(c.reshape(c.in(0), {n, d, block, block, h, w}),
                        {0, 1, 4, 2, 5, 3});
  else
    return c.unsupported("DepthToSpace with mode '" + mode + "'");
  c.set(0, c.reshape(value, {n, d, h * block, w * block}));
  return success();
}

static LogicalResult spaceToDepth(NodeContext &c) {
  Shape shape = c.in(0).shape;
  int64_t block = c.intAttr("blocksize", 0);
  if (shape.size() != 4 || block <= 0 || shape[2] % block != 0 ||
      shape[3] % block != 0)
    return c.invalid("blocks of " + Twine(block) + " in shape " +
                     toString(shape));
  int64_t n = shape[0], d = shape[1], h = shape[2] / block,
          w = shape[3] / block;
  Tensor value = c.transpose(c.reshape(c.in(0), {n, d, h, block, w, block}),
                             {0, 3, 5, 1, 2, 4});
  c.set(0, c.reshape(value, {n, d * block * block, h, w}));
  return success();
}

void mlir::dist::frontend::addShapeConverters(ConverterTable &table) {
  table.add("Identity", 1, identity, /*takesSequences=*/true);
  table.add("Dropout", 1, dropout);
  table.add("Reshape", 2, reshape);
  table.add("Flatten", 1, flatten);
  table.add("Unsqueeze", 1, unsqueeze);
  table.add("Squeeze", 1, squeeze);
  table.add("Transpose", 1, transpose);
  table.add("Shape", 1, shapeOp);
  table.add("Size", 1, size);
  table.add("Constant", 0, constant);
  table.add("ConstantOfShape", 1, constantOfShape);
  table.add("Range", 3, range);
  table.add("EyeLike", 1, eyeLike);
  table.add("Expand", 2, expand);
  table.add("Tile", 2, tile);
  table.add("Concat", 1, concat);
  table.add("Slice", 3, slice);
  table.add("Split", 1, split);
  table.add("Pad", 2, pad);
  table.add("DepthToSpace", 1, depthToSpace);
  table.add("SpaceToDepth", 1, spaceToDepth);
}
