//===- Gather.cpp - Converters of gathers ---------------------------------===//

#include "Converter.h"

using namespace mlir;
using namespace mlir::dist::frontend;

/// Known indices counted from the front, or an error where out of range.
/// Element i is one of `sizes[i % sizes.size()]`.
static std::optional<SmallVector<int64_t>>
knownPositions(NodeContext &c, size_t i, ArrayRef<int64_t> sizes) {
  std::optional<SmallVector<int64_t>> positions = c.ints(i);
  if (!positions)
    return std::nullopt;
  for (auto [at, position] : llvm::enumerate(*positions)) {
    int64_t size = sizes[at % sizes.size()];
    std::optional<int64_t> counted = toPosition(position, size);
    if (!counted) {
      (void)c.invalid("index " + Twine(position) + " of " + Twine(size));
      return std::nullopt;
    }
    position = *counted;
  }
  return positions;
}

/// data[:axis] x indices x data[axis + 1:]
static LogicalResult gather(NodeContext &c) {
  const Tensor &data = c.in(0), &where = c.in(1);
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", 0), data.rank());
  if (failed(axis))
    return failure();
  int64_t size = data.shape[*axis];
  Shape result(ArrayRef<int64_t>(data.shape).take_front(*axis));
  result.append(where.shape);
  result.append(data.shape.begin() + *axis + 1, data.shape.end());
  if (!c.isPossible(result))
    return c.invalid("a result of shape " + toString(result));
  std::optional<SmallVector<int64_t>> given = c.ints(1);
  if (where.known && given && given->size() == 1 && isOpen(size)) {
    // One position is a slice, wherever it is in range for all sizes.
    int64_t at = given->front();
    if (at < 0)
      at = c.sizes().add(at, size);
    if (c.sizes().isAtLeast(at, 0) &&
        c.sizes().isAtLeast(size, c.sizes().add(at, 1))) {
      SmallVector<int64_t> offsets(data.rank(), 0), strides(data.rank(), 1);
      Shape sizes = data.shape;
      offsets[*axis] = at;
      sizes[*axis] = 1;
      c.set(0, c.reshape(c.slice(data, offsets, sizes, strides), result));
      return success();
    }
  }
  if (where.known && given && !isOpen(size)) {
    std::optional<SmallVector<int64_t>> positions = knownPositions(c, 1, size);
    if (!positions)
      return failure();
    Tensor taken = c.take(data, *axis, *positions);
    c.set(0, c.reshape(taken, result));
    return success();
  }
  Emitter &e = c.emitter;
  Shape withUnit = where.shape;
  withUnit.push_back(1);
  Value indices = e.reshape(e.toIndices(c.value(1), size), withUnit);
  Value value = e.gather(c.value(0), indices, *axis);
  // The indices' dimensions come first.
  SmallVector<int64_t> permutation;
  int64_t leading = where.rank();
  for (int64_t i = 0; i < *axis; ++i)
    permutation.push_back(leading + i);
  for (int64_t i = 0; i < leading; ++i)
    permutation.push_back(i);
  for (int64_t i = *axis + 1; i < data.rank(); ++i)
    permutation.push_back(leading + i - 1);
  c.set(0, e.transpose(value, permutation), data.type);
  return success();
}

/// Gathers that are slices: each index component runs along a dimension of its
/// own. PyTorch writes mask[batch, position] so, with both known.
static bool gatherRuns(NodeContext &c, ArrayRef<int64_t> leading,
                       ArrayRef<int64_t> result) {
  const Tensor &data = c.in(0);
  int64_t components = c.in(1).shape.back();
  SmallVector<int64_t> offsets(data.rank(), 0), strides(data.rank(), 1);
  Shape sizes = data.shape;
  SmallVector<std::pair<int64_t, int64_t>>
      order; // dimension of indices, of data
  for (int64_t component = 0; component < components; ++component) {
    std::optional<Progression> run =
        c.progression(1, data.shape[component], component);
    std::optional<int64_t> dim = run ? run->findDim() : std::nullopt;
    if (!dim || llvm::is_contained(llvm::make_first_range(order), *dim))
      return false; // others, or a diagonal
    offsets[component] = run->offset;
    sizes[component] = *dim < 0 ? 1 : leading[*dim];
    if (*dim < 0)
      continue;
    strides[component] = run->steps[*dim];
    order.push_back({*dim, component});
  }
  Tensor part = c.slice(data, offsets, sizes, strides);
  // Dimensions in the indices' order, then the rest.
  llvm::sort(order);
  SmallVector<int64_t> permutation;
  Shape apart(leading.size(), 1);
  for (auto [dim, component] : order) {
    permutation.push_back(component);
    apart[dim] = leading[dim];
  }
  for (int64_t i = 0; i < data.rank(); ++i)
    if (!llvm::is_contained(permutation, i))
      permutation.push_back(i);
  for (int64_t i = components; i < data.rank(); ++i)
    apart.push_back(data.shape[i]);
  part = c.reshape(c.transpose(part, permutation), apart);
  c.set(0, c.broadcast(part, result));
  return true;
}

