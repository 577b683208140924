//===- Placement.cpp - Arithmetic on sharded dimensions -------------------===//

#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;

ShardingAttr mlir::dist::getPlacement(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto shardings =
        result.getOwner()->getAttrOfType<ArrayAttr>(kShardingsAttr);
    return shardings
               ? dyn_cast<ShardingAttr>(shardings[result.getResultNumber()])
               : ShardingAttr();
  }
  auto argument = cast<BlockArgument>(value);
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function ? function.getArgAttrOfType<ShardingAttr>(
                        argument.getArgNumber(), kShardingAttr)
                  : ShardingAttr();
}

bool mlir::dist::anyOverlap(ArrayRef<AxisRefAttr> a, ArrayRef<AxisRefAttr> b) {
  return llvm::any_of(a, [&](AxisRefAttr x) {
    return llvm::any_of(b, [&](AxisRefAttr y) { return overlaps(x, y); });
  });
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

int64_t mlir::dist::multiplySizes(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b)
             ? ShapedType::kDynamic
             : a * b;
}

int64_t mlir::dist::divideSize(int64_t size, int64_t divisor) {
  return ShapedType::isDynamic(size) ? size : size / divisor;
}

bool mlir::dist::isDivided(int64_t size, int64_t divisor) {
  return ShapedType::isDynamic(size) ||
         (!ShapedType::isDynamic(divisor) && size % divisor == 0);
}

int64_t mlir::dist::getBlockSize(int64_t size, int64_t blocks) {
  return ShapedType::isDynamic(size) ? size : llvm::divideCeil(size, blocks);
}

std::optional<CommonSizes>
mlir::dist::findCommonSizes(ArrayRef<int64_t> first, ArrayRef<int64_t> second) {
  CommonSizes common;
  common.ofFirst.resize(first.size());
  common.ofSecond.resize(second.size());
  size_t i = 0, j = 0;
  // What is left of the elements at i and j; 1 behind the last.
  int64_t left = first[0], right = second[0];
  auto take = [&](int64_t size) {
    common.sizes.push_back(size);
    ++common.ofFirst[std::min(i, first.size() - 1)];
    ++common.ofSecond[std::min(j, second.size() - 1)];
  };
  auto nextFirst = [&] { left = ++i < first.size() ? first[i] : 1; };
  auto nextSecond = [&] { right = ++j < second.size() ? second[j] : 1; };
  while (i < first.size() || j < second.size()) {
    if (left == right) {
      take(left);
      nextFirst();
      nextSecond();
    } else if (j < second.size() && right != 0 && isDivided(left, right)) {
      take(right);
      // What is left of the element of the first list; all of it beside a 1.
      left = divideSize(left, right);
      nextSecond();
    } else if (i < first.size() && left != 0 && isDivided(right, left)) {
      take(left);
      right = divideSize(right, left);
      nextFirst();
    } else {
      return std::nullopt;
    }
  }
  return common;
}

MeshLayout::MeshLayout(MeshOp mesh, Merging merging)
    : context(mesh.getContext()),
      name(FlatSymbolRefAttr::get(mesh.getSymNameAttr())), axes(mesh.getAxes()),
      unsharded(DimShardingAttr::get(context, ArrayRef<AxisRefAttr>())),
      merging(merging) {}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

int64_t MeshLayout::size(AxisRefAttr axis) const {
  auto [entry, inserted] = sizes.try_emplace(axis, 0);
  if (inserted)
    entry->second = getAxisSize(axis, axes);
  return entry->second;
}

int64_t MeshLayout::size(ArrayRef<AxisRefAttr> list) const {
  int64_t product = 1;
  for (AxisRefAttr axis : list)
    product *= size(axis);
  return product;
}

AxisRefAttr MeshLayout::part(StringRef axis, int64_t pre,
                             int64_t partSize) const {
  auto whole = AxisRefAttr::get(context, axis, 1, 0);
  return pre == 1 && size(whole) == partSize
             ? whole
             : AxisRefAttr::get(context, axis, pre, partSize);
}

std::pair<AxisRefAttr, AxisRefAttr> MeshLayout::cut(AxisRefAttr axis,
                                                    int64_t major) const {
  int64_t whole = size(axis);
  return {part(axis.getName(), axis.getPre(), major),
          part(axis.getName(), axis.getPre() * major, whole / major)};
}

void MeshLayout::coalesce(SmallVectorImpl<AxisRefAttr> &list) const {
  SmallVector<AxisRefAttr, 4> out;
  for (AxisRefAttr axis : list) {
    if (!out.empty() && axis.isSubAxis() && out.back().isSubAxis() &&
        out.back().getName() == axis.getName() &&
        out.back().getPre() * out.back().getSize() == axis.getPre())
      out.back() = part(axis.getName(), out.back().getPre(),
                        out.back().getSize() * axis.getSize());
    else
      out.push_back(axis);
  }
  list.assign(out.begin(), out.end());
}

