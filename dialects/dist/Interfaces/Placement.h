//===- Placement.h - Arithmetic on sharded dimensions -----------*- C++ -*-===//
//
// How the axes of a dimension distribute over factors and back, and which part
// of a dimension a device holds. docs/internals/levels.md defines the layout.
//
// A size may be ShapedType::kDynamic. The axes that shard such a dimension are
// assumed to divide it evenly. This is checked when the size becomes known.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_PLACEMENT_H
#define DIST_DIALECTS_DIST_INTERFACES_PLACEMENT_H

#include "dialects/dist/IR/Dist.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dist {

/// A sub-dimension with its size known.
struct Piece {
  int64_t size;
  SmallVector<AxisRefAttr, 2> axes;
};

/// A mesh, with the arithmetic that depends on its axes' sizes. Shardings of
/// dimensions are kept in one canonical form: equal shardings are the same
/// attribute.
class MeshLayout {
public:
  /// Which factors of a merged dimension may be sharded. Either minor factors
  /// only if devices divide them, as a program requires. Or any factors: this
  /// tells how placements would be if no dimensions were merged.
  enum class Merging { Even, Any };
  explicit MeshLayout(MeshOp mesh, Merging merging = Merging::Even);

  MLIRContext *getContext() const { return context; }
  FlatSymbolRefAttr getName() const { return name; }
  ArrayRef<MeshAxisAttr> getAxes() const { return axes; }

  /// Devices along an axis or a part of one.
  int64_t size(AxisRefAttr axis) const;
  int64_t size(ArrayRef<AxisRefAttr> axes) const;

  /// The replicated dimension.
  DimShardingAttr none() const { return unsharded; }

  /// The sub-dimensions of a dimension of `size` elements.
  SmallVector<Piece, 2> pieces(DimShardingAttr dim, int64_t size) const;

  /// The canonical sharding made of `pieces`, major to minor: neighbours that
  /// form one block are merged, parts of an axis joined, '?' dropped. Null if a
  /// sub-dimension except the last has an unknown size.
  DimShardingAttr canonical(ArrayRef<Piece> pieces) const;
  DimShardingAttr canonical(DimShardingAttr dim, int64_t size) const;

  /// Distributes the sharding of a dimension over its factors. If it does not
  /// fit, `out` gets the major axes as far as they fit, and the result is
  /// false.
  bool split(DimShardingAttr dim, ArrayRef<int64_t> factorSizes,
             SmallVectorImpl<DimShardingAttr> &out) const;

  /// The sharding of a dimension that is a product of sharded factors. Null if
  /// one of several factors is not divided evenly, or is empty. Also null if a
  /// sub-dimension except the last would have an unknown size.
  DimShardingAttr join(ArrayRef<DimShardingAttr> factors,
                       ArrayRef<int64_t> factorSizes) const;

  /// `dim`, also sharded over `axes`, which are minor to its own axes. Null if
  /// it is interleaved and they do not divide its last sub-dimension. With
  /// `groups`, each of so many blocks is sharded; null if `dim` has other
  /// blocks.
  DimShardingAttr append(DimShardingAttr dim, int64_t size,
                         ArrayRef<AxisRefAttr> axes, int64_t groups = 1) const;

  /// Elements that every device holds of a dimension, padding included.
  int64_t localSize(DimShardingAttr dim, int64_t size) const;
  /// Whether every device holds the same number of elements, and no padding.
  bool isEven(DimShardingAttr dim, int64_t size) const;

  /// The type of the local part of a tensor of type `global`.
  RankedTensorType localType(RankedTensorType global, ShardingAttr) const;

  /// Whether the axes of `b` begin with the axes of `a` (parts of axes count).
  bool isPrefix(ArrayRef<AxisRefAttr> a, ArrayRef<AxisRefAttr> b) const;
  bool isPrefix(DimShardingAttr a, DimShardingAttr b) const;

  /// Joins neighbouring parts of one axis.
  void coalesce(SmallVectorImpl<AxisRefAttr> &axes) const;
  /// Such a list as the attribute that collectives have.
  ArrayAttr getAxesAttr(ArrayRef<AxisRefAttr> axes) const;
  /// Cuts every axis at the borders of the parts that occur in `others`.
  void refine(SmallVectorImpl<AxisRefAttr> &axes,
              ArrayRef<AxisRefAttr> others) const;
  /// The major `size` devices of an axis, and the rest.
  std::pair<AxisRefAttr, AxisRefAttr> cut(AxisRefAttr axis, int64_t size) const;

private:
  AxisRefAttr part(StringRef name, int64_t pre, int64_t size) const;

  MLIRContext *context;
  FlatSymbolRefAttr name;
  ArrayRef<MeshAxisAttr> axes;
  DimShardingAttr unsharded;
  Merging merging;
  mutable llvm::DenseMap<AxisRefAttr, int64_t> sizes;
};

/// Arithmetic on sizes. The result is unknown if a size is unknown. An unknown
/// size is divisible by everything.
int64_t multiplySizes(int64_t a, int64_t b);
int64_t divideSize(int64_t size, int64_t divisor);
bool isDivided(int64_t size, int64_t divisor);
/// The size of the largest block, if `size` elements are cut into `blocks`.
int64_t getBlockSize(int64_t size, int64_t blocks);

/// The coarsest sizes of which both of two lists of sizes are products, in
/// their order, and how many each element of the lists is made of.
struct CommonSizes {
  SmallVector<int64_t> sizes;
  SmallVector<size_t> ofFirst, ofSecond;
};

/// Nothing where borders of the lists, which are not empty and whose products
/// are the same, do not nest.
std::optional<CommonSizes> findCommonSizes(ArrayRef<int64_t> first,
                                           ArrayRef<int64_t> second);

/// Where a value of level 2 is placed; null where nothing says so.
ShardingAttr getPlacement(Value value);

/// Whether an axis of one list is, or overlaps, an axis of the other.
bool anyOverlap(ArrayRef<AxisRefAttr> a, ArrayRef<AxisRefAttr> b);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_PLACEMENT_H
