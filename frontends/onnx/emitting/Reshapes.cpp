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

/// 1, then the products of the first, the first two, … sizes.
static Shape prefixProducts(Sizes &sizes, ArrayRef<int64_t> shape) {
  Shape products{1};
  for (int64_t size : shape)
    products.push_back(sizes.mul(products.back(), size));
  return products;
}

/// How many dimensions of each, at least one, have equal products: the fewest.
static std::pair<size_t, size_t>
firstGroup(Sizes &sizes, ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  Shape left = prefixProducts(sizes, from), right = prefixProducts(sizes, to);
  for (size_t i = 1; i < left.size(); ++i)
    for (size_t j = 1; j < right.size(); ++j)
      if (left[i] == right[j])
        return {i, j};
  return {from.size(), to.size()};
}

/// The sizes of the finest dimensions that both are made of, where all their
/// boundaries nest.
static std::optional<Shape> refine(Sizes &sizes, ArrayRef<int64_t> from,
                                   ArrayRef<int64_t> to) {
  Shape cuts = prefixProducts(sizes, from);
  cuts.append(prefixProducts(sizes, to));
  Shape refined;
  int64_t previous = 1;
  // The next boundary is the one that divides all that are left.
  while (true) {
    llvm::erase(cuts, previous);
    if (cuts.empty())
      return refined;
    auto next = llvm::find_if(cuts, [&](int64_t cut) {
      return llvm::all_of(cuts, [&](int64_t other) {
        return sizes.divide(other, cut).has_value();
      });
    });
    if (next == cuts.end())
      return std::nullopt;
    refined.push_back(*sizes.divide(*next, previous));
    previous = *next;
  }
}

/// The shapes on the way from one shape to another, each a collapse or an
/// expansion of the one before (or the same). Example: [6, 4] to [2, 12] goes
/// through [2, 3, 4], which refines both. Dimensions that do not nest, as in
/// [4, 6] to [6, 4], are merged. There are no unit dimensions.
static std::array<Shape, 4> waypoints(Sizes &sizes, ArrayRef<int64_t> from,
                                      ArrayRef<int64_t> to) {
  std::array<Shape, 4> shapes;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    // A group of dimensions with equal products on both sides.
    size_t firstFrom = i, firstTo = j;
    auto [fromCount, toCount] =
        firstGroup(sizes, from.drop_front(i), to.drop_front(j));
    i += fromCount;
    j += toCount;
    std::optional<Shape> finest = refine(
        sizes, from.slice(firstFrom, fromCount), to.slice(firstTo, toCount));
    bool nests = finest.has_value();
    Shape refined = finest.value_or(Shape());
    Shape whole{sizes.product(from.slice(firstFrom, fromCount))};
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
collapseGroups(Sizes &sizes, ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  if (from.size() <= to.size())
    return std::nullopt;
  if (!hasOpen(from) && !hasOpen(to))
    return getReassociationIndicesForCollapse(from, to);
  // The same of open sizes: each group has the product of its size, and unit
  // dimensions belong to the group before.
  SmallVector<ReassociationIndices> groups;
  size_t next = 0;
  for (auto [i, size] : llvm::enumerate(to)) {
    ReassociationIndices group;
    for (int64_t product = 1; group.empty() || product != size; ++next) {
      if (next == from.size())
        return std::nullopt;
      product = sizes.mul(product, from[next]);
      group.push_back(next);
    }
    bool isLast = i + 1 == to.size();
    for (; next < from.size() && from[next] == 1 && (isLast || to[i + 1] != 1);
         ++next)
      group.push_back(next);
    groups.push_back(group);
  }
  if (next != from.size())
    return std::nullopt;
  return groups;
}

/// How many ops reshaping takes: 0, 1, or 2 for more.
static int reshapeCost(Sizes &sizes, ArrayRef<int64_t> from,
                       ArrayRef<int64_t> to) {
  if (from == to)
    return 0;
  return collapseGroups(sizes, from, to) || collapseGroups(sizes, to, from) ? 1
                                                                            : 2;
}

Value Emitter::reshapeDirectly(Value value, ArrayRef<int64_t> shape) {
  Shape from = shapeOf(value);
  RankedTensorType type = tensorType(shape, getElementTypeOrSelf(value));
  if (auto groups = collapseGroups(sizes, from, shape))
    return note(
        tensor::CollapseShapeOp::create(builder, loc, type, value, *groups),
        shape);
  auto groups = collapseGroups(sizes, shape, from);
  return note(tensor::ExpandShapeOp::create(builder, loc, type, value, *groups,
                                            mixed(shape)),
              shape);
}

Value Emitter::reshape(Value value, ArrayRef<int64_t> shape) {
  Shape target(shape);
  if (shapeOf(value) == target)
    return value;
  if (countElements(target) == 0)
    return empty(target, getElementTypeOrSelf(value));
  // A reshape of a reshape becomes one of the original.
  Value best = value;
  int cost = reshapeCost(sizes, shapeOf(value), target);
  for (Value source = value; cost > 0;) {
    Operation *op = source.getDefiningOp();
    if (!isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      break;
    source = op->getOperand(0);
    int sourceCost = reshapeCost(sizes, shapeOf(source), target);
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
  for (const Shape &next : waypoints(sizes, from, withoutUnits(target)))
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
  return note(
      linalg::TransposeOp::create(builder, loc, value, init, permutation)
          ->getResult(0),
      to);
}
