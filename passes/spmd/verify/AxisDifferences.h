//===- AxisDifferences.h - Along what devices may differ --------*- C++ -*-===//
//
// What devices may see differently, exactly, also along parts of an axis that
// do not nest: of each axis of the mesh a partition of its coordinates. Devices
// whose coordinates are in the same class along every axis see the same.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_VERIFY_AXISDIFFERENCES_H
#define DIST_PASSES_SPMD_VERIFY_AXISDIFFERENCES_H

#include "dialects/dist/Interfaces/Placement.h"
#include <map>

namespace mlir::dist {

/// A partition for each axis of the mesh, by number; 0 is the one of a single
/// class. Empty: all devices see the same.
using Difference = SmallVector<unsigned, 4>;

/// The partitions of one program, and arithmetic on them.
class AxisDifferences {
public:
  explicit AxisDifferences(const MeshLayout &layout) : layout(layout) {}

  /// That of the devices' coordinates along `axes`.
  Difference of(ArrayRef<AxisRefAttr> axes);
  /// That of what depends on both.
  Difference join(const Difference &a, const Difference &b);
  /// Adds `b` to `a`; whether that changes it.
  bool add(Difference &a, const Difference &b);
  /// That of what the devices of each group along `axes` make together of what
  /// they have, all of them the same.
  Difference combine(const Difference &a, ArrayRef<AxisRefAttr> axes);
  /// Whether devices of one group along `axes` may see different things.
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
  /// What was computed of a partition and parts of one axis is kept.
  using Known = llvm::DenseMap<std::pair<unsigned, Attribute>, unsigned>;
  unsigned keep(Known &known, unsigned partition, ArrayRef<AxisRefAttr> parts,
                function_ref<unsigned()> compute);
  /// The partition of coordinates by their labels, none of which is greater
  /// than there are coordinates.
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
