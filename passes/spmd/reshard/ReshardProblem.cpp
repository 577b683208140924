//===- ReshardProblem.cpp - Two placements over common pieces and axes ----===//
//
// Before a way between two placements is searched, both are expressed with the
// same sub-dimensions and the same parts of axes. If that is impossible, the
// axes that prevent it are gathered first.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/reshard/ReshardPlan.h"

using namespace mlir;
using namespace mlir::dist;

bool ReshardProblem::isSolved() const {
  auto isSame = [](const Piece &a, const Piece &b) { return a.axes == b.axes; };
  for (auto [left, right] : llvm::zip_equal(from, to))
    if (!llvm::equal(left, right, isSame))
      return false;
  return partialFrom == partialTo;
}

//===----------------------------------------------------------------------===//
// Sub-dimensions
//===----------------------------------------------------------------------===//

/// Whether both placements of a dimension can be written over the same
/// sub-dimensions.
static bool splitAlike(const MeshLayout &layout, int64_t size,
                       DimShardingAttr from, DimShardingAttr to,
                       SmallVectorImpl<Piece> &fromOut,
                       SmallVectorImpl<Piece> &toOut) {
  SmallVector<Piece, 2> fromPieces = layout.pieces(from, size);
  SmallVector<Piece, 2> toPieces = layout.pieces(to, size);
  auto getSizes = [](ArrayRef<Piece> pieces) {
    return llvm::map_to_vector(pieces,
                               [](const Piece &piece) { return piece.size; });
  };
  std::optional<CommonSizes> common =
      findCommonSizes(getSizes(fromPieces), getSizes(toPieces));
  if (!common)
    return false;
  ArrayRef<int64_t> sizes = common->sizes;
  auto write = [&](DimShardingAttr dim, SmallVectorImpl<Piece> &out) {
    SmallVector<DimShardingAttr, 2> parts;
    if (!layout.split(dim, sizes, parts))
      return false;
    for (auto [part, partSize] : llvm::zip_equal(parts, sizes)) {
      SmallVector<Piece, 2> pieces = layout.pieces(part, partSize);
      if (pieces.size() != 1)
        return false;
      out.push_back(std::move(pieces[0]));
    }
    return true;
  };
  return write(from, fromOut) && write(to, toOut);
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// Whether the two can be cut into parts that are equal or apart.
static bool isNested(const MeshLayout &layout, AxisRefAttr a, AxisRefAttr b) {
  if (a == b || !overlaps(a, b))
    return true;
  SmallVector<AxisRefAttr, 2> left{a}, right{b};
  layout.refine(left, b);
  layout.refine(right, a);
  for (AxisRefAttr x : left)
    for (AxisRefAttr y : right)
      if (x != y && overlaps(x, y))
        return false;
  return true;
}

namespace {
/// What of a placement must be gathered or reduced before another is reached.
class Waypoint {
public:
  Waypoint(const MeshLayout &layout, RankedTensorType type, ShardingAttr from)
      : layout(layout), type(type), from(from), dims(from.getDims()),
        partial(from.getPartialAxes()) {}

  void gather(int64_t dim) { dims[dim] = layout.none(); }
  void reduce() { partial.clear(); }
  /// Gathers the first axis of each dimension that `isInTheWay`, and those
  /// minor to it; completes what is pending over such axes.
  void drop(function_ref<bool(AxisRefAttr)> isInTheWay) {
    for (auto [dim, sharding] : llvm::enumerate(dims)) {
      SmallVector<AxisRefAttr> axes = sharding.getAllAxes();
      auto *first = llvm::find_if(axes, isInTheWay);
      if (first == axes.end())
        continue;
      if (sharding.getSubDims().size() > 1) {
        sharding = layout.none();
        continue;
      }
      Piece kept{type.getDimSize(dim), {}};
      kept.axes.append(axes.begin(), first);
      sharding = layout.canonical(kept);
    }
    llvm::erase_if(partial, isInTheWay);
  }
  /// Null where nothing is in the way.
  ShardingAttr get() const {
    if (ArrayRef(dims) == from.getDims() &&
        ArrayRef(partial) == from.getPartialAxes())
      return {};
    auto out = ShardingAttr::get(type.getContext(), from.getMesh(), dims,
                                 from.getPartialKind(), partial);
    return partial.empty() ? out.withoutPartial() : out;
  }

private:
  const MeshLayout &layout;
  RankedTensorType type;
  ShardingAttr from;
  SmallVector<DimShardingAttr, 4> dims;
  SmallVector<AxisRefAttr, 2> partial;
};
} // namespace

/// All axes of a side, as its sub-dimensions have them.
static SmallVector<AxisRefAttr, 8>
getAxesOf(ShardingAttr sharding, ArrayRef<SmallVector<Piece, 2>> dims) {
  SmallVector<AxisRefAttr, 8> axes(sharding.getPartialAxes());
  for (const auto &pieces : dims)
    for (const Piece &piece : pieces)
      llvm::append_range(axes, piece.axes);
  return axes;
}

/// Drops what cuts an axis over which blocks are uneven: blocks over a part of
/// such an axis are no union of blocks over the axis.
static void dropCutsOfUneven(const MeshLayout &layout, RankedTensorType type,
                             ShardingAttr sharding,
                             ArrayRef<AxisRefAttr> others, Waypoint &waypoint) {
  for (auto [dim, size] : llvm::zip_equal(sharding.getDims(), type.getShape()))
    for (const Piece &piece : layout.pieces(dim, size)) {
      if (isDivided(piece.size, layout.size(piece.axes)))
        continue;
      for (AxisRefAttr axis : piece.axes) {
        SmallVector<AxisRefAttr, 2> parts{axis};
        layout.refine(parts, others);
        if (parts.size() > 1)
          waypoint.drop([&](AxisRefAttr a) { return overlaps(a, axis); });
      }
    }
}

ReshardProblem mlir::dist::getReshardProblem(const MeshLayout &layout,
                                             RankedTensorType type,
                                             ShardingAttr from,
                                             ShardingAttr to) {
  ReshardProblem problem;
  problem.from.resize(type.getRank());
  problem.to.resize(type.getRank());
  Waypoint waypoint(layout, type, from);
  if (from.isPartial() && to.isPartial() &&
      from.getPartialKind() != to.getPartialKind())
    waypoint.reduce();
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!splitAlike(layout, type.getDimSize(dim), from.getDims()[dim],
                    to.getDims()[dim], problem.from[dim], problem.to[dim]))
      waypoint.gather(dim);
  SmallVector<AxisRefAttr, 8> have = getAxesOf(from, problem.from);
  SmallVector<AxisRefAttr, 8> want = getAxesOf(to, problem.to);
  waypoint.drop([&](AxisRefAttr axis) {
    return llvm::any_of(have, [&](AxisRefAttr part) {
      return overlaps(part, axis) && llvm::any_of(want, [&](AxisRefAttr other) {
               return !isNested(layout, part, other);
             });
    });
  });
  dropCutsOfUneven(layout, type, from, want, waypoint);
  dropCutsOfUneven(layout, type, to, have, waypoint);
  problem.waypoint = waypoint.get();
  if (problem.waypoint)
    return problem;

  problem.kind = from.isPartial() ? from.getPartialKind() : to.getPartialKind();
  llvm::append_range(problem.partialFrom, from.getPartialAxes());
  llvm::append_range(problem.partialTo, to.getPartialAxes());
  have.append(want);
  for (auto *side : {&problem.from, &problem.to})
    for (auto &dim : *side)
      for (Piece &piece : dim)
        layout.refine(piece.axes, have);
  layout.refine(problem.partialFrom, have);
  layout.refine(problem.partialTo, have);
  return problem;
}