ArrayAttr MeshLayout::getAxesAttr(ArrayRef<AxisRefAttr> list) const {
  SmallVector<AxisRefAttr, 2> joined(list);
  coalesce(joined);
  return ArrayAttr::get(context,
                        SmallVector<Attribute>(joined.begin(), joined.end()));
}

void MeshLayout::refine(SmallVectorImpl<AxisRefAttr> &list,
                        ArrayRef<AxisRefAttr> others) const {
  SmallVector<AxisRefAttr, 4> out;
  for (AxisRefAttr axis : list) {
    // Borders strictly inside this axis, as products of the sizes before them.
    SmallVector<int64_t, 4> borders;
    int64_t end = axis.getPre() * size(axis);
    for (AxisRefAttr other : others) {
      if (other.getName() != axis.getName())
        continue;
      for (int64_t border : {other.getPre(), other.getPre() * size(other)})
        if (border > axis.getPre() && border < end)
          borders.push_back(border);
    }
    llvm::sort(borders);
    borders.erase(llvm::unique(borders), borders.end());
    AxisRefAttr rest = axis;
    for (int64_t border : borders) {
      int64_t major = border / rest.getPre();
      if (border % rest.getPre() != 0 || size(rest) % major != 0)
        continue;
      auto [first, second] = cut(rest, major);
      out.push_back(first);
      rest = second;
    }
    out.push_back(rest);
  }
  list.assign(out.begin(), out.end());
}

bool MeshLayout::isPrefix(ArrayRef<AxisRefAttr> a,
                          ArrayRef<AxisRefAttr> b) const {
  for (auto [index, axis] : llvm::enumerate(a)) {
    if (index >= b.size())
      return false;
    if (axis == b[index])
      continue;
    // The last axis of a may be the major part of b's.
    return index + 1 == a.size() && axis.getName() == b[index].getName() &&
           axis.getPre() == b[index].getPre() &&
           size(b[index]) % size(axis) == 0;
  }
  return true;
}

