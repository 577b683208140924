//===- Slice.cpp - Converters of slices, joins and pads -------------------===//

#include "Converter.h"

using namespace mlir;
using namespace mlir::dist::frontend;

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
        total[*axis] = c.sizes().add(total[*axis], shape[*axis]);
      shape[*axis] = first[*axis] = 0;
      if (shape != first && (hasOpen(shape) || hasOpen(first)))
        return c.disagree("do not continue each other", c.in(0).shape,
                          c.in(i).shape);
      fits = shape == first && c.isPossible(total);
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

/// A bound of a slice along an open dimension, or an open bound, within the
/// dimension; none where it is not known from which end it counts.
static std::optional<int64_t> openBound(Sizes &sizes, int64_t at, int64_t dim) {
  // Beyond what any tensor has.
  constexpr int64_t far = int64_t(1) << 46;
  if (!isOpen(at) && at >= far)
    return dim;
  if (!isOpen(at) && at <= -far)
    return 0;
  if (sizes.isAtLeast(-1, at))
    return sizes.max(sizes.add(at, dim), 0);
  if (sizes.isAtLeast(at, 0))
    return sizes.min(at, dim);
  return std::nullopt;
}

/// Start, end and step of one axis, as in Python.
static LogicalResult slice(NodeContext &c) {
  std::optional<SmallVector<int64_t>> starts = c.openInts(1),
                                      ends = c.openInts(2);
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

  Sizes &sizesOf = c.sizes();
  SmallVector<int64_t> offsets(rank, 0), strides(rank, 1);
  Shape sizes = c.in(0).shape;
  SmallVector<std::pair<int64_t, SmallVector<int64_t>>> backwards;
  for (size_t i = 0; i < list.size(); ++i) {
    int64_t axis = *c.axis(list[i], rank), dim = c.in(0).shape[axis];
    int64_t step = steps[i];
    if (step == 0)
      return c.invalid("a step of 0");
    if (hasOpen({dim, (*starts)[i], (*ends)[i]})) {
      std::optional<int64_t> start = openBound(sizesOf, (*starts)[i], dim);
      std::optional<int64_t> end = openBound(sizesOf, (*ends)[i], dim);
      if (!start || !end || step < 0)
        return c.open("Slice of " + sizesOf.toString(dim) + " from " +
                          sizesOf.toString((*starts)[i]) + " to " +
                          sizesOf.toString((*ends)[i]) + " by " + Twine(step),
                      {dim, (*starts)[i], (*ends)[i]});
      offsets[axis] = *start;
      strides[axis] = step;
      sizes[axis] =
          sizesOf.ceilDiv(sizesOf.max(sizesOf.sub(*end, *start), 0), step);
      continue;
    }
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
    lengths.emplace();
    if (isOpen(dim)) {
      std::optional<int64_t> length = c.sizes().divide(dim, parts);
      if (!length)
        return c.open("Split of " + c.sizes().toString(dim) + " into " +
                          Twine(parts) + " parts",
                      dim);
      lengths->assign(parts, *length);
    } else {
      // The last part is the smaller one.
      int64_t length = (dim + parts - 1) / parts;
      for (int64_t i = 0; i < parts; ++i)
        lengths->push_back(std::clamp<int64_t>(dim - i * length, 0, length));
    }
  }
  int64_t total = 0;
  bool valid = static_cast<int64_t>(lengths->size()) == parts;
  for (int64_t length : *lengths) {
    valid &= isOpen(dim) || (length >= 0 && length <= dim);
    total = valid ? c.sizes().add(total, length) : total;
  }
  if (valid && total != dim && isOpen(dim))
    return c.disagree("are not the whole and the sum of its parts", dim, total);
  if (!valid || total != dim)
    return c.invalid("a dimension of " + c.sizes().toString(dim) +
                     " does not split into " + toString(*lengths) + " for " +
                     Twine(parts) + " outputs");
  int64_t at = 0;
  for (auto [i, length] : llvm::enumerate(*lengths)) {
    Shape sizes = c.in(0).shape;
    SmallVector<int64_t> offsets(sizes.size(), 0), strides(sizes.size(), 1);
    sizes[*axis] = length;
    offsets[*axis] = at;
    if (c.wants(i))
      c.set(i, c.slice(c.in(0), offsets, sizes, strides));
    at = c.sizes().add(at, length);
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
    // Those of open dimensions, too.
    constexpr int64_t kMostPadding = 1 << 30;
    for (int64_t amount : {low[axis], high[axis]})
      if (amount < -kMostPadding || amount > kMostPadding)
        return c.invalid("amounts " + toString(*pads) + " for shape " +
                         c.sizes().toString(c.in(0).shape));
    if (isOpen(result[axis])) {
      int64_t left =
          c.sizes().add(result[axis], std::min<int64_t>(low[axis], 0) +
                                          std::min<int64_t>(high[axis], 0));
      if (!c.sizes().isAtLeast(left, 0))
        return c.open("Pad of " + c.sizes().toString(c.in(0).shape) + " by " +
                          toString(*pads),
                      result[axis]);
      result[axis] = c.sizes().add(result[axis], low[axis] + high[axis]);
      continue;
    }
    if (result[axis] + std::min<int64_t>(low[axis], 0) +
            std::min<int64_t>(high[axis], 0) <
        0)
      return c.invalid("amounts " + toString(*pads) + " for shape " +
                       toString(c.in(0).shape));
    result[axis] += low[axis] + high[axis];
  }
  if (!c.isPossible(result))
    return c.invalid("amounts " + toString(*pads) + " for shape " +
                     toString(c.in(0).shape));
  // Negative amounts cut.
  SmallVector<int64_t> offsets(rank, 0), strides(rank, 1);
  Shape sizes = c.in(0).shape;
  for (int64_t i = 0; i < rank; ++i) {
    offsets[i] = std::max<int64_t>(-low[i], 0);
    sizes[i] =
        c.sizes().sub(sizes[i], offsets[i] + std::max<int64_t>(-high[i], 0));
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
      if (!c.data(2))
        return c.unsupported("Pad with a value computed at run time");
      with = c.emitter.scalar(*c.data(2));
    }
    c.set(0, c.emitter.pad(c.valueOf(data), low, high, with), data.type);
    return success();
  }
  if (mode != "reflect" && mode != "edge" && mode != "wrap")
    return c.unsupported("Pad with mode '" + mode + "'");
  for (int64_t i = 0; i < rank; ++i) {
    if (low[i] == 0 && high[i] == 0)
      continue;
    if (isOpen(data.shape[i]))
      return c.open("Pad with mode '" + mode + "' of " +
                        c.sizes().toString(data.shape),
                    data.shape[i]);
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
  if (shape.size() == 4 && isOpen(shape[1]))
    return c.open("DepthToSpace of open channels", shape[1]);
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
  c.set(0, c.reshape(value,
                     {n, d, c.sizes().mul(h, block), c.sizes().mul(w, block)}));
  return success();
}

