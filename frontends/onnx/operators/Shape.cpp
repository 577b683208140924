//===- Shape.cpp - Converters of views, shapes and broadcasts -------------===//

#include "Converter.h"

using namespace mlir;
using namespace mlir::dist::frontend;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static LogicalResult setReshaped(NodeContext &c, ArrayRef<int64_t> shape) {
  if (c.sizes().product(shape) != c.sizes().product(c.in(0).shape))
    return c.disagree("cannot become each other", c.in(0).shape, shape);
  c.set(0, c.reshape(c.in(0), shape));
  return success();
}

static LogicalResult identity(NodeContext &c) {
  c.set(0, c.in(0));
  return success();
}

/// 0 copies a dimension (unless allowzero), -1 is what is left.
static LogicalResult reshape(NodeContext &c) {
  std::optional<SmallVector<int64_t>> target = c.openInts(1);
  if (!target)
    return c.unsupported("Reshape to a shape computed at run time");
  bool allowZero = c.boolAttr("allowzero", false);
  Shape shape;
  int64_t open = -1;
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
    // It is neither of these.
    if (isOpen(dim) && !c.sizes().isAtLeast(dim, 1))
      return c.open("Reshape to " + c.sizes().toString(*target), dim);
    shape.push_back(dim);
  }
  if (!c.isPossible(shape))
    return c.invalid("impossible target " + toString(*target));
  if (open >= 0) {
    std::optional<int64_t> rest = c.sizes().divide(
        c.sizes().product(c.in(0).shape), c.sizes().product(shape));
    if (!rest)
      return c.disagree("cannot become each other", c.in(0).shape, *target);
    shape[open] = *rest;
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
  return setReshaped(c, {c.sizes().product(shape.take_front(at)),
                         c.sizes().product(shape.drop_front(at))});
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
    for (auto [i, dim] : llvm::enumerate(c.in(0).shape)) {
      if (dim == 1)
        all.push_back(i);
      if (isOpen(dim) && !c.sizes().differ(dim, 1))
        return c.open("Squeeze of " + c.sizes().toString(c.in(0).shape) +
                          " without axes",
                      dim);
    }
  FailureOr<SmallVector<int64_t>> axes =
      c.axes(list ? *list : all, c.in(0).rank());
  if (failed(axes))
    return failure();
  Shape shape;
  for (auto [i, dim] : llvm::enumerate(c.in(0).shape)) {
    if (!llvm::is_contained(*axes, static_cast<int64_t>(i)))
      shape.push_back(dim);
    else if (dim != 1)
      return c.disagree("cannot become each other by Squeeze", dim, 1);
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
  // PyTorch's script exporter writes negative ones as it was given them.
  for (int64_t &dim : permutation)
    dim += dim < 0 && dim >= -rank ? rank : 0;
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
  count.setInt(0, c.sizes().product(c.in(0).shape));
  c.set(0, count);
  return success();
}

//===----------------------------------------------------------------------===//
// Broadcasting and repeating
//===----------------------------------------------------------------------===//

static LogicalResult expand(NodeContext &c) {
  std::optional<SmallVector<int64_t>> target = c.openInts(1);
  if (!target)
    return c.unsupported("Expand to a shape computed at run time");
  for (int64_t dim : *target)
    if (isOpen(dim) && !c.sizes().isAtLeast(dim, 0))
      return c.open("Expand to " + c.sizes().toString(*target), dim);
  FailureOr<Shape> shape = c.broadcastOf(c.in(0).shape, *target);
  if (failed(shape))
    return failure();
  if (!c.isPossible(*shape))
    return c.invalid("shape " + toString(c.in(0).shape) +
                     " does not broadcast to " + toString(*target));
  c.set(0, c.broadcast(c.in(0), *shape));
  return success();
}

static LogicalResult convertTile(NodeContext &c) {
  std::optional<SmallVector<int64_t>> repeats = c.openInts(1);
  if (!repeats)
    return c.unsupported("Tile with repeats computed at run time");
  Shape shape = c.in(0).shape, apart, spread, result;
  if (repeats->size() != shape.size())
    return c.invalid("repeats " + toString(*repeats) + " for shape " +
                     toString(shape));
  for (auto [dim, times] : llvm::zip(shape, *repeats)) {
    if (isOpen(times) && !c.sizes().isAtLeast(times, 0))
      return c.open("Tile by " + c.sizes().toString(*repeats), times);
    if (!c.isPossible({dim, times}))
      return c.invalid("repeats " + toString(*repeats));
    if (times != 1 && dim != 1) {
      apart.push_back(1);
      spread.push_back(times);
    }
    apart.push_back(dim);
    spread.push_back(times != 1 && dim == 1 ? times : dim);
    result.push_back(c.sizes().mul(dim, times));
  }
  if (!c.isPossible(result))
    return c.invalid("repeats " + toString(*repeats) + " for shape " +
                     toString(shape));
  c.set(0, c.reshape(c.broadcast(c.reshape(c.in(0), apart), spread), result));
  return success();
}

void mlir::dist::frontend::addShapeConverters(ConverterTable &table) {
  table.add("Identity", 1, identity, /*takesSequences=*/true);
  table.add("Reshape", 2, reshape);
  table.add("Flatten", 1, flatten);
  table.add("Unsqueeze", 1, unsqueeze);
  table.add("Squeeze", 1, squeeze);
  table.add("Transpose", 1, transpose);
  table.add("Shape", 1, shapeOp);
  table.add("Size", 1, size);
  table.add("Expand", 2, expand);
  table.add("Tile", 2, convertTile);
  table.takeOpenSizes({"Identity", "Reshape", "Flatten", "Unsqueeze", "Squeeze",
                       "Transpose", "Shape", "Size", "Expand", "Tile"});
}
