//===- Scatter.cpp - Converters of scatters -------------------------------===//

#include "Converter.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::dist::frontend;

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
/// Part of a tensor: each `strides[i]`-th element from `offsets[i]` on.
struct StridedPart {
  SmallVector<int64_t> offsets, sizes, strides;
};
} // namespace

/// Where the updates of ScatterElements go.
static std::optional<StridedPart> findPart(NodeContext &c, int64_t axis) {
  const Tensor &data = c.in(0), &where = c.in(1);
  std::optional<Progression> found = c.progression(1, data.shape[axis]);
  std::optional<int64_t> dim = found ? found->findDim() : std::nullopt;
  if (!dim || *dim != (where.shape[axis] == 1 ? -1 : axis))
    return std::nullopt;
  StridedPart part{SmallVector<int64_t>(data.rank(), 0), where.shape,
                   SmallVector<int64_t>(data.rank(), 1)};
  part.offsets[axis] = found->offset;
  if (*dim >= 0)
    part.strides[axis] = found->steps[axis];
  return part;
}

/// Where the updates of ScatterND go.
static std::optional<StridedPart> findPart(NodeContext &c) {
  const Tensor &data = c.in(0), &where = c.in(1);
  int64_t components = where.shape.back(), rank = data.rank();
  ArrayRef<int64_t> leading = ArrayRef<int64_t>(where.shape).drop_back();
  StridedPart part{{}, {}, SmallVector<int64_t>(rank, 1)};
  int64_t next = 0; // of the dimensions of the updates
  for (int64_t i = 0; i < components; ++i) {
    std::optional<Progression> found = c.progression(1, data.shape[i], i);
    std::optional<int64_t> dim = found ? found->findDim() : std::nullopt;
    if (!dim)
      return std::nullopt;
    // Dimensions come in the order of the updates, and all of them.
    int64_t end = *dim >= 0            ? *dim
                  : i + 1 < components ? next
                                       : leading.size();
    if (next > end || llvm::any_of(leading.slice(next, end - next),
                                   [](int64_t size) { return size != 1; }))
      return std::nullopt;
    part.offsets.push_back(found->offset);
    part.sizes.push_back(*dim < 0 ? 1 : leading[*dim]);
    if (*dim >= 0)
      part.strides[i] = found->steps[*dim];
    next = *dim < 0 ? end : *dim + 1;
  }
  if (llvm::any_of(leading.drop_front(next),
                   [](int64_t size) { return size != 1; }))
    return std::nullopt;
  part.offsets.append(rank - components, 0);
  part.sizes.append(data.shape.begin() + components, data.shape.end());
  return part;
}

/// Whether the updates go to a part of the data, and puts them there.
static bool putAtPart(NodeContext &c, StringRef kind,
                      const std::optional<StridedPart> &part) {
  if (!part)
    return false;
  const Tensor &data = c.in(0);
  Emitter &e = c.emitter;
  Value base = c.value(0), updates = e.reshape(c.value(2), part->sizes);
  if (kind != "none") {
    Value old = e.slice(base, part->offsets, part->sizes, part->strides);
    updates =
        e.map({old, updates}, part->sizes, e.typeOf(data.type),
              [&](Scalar &s, ArrayRef<Value> in) {
                return combine(s, kind, in[0], in[1], isUnsigned(data.type));
              });
  }
  c.set(0, e.insert(base, updates, part->offsets, part->strides),
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
  if (failed(c.checkWithin(where.shape, data.shape, *axis)))
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
  if (!hasOpen(data.shape) && putAtPart(c, kind, findPart(c, *axis)))
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
  if (!hasOpen(data.shape) && putAtPart(c, kind, findPart(c)))
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

void mlir::dist::frontend::addScatterConverters(ConverterTable &table) {
  table.add("ScatterElements", 3, scatterElements);
  table.add("ScatterND", 3, scatterND);
  table.takeOpenSizes({"ScatterElements", "ScatterND"});
}
