//===- Indexing.cpp - Converters of gathers and scatters ------------------===//

#include "Converter.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist::frontend;

/// Known indices counted from the front, or an error where out of range.
static std::optional<SmallVector<int64_t>>
knownPositions(NodeContext &c, size_t i, int64_t size) {
  std::optional<SmallVector<int64_t>> positions = c.ints(i);
  if (!positions)
    return std::nullopt;
  for (int64_t &position : *positions) {
    if (position < -size || position >= size) {
      (void)c.invalid("index " + Twine(position) + " of " + Twine(size));
      return std::nullopt;
    }
    if (position < 0)
      position += size;
  }
  return positions;
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

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

namespace {
/// One component of known index tuples, if it runs along one dimension of the
/// indices (`start + step * position`), or is the same everywhere.
struct Run {
  int64_t start = 0, step = 0;
  std::optional<size_t> dim;
};
} // namespace

static std::optional<Run> findRun(ArrayRef<int64_t> values,
                                  ArrayRef<int64_t> shape) {
  Run run;
  run.start = values.front();
  SmallVector<int64_t> strides = stridesOf(shape);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (size == 1 || values[strides[dim]] == run.start)
      continue;
    if (run.dim)
      return std::nullopt;
    run.dim = dim;
    run.step = values[strides[dim]] - run.start;
  }
  if (run.step < 0)
    return std::nullopt;
  for (int64_t i = 0, n = values.size(); i < n; ++i) {
    int64_t position = run.dim ? i / strides[*run.dim] % shape[*run.dim] : 0;
    if (values[i] != run.start + run.step * position)
      return std::nullopt;
  }
  return run;
}