/// The last dimension of the indices holds positions along the first dimensions
/// of data, after `batch_dims` that both share.
static LogicalResult gatherND(NodeContext &c) {
  const Tensor &data = c.in(0), &where = c.in(1);
  int64_t batch = c.intAttr("batch_dims", 0);
  if (where.rank() >= 1 && isOpen(where.shape.back()))
    return c.open("GatherND of an open number of components",
                  where.shape.back());
  if (where.rank() < 1 || batch < 0 || batch >= where.rank() ||
      where.shape.back() + batch > data.rank() || where.shape.back() < 1)
    return c.invalid("indices of shape " + toString(where.shape) +
                     " into shape " + toString(data.shape) +
                     " with batch_dims " + Twine(batch));
  int64_t components = where.shape.back();
  Shape leading(ArrayRef<int64_t>(where.shape).drop_back());
  for (int64_t i = 0; i < batch; ++i)
    if (leading[i] != data.shape[i])
      return c.disagree("do not agree in batch dimension " + Twine(i), leading,
                        data.shape);
  Shape result = leading;
  result.append(data.shape.begin() + batch + components, data.shape.end());
  if (!c.isPossible(result))
    return c.invalid("a result of shape " + toString(result));

  Emitter &e = c.emitter;
  Type index = e.getBuilder().getIndexType();
  Shape unit = leading;
  unit.push_back(1);
  SmallVector<int64_t> dims;
  ArrayRef<int64_t> indexed =
      ArrayRef<int64_t>(data.shape).take_front(components);
  if (batch == 0 && !hasOpen(indexed)) {
    if (where.known && c.ints(1) && !knownPositions(c, 1, indexed))
      return failure();
    if (gatherRuns(c, leading, result))
      return success();
  }
  SmallVector<Value> parts;
  for (int64_t i = 0; i < batch; ++i) {
    parts.push_back(e.reshape(e.iota(leading, i, index), unit));
    dims.push_back(i);
  }
  for (int64_t i = 0; i < components; ++i) {
    Value part = e.sliceDim(c.value(1), where.rank() - 1, i, 1);
    parts.push_back(e.reshape(
        e.toIndices(e.reshape(part, leading), data.shape[batch + i]), unit));
    dims.push_back(batch + i);
  }
  Value indices = e.concat(parts, leading.size());
  c.set(0, e.gather(c.value(0), indices, dims), data.type);
  return success();
}

/// result[i, j, k] = data[i, indices[i, j, k], k] (axis 1)
static LogicalResult gatherElements(NodeContext &c) {
  const Tensor &data = c.in(0), &where = c.in(1);
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", 0), data.rank());
  if (failed(axis))
    return failure();
  if (failed(c.checkWithin(where.shape, data.shape, *axis)))
    return failure();
  if (where.known && c.ints(1) && !hasOpen(data.shape)) {
    std::optional<SmallVector<int64_t>> positions =
        knownPositions(c, 1, data.shape[*axis]);
    if (!positions)
      return failure();
    int64_t count = positions->size();
    if (data.known && isSmall(data.type, count)) {
      HostTensor result(data.type, where.shape);
      SmallVector<int64_t> from = stridesOf(data.shape), shape(where.shape),
                           strides = stridesOf(shape);
      for (int64_t i = 0; i < count; ++i) {
        int64_t source = 0;
        for (int64_t d = 0; d < data.rank(); ++d)
          source += (d == *axis ? (*positions)[i] : i / strides[d] % shape[d]) *
                    from[d];
        if (isFloat(data.type))
          result.setFloat(i, data.known->getFloat(source));
        else
          result.setInt(i, data.known->getInt(source));
      }
      c.set(0, result);
      return success();
    }
  }
  // The same positions everywhere: a plain selection.
  if (std::optional<Progression> run =
          hasOpen(data.shape) ? std::nullopt
                              : c.progression(1, data.shape[*axis])) {
    std::optional<int64_t> dim = run->findDim();
    if (dim && (*dim < 0 || *dim == *axis)) {
      SmallVector<int64_t> offsets(data.rank(), 0), strides(data.rank(), 1);
      offsets[*axis] = run->offset;
      Shape sizes = where.shape;
      if (*dim < 0)
        sizes[*axis] = 1;
      else
        strides[*axis] = run->steps[*axis];
      c.set(0,
            c.broadcast(c.slice(data, offsets, sizes, strides), where.shape));
      return success();
    }
  }
  Emitter &e = c.emitter;
  Type index = e.getBuilder().getIndexType();
  Shape unit = where.shape;
  unit.push_back(1);
  SmallVector<Value> parts;
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < data.rank(); ++i) {
    Value part = i == *axis ? e.toIndices(c.value(1), data.shape[i])
                            : e.iota(where.shape, i, index);
    parts.push_back(e.reshape(part, unit));
    dims.push_back(i);
  }
  c.set(0, e.gather(c.value(0), e.concat(parts, data.rank()), dims), data.type);
  return success();
}

void mlir::dist::frontend::addGatherConverters(ConverterTable &table) {
  table.add("Gather", 2, gather);
  table.add("GatherND", 2, gatherND);
  table.add("GatherElements", 2, gatherElements);
  table.takeOpenSizes({"Gather", "GatherND", "GatherElements"});
}
