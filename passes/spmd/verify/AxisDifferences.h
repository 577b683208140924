//===- AxisDifferences.h - Axes along which devices may differ --*- C++ -*-===//
//
// Along which axes values may differ between devices. It is exact, also for
// parts of an axis that do not nest: for each axis of the mesh there is a
// partition of its coordinates. Devices whose coordinates are in the same class
// along every axis have equal values.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_VERIFY_AXISDIFFERENCES_H
#define DIST_PASSES_SPMD_VERIFY_AXISDIFFERENCES_H

#include "dialects/dist/Interfaces/Placement.h"
#include <map>

namespace mlir::dist {

/// A partition for each axis of the mesh, by number; 0 is the partition with a
/// single class. Empty: equal on all devices.
using Difference = SmallVector<unsigned, 4>;

/// The partitions of one program, and arithmetic on them.
class AxisDifferences {
public:
  explicit AxisDifferences(const MeshLayout &layout) : layout(layout) {}

  /// The partitions of the devices' coordinates along `axes`.
  Difference of(ArrayRef<AxisRefAttr> axes);
  /// The partitions of a value that depends on both.
  Difference join(const Difference &a, const Difference &b);
  /// Adds `b` to `a`; returns whether that changes `a`.
  bool add(Difference &a, const Difference &b);
  /// The partitions of the result if the devices of each group along `axes`
  /// combine their values and all get the same result.
  Difference combine(const Difference &a, ArrayRef<AxisRefAttr> axes);
  /// Whether devices of one group along `axes` may have different values.
  bool isWithin(const Difference &a, ArrayRef<AxisRefAttr> axes);

private:
  /// Classes of coordinates, numbered by their first ones.
  using Partition = std::vector<unsigned>;
  /// The same along one axis of the mesh.
  unsigned getCoordinates(size_t axis, ArrayRef<AxisRefAttr> parts);
  unsigned combineAlong(unsigned partition, size_t axis,
                        ArrayRef<AxisRefAttr> parts);
  bool isWithinAlong(unsigned partition, size_t axis,
                     ArrayRef<AxisRefAttr> parts);
  /// Caches results for a partition and parts of one axis.
  using Known = llvm::DenseMap<std::pair<unsigned, Attribute>, unsigned>;
  unsigned keep(Known &known, unsigned partition, ArrayRef<AxisRefAttr> parts,
                function_ref<unsigned()> compute);
  /// The partition of coordinates by their labels, which are less than the
  /// number of coordinates.
  unsigned intern(ArrayRef<unsigned> labels);
  /// Calls `action` with the coordinates of each group along parts of the axis
  /// of the mesh, in the order of the groups' own coordinates.
  void forEachGroup(size_t axis, ArrayRef<AxisRefAttr> parts,
                    function_ref<void(ArrayRef<int64_t>)> action);
  SmallVector<SmallVector<AxisRefAttr, 2>, 4>
  sortByAxis(ArrayRef<AxisRefAttr> axes);

  const MeshLayout &layout;
  std::map<Partition, unsigned> numbers;
  std::vector<const Partition *> partitions;
  std::map<std::pair<unsigned, unsigned>, unsigned> joined;
  Known coordinates, combined, within;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_VERIFY_AXISDIFFERENCES_H
