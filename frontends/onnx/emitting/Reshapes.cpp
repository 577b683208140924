//===- Reshapes.cpp - Reshapes and transposes -----------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

#include <array>

using namespace mlir;
using namespace mlir::dist::frontend;

static Shape withoutUnits(ArrayRef<int64_t> shape) {
  Shape result;
  for (int64_t dim : shape)
    if (dim != 1)
      result.push_back(dim);
  return result;
}

/// The shapes on the way from one shape to another, each a collapse or an
/// expansion of the one before (or the same): [6, 4] to [2, 12] goes through
/// [2, 3, 4], in which both are visible. Dimensions that do not nest, as in
/// [4, 6] to [6, 4], are merged. There are no unit dimensions.
static std::array<Shape, 4> waypoints(ArrayRef<int64_t> from,
                                      ArrayRef<int64_t> to) {
  std::array<Shape, 4> shapes;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    // A group of dimensions with equal products on both sides.
    size_t firstFrom = i, firstTo = j;
    int64_t fromProduct = from[i++], toProduct = to[j++];
    SmallVector<int64_t> cuts{fromProduct, toProduct};
    while (fromProduct != toProduct) {
      if (fromProduct < toProduct)
        cuts.push_back(fromProduct *= from[i++]);
      else
        cuts.push_back(toProduct *= to[j++]);
    }
    llvm::sort(cuts);
    Shape refined;
    int64_t previous = 1;
    bool nests = true;
    for (int64_t cut : cuts) {
      if (cut == previous)
        continue;
      nests &= cut % previous == 0;
      refined.push_back(cut / previous);
      previous = cut;
    }
    Shape whole{fromProduct};
    Shape fromDims(from.slice(firstFrom, i - firstFrom));
    Shape toDims(to.slice(firstTo, j - firstTo));
    shapes[0].append(nests ? fromDims : whole);
    shapes[1].append(nests ? refined : whole);
    shapes[2].append(nests ? toDims : whole);
    shapes[3].append(toDims);
  }
  return shapes;
}

static std::optional<SmallVector<ReassociationIndices>>
collapseGroups(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  if (from.size() <= to.size())
    return std::nullopt;
  return getReassociationIndicesForCollapse(from, to);
}

/// How many ops reshaping takes: 0, 1, or 2 for more.
static int reshapeCost(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  if (from == to)
    return 0;
  return collapseGroups(from, to) || collapseGroups(to, from) ? 1 : 2;
}

Value Emitter::reshapeDirectly(Value value, ArrayRef<int64_t> shape) {
  Shape from = shapeOf(value);
  RankedTensorType type = tensorType(shape, getElementTypeOrSelf(value));
  if (auto groups = collapseGroups(from, shape))
    return tensor::CollapseShapeOp::create(builder, loc, type, value, *groups);
  auto groups = collapseGroups(shape, from);
  return tensor::ExpandShapeOp::create(builder, loc, type, value, *groups);
}

Value Emitter::reshape(Value value, ArrayRef<int64_t> shape) {
  Shape target(shape);
  if (shapeOf(value) == target)
    return value;
  if (countElements(target) == 0)
    return empty(target, getElementTypeOrSelf(value));
  // What was reshaped before can be reshaped from where it started.
  Value best = value;
  int cost = reshapeCost(shapeOf(value), target);
  for (Value source = value; cost > 0;) {
    Operation *op = source.getDefiningOp();
    if (!isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      break;
    source = op->getOperand(0);
    int sourceCost = reshapeCost(shapeOf(source), target);
    if (sourceCost < cost || (sourceCost == cost && cost == 1)) {
      best = source;
      cost = sourceCost;
    }
  }
  if (cost == 0)
    return best;
  if (cost == 1)
    return reshapeDirectly(best, target);
  auto step = [&](const Shape &next) {
    if (shapeOf(best) != next)
      best = reshapeDirectly(best, next);
  };
  Shape from = withoutUnits(shapeOf(best));
  step(from);
  for (const Shape &next : waypoints(from, withoutUnits(target)))
    step(next);
  step(target);
  return best;
}

//===----------------------------------------------------------------------===//
// Transpose
//===----------------------------------------------------------------------===//

std::optional<Emitter::Unflattened>
Emitter::unflatten(Value value, ArrayRef<int64_t> fixed) {
  auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
  if (!collapse)
    return std::nullopt;
  Shape from = shapeOf(collapse.getSrc());
  Unflattened result{collapse.getSrc(), {}};
  bool merges = false;
  for (auto [dim, group] :
       llvm::enumerate(collapse.getReassociationIndices())) {
    result.groups.emplace_back(group.begin(), group.end());
    if (group.size() == 1)
      continue;
    if (llvm::is_contained(fixed, static_cast<int64_t>(dim)))
      return std::nullopt;
    merges |=
        llvm::count_if(group, [&](int64_t i) { return from[i] != 1; }) > 1;
  }
  // A collapse that only drops unit dimensions is not worth carrying along.
  if (!merges)
    return std::nullopt;
  return result;
}

Value Emitter::transpose(Value value, ArrayRef<int64_t> permutation) {
  Shape from = shapeOf(value), to;
  SmallVector<int64_t> moved;
  for (int64_t dim : permutation) {
    to.push_back(from[dim]);
    if (from[dim] != 1)
      moved.push_back(dim);
  }
  if (llvm::is_sorted(moved) || countElements(to) == 0)
    return reshape(value, to);
  if (auto before = value.getDefiningOp<linalg::TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t dim : permutation)
      composed.push_back(before.getPermutation()[dim]);
    return transpose(before.getInput(), composed);
  }
  if (std::optional<Unflattened> whole = unflatten(value, {})) {
    SmallVector<int64_t> inner;
    for (int64_t dim : permutation)
      inner.append(whole->groups[dim].begin(), whole->groups[dim].end());
    return reshape(transpose(whole->value, inner), to);
  }
  Value init = empty(to, getElementTypeOrSelf(value));
  return linalg::TransposeOp::create(builder, loc, value, init, permutation)
      ->getResult(0);
}