static LogicalResult spaceToDepth(NodeContext &c) {
  Shape shape = c.in(0).shape;
  int64_t block = c.intAttr("blocksize", 0);
  if (shape.size() == 4 && (isOpen(shape[2]) || isOpen(shape[3])))
    return c.open("SpaceToDepth of open space", {shape[2], shape[3]});
  if (shape.size() != 4 || block <= 0 || shape[2] % block != 0 ||
      shape[3] % block != 0)
    return c.invalid("blocks of " + Twine(block) + " in shape " +
                     toString(shape));
  int64_t n = shape[0], d = shape[1], h = shape[2] / block,
          w = shape[3] / block;
  Tensor value = c.transpose(c.reshape(c.in(0), {n, d, h, block, w, block}),
                             {0, 3, 5, 1, 2, 4});
  c.set(0, c.reshape(value, {n, c.sizes().mul(d, block * block), h, w}));
  return success();
}

void mlir::dist::frontend::addSliceConverters(ConverterTable &table) {
  table.add("Concat", 1, concat);
  table.add("Slice", 3, slice);
  table.add("Split", 1, split);
  table.add("Pad", 2, pad);
  table.add("DepthToSpace", 1, depthToSpace);
  table.add("SpaceToDepth", 1, spaceToDepth);
  table.takeOpenSizes(
      {"Concat", "Slice", "Split", "Pad", "DepthToSpace", "SpaceToDepth"});
}