bool MeshLayout::isPrefix(DimShardingAttr a, DimShardingAttr b) const {
  if (a == b || a == unsharded)
    return true;
  ArrayRef<SubDimAttr> left = a.getSubDims(), right = b.getSubDims();
  // Blocks that a cuts: b cuts them as well, and perhaps what they are in.
  while (left.size() > 1 && right.size() > 1 &&
         left.front().getSize() == right.front().getSize() &&
         isPrefix(left.front().getAxes(), right.front().getAxes())) {
    left = left.drop_front();
    right = right.drop_front();
  }
  if (right.size() != 1)
    return false;
  ArrayRef<AxisRefAttr> axes = right.front().getAxes();
  // Major axes that take all blocks apart are one with the minor ones in b.
  for (SubDimAttr blocks : left.drop_back()) {
    int64_t count = 1;
    ArrayRef<AxisRefAttr> major = axes;
    while (!axes.empty() && count < blocks.getSize()) {
      count *= size(axes.front());
      axes = axes.drop_front();
    }
    if (count != blocks.getSize() ||
        !isPrefix(blocks.getAxes(), major.drop_back(axes.size())))
      return false;
  }
  return isPrefix(left.back().getAxes(), axes);
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// Whether devices that shard `size` elements in blocks have the same blocks if
/// each element is `minor` elements: 8 rows on 3 devices, and 16. False for
/// several axes, since reshards gather what those cut unevenly.
static bool areBlocksAlike(const MeshLayout &layout, ArrayRef<AxisRefAttr> axes,
                           int64_t size, int64_t minor) {
  if (axes.size() != 1 || ShapedType::isDynamic(size) ||
      ShapedType::isDynamic(minor))
    return false;
  int64_t devices = layout.size(axes.front());
  return getBlockSize(size * minor, devices) ==
         getBlockSize(size, devices) * minor;
}

SmallVector<Piece, 2> MeshLayout::pieces(DimShardingAttr dim,
                                         int64_t dimSize) const {
  SmallVector<Piece, 2> out;
  int64_t fixed = 1;
  for (SubDimAttr subDim : dim.getSubDims())
    if (subDim.getSize())
      fixed *= subDim.getSize();
  for (SubDimAttr subDim : dim.getSubDims())
    out.push_back(
        {subDim.getSize() ? subDim.getSize() : divideSize(dimSize, fixed),
         SmallVector<AxisRefAttr, 2>(subDim.getAxes())});
  return out;
}

DimShardingAttr MeshLayout::canonical(ArrayRef<Piece> list) const {
  SmallVector<Piece, 4> merged;
  for (const Piece &piece : list) {
    // Axes of one device shard nothing.
    Piece next{piece.size, {}};
    for (AxisRefAttr axis : piece.axes)
      if (size(axis) != 1)
        next.axes.push_back(axis);
    if (merged.empty()) {
      merged.push_back(std::move(next));
      continue;
    }
    Piece &last = merged.back();
    bool lastIsSplitUp = size(last.axes) == last.size;
    // Blocks of so many elements of the last piece, which need not be even, are
    // others than those of all elements.
    bool goesOn = next.axes.empty() &&
                  (next.size == 1 || isDivided(last.size, size(last.axes)));
    if (goesOn || lastIsSplitUp) {
      last.size = multiplySizes(last.size, next.size);
      last.axes.append(next.axes.begin(), next.axes.end());
    } else {
      merged.push_back(std::move(next));
    }
  }
  if (merged.empty())
    return unsharded;
  // (n, {}) * (m, A) with n == 1 is (m, A).
  if (merged.size() > 1 && merged.front().size == 1)
    merged.erase(merged.begin());
  for (Piece &piece : merged)
    coalesce(piece.axes);
  // Blocks of the first piece, which alone may be uneven, may be those of all
  // elements nevertheless.
  if (merged.size() == 2 && merged.back().axes.empty() &&
      areBlocksAlike(*this, merged.front().axes, merged.front().size,
                     merged.back().size)) {
    merged.front().size *= merged.back().size;
    merged.pop_back();
  }
  if (merged.size() == 1 && merged.front().axes.empty())
    return unsharded;
  SmallVector<SubDimAttr, 2> subDims;
  for (auto [index, piece] : llvm::enumerate(merged)) {
    bool isLast = index + 1 == merged.size();
    if (!isLast && ShapedType::isDynamic(piece.size))
      return {};
    subDims.push_back(
        SubDimAttr::get(context, isLast ? 0 : piece.size, piece.axes));
  }
  return DimShardingAttr::get(context, subDims, false);
}

DimShardingAttr MeshLayout::canonical(DimShardingAttr dim,
                                      int64_t dimSize) const {
  if (dim == unsharded)
    return dim;
  return canonical(pieces(dim, dimSize));
}

bool MeshLayout::split(DimShardingAttr dim, ArrayRef<int64_t> factorSizes,
                       SmallVectorImpl<DimShardingAttr> &out) const {
  out.assign(factorSizes.size(), unsharded);
  if (dim == unsharded || factorSizes.empty())
    return dim == unsharded;
  if (factorSizes.size() == 1) {
    out[0] = dim;
    return true;
  }
  int64_t total = 1;
  for (int64_t factorSize : factorSizes)
    total = multiplySizes(total, factorSize);
  if (llvm::is_contained(factorSizes, 0))
    return false;

  SmallVector<Piece, 2> from = pieces(dim, total);
  SmallVector<SmallVector<Piece, 2>, 4> to(factorSizes.size());
  auto finish = [&](bool isExact) {
    for (auto [index, list] : llvm::enumerate(to)) {
      int64_t covered = 1;
      for (Piece &piece : list)
        covered = multiplySizes(covered, piece.size);
      int64_t factorSize = factorSizes[index];
      if (covered != factorSize && !ShapedType::isDynamic(covered))
        list.push_back({divideSize(factorSize, covered), {}});
      out[index] = canonical(list);
    }
    return isExact;
  };
  size_t f = 0;
  int64_t factorLeft = factorSizes[0];
  bool exact = true;
  for (Piece &piece : from) {
    SmallVector<AxisRefAttr, 2> axesLeft(piece.axes);
    int64_t pieceLeft = piece.size;
    while (pieceLeft > 1 || ShapedType::isDynamic(pieceLeft) ||
           !axesLeft.empty()) {
      while (factorLeft == 1 && f + 1 < factorSizes.size())
        factorLeft = factorSizes[++f];
      if (ShapedType::isDynamic(factorLeft)) {
        // All remaining axes are taken to divide an unknown size; a piece of
        // known size need not end within it.
        if (!ShapedType::isDynamic(pieceLeft)) {
          exact = false;
          break;
        }
        to[f].push_back({factorLeft, axesLeft});
        return finish(true);
      }
      if (!ShapedType::isDynamic(pieceLeft) && pieceLeft <= factorLeft) {
        // The factor has all the rest of the piece. Only a major one may be
        // padded.
        bool isMajor = &piece == &from.front() && pieceLeft == piece.size;
        if (factorLeft % pieceLeft != 0 ||
            (!isMajor && merging == Merging::Even &&
             pieceLeft % size(axesLeft) != 0)) {
          exact = false;
          break;
        }
        to[f].push_back({pieceLeft, axesLeft});
        factorLeft /= pieceLeft;
        pieceLeft = 1;
        axesLeft.clear();
        continue;
      }
      // Blocks of different sizes end within the factors, not between them,
      // unless they consist of whole elements of the major one.
      bool isWhole = &piece == &from.front() && pieceLeft == piece.size;
      if (isWhole && isDivided(pieceLeft, factorLeft) &&
          !isDivided(pieceLeft, size(axesLeft)) &&
          areBlocksAlike(*this, axesLeft, factorLeft,
                         divideSize(pieceLeft, factorLeft))) {
        to[f].push_back({factorLeft, axesLeft});
        axesLeft.clear();
        pieceLeft = divideSize(pieceLeft, factorLeft);
        factorLeft = 1;
        continue;
      }
      if (!isDivided(pieceLeft, factorLeft) ||
          !isDivided(pieceLeft, size(axesLeft))) {
        exact = false;
        break;
      }
      // The factor is the major part of the piece and takes the major axes.
      Piece taken{factorLeft, {}};
      int64_t room = factorLeft;
      while (!axesLeft.empty() && room > 1) {
        int64_t devices = size(axesLeft.front());
        if (room % devices == 0) {
          taken.axes.push_back(axesLeft.front());
          axesLeft.erase(axesLeft.begin());
          room /= devices;
        } else if (devices % room == 0) {
          auto [major, minor] = cut(axesLeft.front(), room);
          taken.axes.push_back(major);
          axesLeft.front() = minor;
          room = 1;
        } else {
          exact = false;
          break;
        }
      }
      // Axes go on to the next factor only where this one is split up.
      if (!axesLeft.empty() && room > 1)
        exact = false;
      to[f].push_back(std::move(taken));
      if (!exact)
        break;
      pieceLeft = divideSize(pieceLeft, factorLeft);
      factorLeft = 1;
    }
    if (!exact)
      break;
  }
  return finish(exact);
}

DimShardingAttr MeshLayout::join(ArrayRef<DimShardingAttr> factors,
                                 ArrayRef<int64_t> factorSizes) const {
  if (factors.size() == 1)
    return factors[0];
  if (llvm::all_of(factors, [&](DimShardingAttr d) { return d == unsharded; }))
    return unsharded;
  SmallVector<Piece, 4> list;
  // Unknown sizes are not padded.
  bool isMajor = !llvm::is_contained(factorSizes, ShapedType::kDynamic);
  for (auto [factor, factorSize] : llvm::zip_equal(factors, factorSizes)) {
    // Empty dimensions have no sub-dimension sizes. Only the major factor may
    // be padded: its padding is at the end of all.
    if (factorSize == 0 ||
        (!isMajor && merging == Merging::Even && !isEven(factor, factorSize)))
      return {};
    isMajor &= factorSize == 1;
    for (Piece &piece : pieces(factor, factorSize))
      list.push_back(std::move(piece));
  }
  return canonical(list);
}

DimShardingAttr MeshLayout::append(DimShardingAttr dim, int64_t dimSize,
                                   ArrayRef<AxisRefAttr> axes,
                                   int64_t groups) const {
  SmallVector<Piece, 2> list = pieces(dim, dimSize);
  if (groups > 1 && list.size() == 1 && list[0].axes.empty()) {
    if (ShapedType::isDynamic(dimSize) || dimSize % groups != 0)
      return {};
    list = {Piece{groups, {}}, Piece{dimSize / groups, {}}};
  } else if (groups > 1 && (list.size() != 2 || list[0].size != groups ||
                            !list[0].axes.empty())) {
    return {};
  }
  Piece &last = list.back();
  last.axes.append(axes.begin(), axes.end());
  if (list.size() > 1 && !isDivided(last.size, size(last.axes)))
    return {};
  return canonical(list);
}

int64_t MeshLayout::localSize(DimShardingAttr dim, int64_t dimSize) const {
  if (dim == unsharded)
    return dimSize;
  int64_t local = 1;
  for (Piece &piece : pieces(dim, dimSize))
    local = multiplySizes(local, getBlockSize(piece.size, size(piece.axes)));
  return local;
}

bool MeshLayout::isEven(DimShardingAttr dim, int64_t dimSize) const {
  if (dim == unsharded)
    return true;
  for (Piece &piece : pieces(dim, dimSize))
    if (!isDivided(piece.size, size(piece.axes)))
      return false;
  return true;
}

RankedTensorType MeshLayout::localType(RankedTensorType global,
                                       ShardingAttr sharding) const {
  SmallVector<int64_t, 4> shape(global.getShape());
  for (auto [extent, dim] : llvm::zip_equal(shape, sharding.getDims()))
    extent = localSize(dim, extent);
  return global.clone(shape);
}