/// Gathers that are slices: each index component runs along a dimension of its
/// own. PyTorch writes mask[batch, position] so, with both known.
static bool gatherRuns(NodeContext &c, ArrayRef<SmallVector<int64_t>> parts,
                       ArrayRef<int64_t> leading, ArrayRef<int64_t> result) {
  const Tensor &data = c.in(0);
  if (countElements(leading) == 0)
    return false;
  SmallVector<int64_t> offsets(data.rank(), 0), strides(data.rank(), 1);
  Shape sizes = data.shape;
  SmallVector<std::pair<size_t, int64_t>>
      order; // dimension of indices, of data
  for (auto [component, values] : llvm::enumerate(parts)) {
    std::optional<Run> run = findRun(values, leading);
    if (!run)
      return false;
    offsets[component] = run->start;
    sizes[component] = run->dim ? leading[*run->dim] : 1;
    strides[component] = std::max<int64_t>(run->step, 1);
    if (!run->dim)
      continue;
    for (auto [dim, other] : order)
      if (dim == *run->dim)
        return false; // a diagonal
    order.push_back({*run->dim, component});
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
  for (int64_t i = parts.size(); i < data.rank(); ++i)
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
  std::optional<SmallVector<int64_t>> all = c.ints(1);
  if (where.known && all && batch == 0 &&
      !hasOpen(ArrayRef<int64_t>(data.shape).take_front(components))) {
    SmallVector<SmallVector<int64_t>> parts(components);
    for (auto [i, value] : llvm::enumerate(*all)) {
      int64_t size = data.shape[i % components];
      if (value < -size || value >= size)
        return c.invalid("index " + Twine(value) + " of " + Twine(size));
      parts[i % components].push_back(value < 0 ? value + size : value);
    }
    if (gatherRuns(c, parts, leading, result))
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

/// Indices of shape `part` lie within `whole` but along `axis`.
static LogicalResult checkWithin(NodeContext &c, ArrayRef<int64_t> part,
                                 ArrayRef<int64_t> whole, int64_t axis) {
  bool fits = part.size() == whole.size();
  for (int64_t i = 0, rank = whole.size(); fits && i < rank; ++i)
    fits = i == axis || c.sizes().isAtLeast(whole[i], part[i]);
  if (!fits)
    return c.disagree("are no indices and what they lie within", part, whole);
  return success();
}

/// result[i, j, k] = data[i, indices[i, j, k], k] (axis 1)
static LogicalResult gatherElements(NodeContext &c) {
  const Tensor &data = c.in(0), &where = c.in(1);
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", 0), data.rank());
  if (failed(axis))
    return failure();
  if (failed(checkWithin(c, where.shape, data.shape, *axis)))
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
    // The same positions everywhere: a plain selection.
    if (std::optional<Run> run =
            count ? findRun(*positions, where.shape) : std::nullopt;
        run && (!run->dim || static_cast<int64_t>(*run->dim) == *axis)) {
      SmallVector<int64_t> offsets(data.rank(), 0), strides(data.rank(), 1);
      offsets[*axis] = run->start;
      strides[*axis] = std::max<int64_t>(run->step, 1);
      Shape sizes = where.shape;
      if (!run->dim)
        sizes[*axis] = 1;
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

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

static bool isKnownReduction(StringRef kind) {
  return kind == "none" || kind == "add" || kind == "mul" || kind == "max" ||
         kind == "min";
}

static Value combine(Scalar &s, StringRef kind, Value old, Value update,
                     bool isUnsigned) {
  if (kind == "add")
    return s.add(old, update);
  if (kind == "mul")
    return s.mul(old, update);
  if (kind == "max")
    return s.max(old, update, isUnsigned);
  if (kind == "min")
    return s.min(old, update, isUnsigned);
  return update;
}

/// Of indices that are the same along all other dimensions than `axis`: those
/// along it, or null.
static Value findRowIndices(Emitter &e, Value indices, int64_t axis) {
  int64_t rank = e.shapeOf(indices).size();
  if (rank == 1)
    return indices;
  auto spread = indices.getDefiningOp<linalg::BroadcastOp>();
  if (!spread)
    return {};
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis && e.shapeOf(indices)[i] != 1 &&
        !llvm::is_contained(spread.getDimensions(), i))
      return {};
  if (llvm::is_contained(spread.getDimensions(), axis))
    return {};
  return e.reshape(spread.getInput(), {e.shapeOf(indices)[axis]});
}

/// Rows along `axis` that are added at `rows`.
static Value addRows(Emitter &e, Value base, Value rows, Value updates,
                     int64_t axis) {
  Shape shape = e.shapeOf(updates);
  SmallVector<int64_t> order = {axis};
  for (int64_t i = 0, rank = shape.size(); i < rank; ++i)
    if (i != axis)
      order.push_back(i);
  Value inFront = axis == 0 ? updates : e.transpose(updates, order);
  return e.scatterAdd(base, e.reshape(rows, {shape[axis], 1}), inFront, {axis});
}

namespace {
/// offset + step * index, of the index along a dimension; -1: no dimension.
struct Progression {
  int64_t offset = 0, step = 1, dim = -1;
};

/// Part of a tensor: each `strides[i]`-th element from `offsets[i]` on.
struct Places {
  SmallVector<int64_t> offsets, sizes, strides;
};
} // namespace

/// What progression, which increases, the elements of a tensor are.
static std::optional<Progression> findProgression(ArrayRef<int64_t> elements,
                                                  ArrayRef<int64_t> shape) {
  SmallVector<int64_t> steps = stridesOf(shape);
  Progression found{elements.front()};
  for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim) {
    int64_t step =
        shape[dim] == 1 ? 0 : elements[steps[dim]] - elements.front();
    if (step == 0)
      continue;
    if (step < 0 || found.dim >= 0)
      return std::nullopt;
    found.step = step;
    found.dim = dim;
  }
  for (auto [i, element] : llvm::enumerate(elements)) {
    int64_t at = found.dim < 0 ? 0 : i / steps[found.dim] % shape[found.dim];
    if (element != found.offset + at * found.step)
      return std::nullopt;
  }
  return found;
}

/// Indices that are known, each within `size` and counted from the front.
static std::optional<SmallVector<int64_t>>
wrapIndices(ArrayRef<int64_t> indices, int64_t size) {
  SmallVector<int64_t> wrapped(indices);
  for (int64_t &index : wrapped) {
    if (index < -size || index >= size)
      return std::nullopt;
    if (index < 0)
      index += size;
  }
  return wrapped;
}

/// The known indices along `axis`, if they are the same along all other
/// dimensions.
static std::optional<SmallVector<int64_t>> knownRowIndices(NodeContext &c,
                                                           int64_t axis) {
  const Tensor &where = c.in(1);
  if (std::optional<SmallVector<int64_t>> all = c.ints(1);
      all && where.known && !all->empty()) {
    int64_t step = stridesOf(where.shape)[axis], size = where.shape[axis];
    SmallVector<int64_t> rows;
    for (int64_t i = 0; i < size; ++i)
      rows.push_back((*all)[i * step]);
    for (auto [i, index] : llvm::enumerate(*all))
      if (index != rows[i / step % size])
        return std::nullopt;
    return rows;
  }
  // Those of many elements are not computed here.
  Value rows = findRowIndices(c.emitter, c.value(1), axis);
  while (rows &&
         isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
             rows.getDefiningOp()))
    rows = rows.getDefiningOp()->getOperand(0);
  DenseIntElementsAttr constant;
  if (!rows || !matchPattern(rows, m_Constant(&constant)))
    return std::nullopt;
  return llvm::map_to_vector(constant.getValues<APInt>(),
                             [](const APInt &i) { return i.getSExtValue(); });
}

/// Where the updates of ScatterElements go.
static std::optional<Places> findPlaces(NodeContext &c, int64_t axis) {
  const Tensor &data = c.in(0);
  std::optional<SmallVector<int64_t>> rows = knownRowIndices(c, axis);
  if (rows)
    rows = wrapIndices(*rows, data.shape[axis]);
  std::optional<Progression> found;
  if (rows)
    found = findProgression(*rows, int64_t(rows->size()));
  if (!found || (rows->size() > 1 && found->dim < 0))
    return std::nullopt;
  Places places{SmallVector<int64_t>(data.rank(), 0), c.in(1).shape,
                SmallVector<int64_t>(data.rank(), 1)};
  places.offsets[axis] = found->offset;
  places.strides[axis] = found->step;
  return places;
}

/// Where the updates of ScatterND go.
static std::optional<Places> findPlaces(NodeContext &c) {
  const Tensor &data = c.in(0), &where = c.in(1);
  std::optional<SmallVector<int64_t>> all = c.ints(1);
  if (!all || !where.known)
    return std::nullopt;
  int64_t components = where.shape.back(), rank = data.rank();
  ArrayRef<int64_t> leading = ArrayRef<int64_t>(where.shape).drop_back();
  Places places{{}, {}, SmallVector<int64_t>(rank, 1)};
  int64_t next = 0; // of the dimensions of the updates
  for (int64_t i = 0; i < components; ++i) {
    SmallVector<int64_t> own;
    for (size_t at = i; at < all->size(); at += components)
      own.push_back((*all)[at]);
    std::optional<SmallVector<int64_t>> wrapped =
        wrapIndices(own, data.shape[i]);
    std::optional<Progression> found;
    if (wrapped)
      found = findProgression(*wrapped, leading);
    // Dimensions come in the order of the updates, and all of them.
    int64_t end = leading.size();
    if (found && found->dim >= 0)
      end = found->dim;
    else if (i + 1 < components)
      end = next;
    if (!found || next > end ||
        llvm::any_of(leading.slice(next, end - next),
                     [](int64_t size) { return size != 1; }))
      return std::nullopt;
    places.offsets.push_back(found->offset);
    places.strides[i] = found->step;
    places.sizes.push_back(found->dim < 0 ? 1 : leading[found->dim]);
    next = found->dim < 0 ? end : found->dim + 1;
  }
  if (llvm::any_of(leading.drop_front(next),
                   [](int64_t size) { return size != 1; }))
    return std::nullopt;
  places.offsets.append(rank - components, 0);
  places.sizes.append(data.shape.begin() + components, data.shape.end());
  return places;
}

/// Whether the updates go to places of the data that are known, and puts them
/// there.
static bool putAtPlaces(NodeContext &c, StringRef kind,
                        const std::optional<Places> &places) {
  if (!places)
    return false;
  const Tensor &data = c.in(0);
  Emitter &e = c.emitter;
  Value base = c.value(0), updates = e.reshape(c.value(2), places->sizes);
  if (kind != "none") {
    Value old = e.slice(base, places->offsets, places->sizes, places->strides);
    updates =
        e.map({old, updates}, places->sizes, e.typeOf(data.type),
              [&](Scalar &s, ArrayRef<Value> in) {
                return combine(s, kind, in[0], in[1], isUnsigned(data.type));
              });
  }
  c.set(0, e.insert(base, updates, places->offsets, places->strides),
        data.type);
  return true;
}

/// A scatter to places that only running tells is written as a loop nest over
/// elements and updates: an element takes the updates whose indices name it.
/// Quadratic in the scattered dimensions, but right whatever the indices, and a
/// loop nest like any other.
static LogicalResult scatterElements(NodeContext &c) {
  const Tensor &data = c.in(0), &where = c.in(1), &updates = c.in(2);
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", 0), data.rank());
  StringRef kind = c.stringAttr("reduction", "none");
  if (failed(axis))
    return failure();
  if (!isKnownReduction(kind))
    return c.unsupported("ScatterElements with reduction '" + kind + "'");
  if (where.shape != updates.shape)
    return c.disagree("are no indices and updates", where.shape, updates.shape);
  if (failed(checkWithin(c, where.shape, data.shape, *axis)))
    return failure();
  if (updates.type != data.type)
    return c.invalid("updates of type " + nameOf(updates.type) + " of " +
                     nameOf(data.type));
  Emitter &e = c.emitter;
  Value base = c.value(0);
  if (countElements(where.shape) == 0) {
    c.set(0, data);
    return success();
  }
  if (!hasOpen(data.shape) && putAtPlaces(c, kind, findPlaces(c, *axis)))
    return success();
  // Rows that are added, by far the most common (sums over edges).
  Shape rest = where.shape;
  rest[*axis] = data.shape[*axis];
  if (kind == "add" && rest == data.shape)
    if (Value rows = findRowIndices(e, c.value(1), *axis)) {
      c.set(0,
            addRows(e, base, e.toIndices(rows, data.shape[*axis]), c.value(2),
                    *axis),
            data.type);
      return success();
    }
  // Only the part that has updates changes.
  Shape part = data.shape;
  for (int64_t i = 0; i < data.rank(); ++i)
    if (i != *axis)
      part[i] = where.shape[i];
  SmallVector<int64_t> zeros(data.rank(), 0), ones(data.rank(), 1);
  int64_t rank = data.rank();
  MLIRContext *context = e.getBuilder().getContext();
  SmallVector<AffineExpr> element, update;
  for (int64_t i = 0; i < rank; ++i) {
    element.push_back(getAffineDimExpr(i, context));
    update.push_back(getAffineDimExpr(i == *axis ? rank : i, context));
  }
  AffineMap updateMap = AffineMap::get(rank + 1, 0, update, context);
  Value positions = e.toIndices(c.value(1), data.shape[*axis]);
  Value changed = e.loops(
      {positions, c.value(2)}, {updateMap, updateMap},
      e.slice(base, zeros, part, ones),
      AffineMap::get(rank + 1, 0, element, context),
      [&](LoopScalar &s, ArrayRef<Value> in, Value old) {
        Value match = s.compare(Compare::EQ, in[0], s.position(*axis));
        return s.select(
            match, combine(s, kind, old, in[1], isUnsigned(data.type)), old);
      });
  // Put the unchanged rest around it, one dimension at a time.
  for (int64_t i = 0; i < rank; ++i) {
    int64_t have = e.shapeOf(changed)[i], want = data.shape[i];
    if (have == want)
      continue;
    Shape sizes = e.shapeOf(changed);
    sizes[i] = c.sizes().sub(want, have);
    SmallVector<int64_t> offsets(rank, 0);
    offsets[i] = have;
    changed = e.concat({changed, e.slice(base, offsets, sizes, ones)}, i);
  }
  c.set(0, changed, data.type);
  return success();
}

static LogicalResult scatterND(NodeContext &c) {
  const Tensor &data = c.in(0), &where = c.in(1), &updates = c.in(2);
  StringRef kind = c.stringAttr("reduction", "none");
  if (!isKnownReduction(kind))
    return c.unsupported("ScatterND with reduction '" + kind + "'");
  if (where.rank() >= 1 && isOpen(where.shape.back()))
    return c.open("ScatterND of an open number of components",
                  where.shape.back());
  if (where.rank() < 1 || where.shape.back() < 1 ||
      where.shape.back() > data.rank())
    return c.invalid("indices of shape " + toString(where.shape) +
                     " into shape " + toString(data.shape));
  int64_t components = where.shape.back();
  ArrayRef<int64_t> leading = ArrayRef<int64_t>(where.shape).drop_back();
  Shape expected(leading);
  expected.append(data.shape.begin() + components, data.shape.end());
  if (updates.shape != expected)
    return c.disagree("are no updates and those of the indices", updates.shape,
                      expected);
  if (updates.type != data.type)
    return c.invalid("updates of type " + nameOf(updates.type) + " of " +
                     nameOf(data.type));
  int64_t count = c.sizes().product(leading), rank = data.rank();
  if (count == 0 || countElements(data.shape) == 0) {
    c.set(0, data);
    return success();
  }
  if (!hasOpen(data.shape) && putAtPlaces(c, kind, findPlaces(c)))
    return success();
  Emitter &e = c.emitter;
  if (kind == "add") {
    SmallVector<int64_t> dims;
    SmallVector<Value> parts;
    Shape unit(leading);
    unit.push_back(1);
    for (int64_t i = 0; i < components; ++i) {
      Value part = e.sliceDim(c.value(1), where.rank() - 1, i, 1);
      parts.push_back(e.reshape(
          e.toIndices(e.reshape(part, leading), data.shape[i]), unit));
      dims.push_back(i);
    }
    c.set(0,
          e.scatterAdd(c.value(0), e.concat(parts, leading.size()), c.value(2),
                       dims),
          data.type);
    return success();
  }
  MLIRContext *context = e.getBuilder().getContext();
  // Loops: the elements', then one over the updates.
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  AffineExpr which = getAffineDimExpr(rank, context);
  Value tuples = e.reshape(c.value(1), {count, components});
  for (int64_t i = 0; i < components; ++i) {
    Value part = e.reshape(e.sliceDim(tuples, 1, i, 1), {count});
    inputs.push_back(e.toIndices(part, data.shape[i]));
    maps.push_back(AffineMap::get(rank + 1, 0, which, context));
  }
  Shape flat{count};
  flat.append(data.shape.begin() + components, data.shape.end());
  inputs.push_back(e.reshape(c.value(2), flat));
  SmallVector<AffineExpr> update{which}, element;
  for (int64_t i = 0; i < rank; ++i) {
    element.push_back(getAffineDimExpr(i, context));
    if (i >= components)
      update.push_back(element.back());
  }
  maps.push_back(AffineMap::get(rank + 1, 0, update, context));
  Value result = e.loops(
      inputs, maps, c.value(0), AffineMap::get(rank + 1, 0, element, context),
      [&](LoopScalar &s, ArrayRef<Value> in, Value old) {
        Value match = s.compare(Compare::EQ, in[0], s.position(0));
        for (int64_t i = 1; i < components; ++i)
          match = s.bitAnd(match, s.compare(Compare::EQ, in[i], s.position(i)));
        return s.select(match,
                        combine(s, kind, old, in.back(), isUnsigned(data.type)),
                        old);
      });
  c.set(0, result, data.type);
  return success();
}

void mlir::dist::frontend::addIndexingConverters(ConverterTable &table) {
  table.add("Gather", 2, gather);
  table.add("GatherND", 2, gatherND);
  table.add("GatherElements", 2, gatherElements);
  table.add("ScatterElements", 3, scatterElements);
  table.add("ScatterND", 3, scatterND);
  table.takeOpenSizes(
      {"Gather", "GatherND", "GatherElements", "ScatterElements", "ScatterND"});
}
