//===- Devices.h - A simulated mesh, and who holds what ---------*- C++ -*-===//
//
// Written from docs/internals/levels.md, and on purpose not with the passes'
// own arithmetic: it is what that is checked against.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_GENERATOR_DEVICES_H
#define DIST_TEST_GENERATOR_DEVICES_H

#include "dialects/dist/IR/Dist.h"
#include "test/generator/Tensor.h"

namespace mlir::dist::test {

class Devices {
public:
  /// One device.
  Devices() = default;
  explicit Devices(ArrayRef<MeshAxisAttr> axes);

  int64_t getCount() const { return count; }
  int64_t getSize(AxisRefAttr axis) const;
  int64_t getSize(ArrayRef<AxisRefAttr> axes) const;
  /// Position of a device in its group, row-major over `axes`.
  int64_t getPosition(int64_t device, ArrayRef<AxisRefAttr> axes) const;
  /// The device of the same group at another position.
  int64_t moveTo(int64_t device, ArrayRef<AxisRefAttr> axes,
                 int64_t position) const;
  /// The group of a device, in order of positions.
  SmallVector<int64_t> getGroup(int64_t device,
                                ArrayRef<AxisRefAttr> axes) const;

  /// For every local index of a dimension: the global one, or -1 for padding.
  std::vector<int64_t> getGlobalIndices(DimShardingAttr dim, int64_t size,
                                        int64_t device) const;

  /// A device's part; what is padding is garbage.
  Tensor cut(const Tensor &whole, ShardingAttr sharding, int64_t device,
             Garbage &garbage) const;
  /// Puts the parts together. Where devices that hold the same element do not
  /// agree, `problem` says so.
  Tensor join(ArrayRef<Tensor> parts, Type elementType, ArrayRef<int64_t> shape,
              ShardingAttr sharding, std::string &problem) const;

private:
  struct Axis {
    StringRef name;
    int64_t size, stride;
  };
  /// The coordinate that a reference names is (device / stride) % size.
  std::pair<int64_t, int64_t> getDigit(AxisRefAttr axis) const;

  SmallVector<Axis, 3> axes;
  int64_t count = 1;
};

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_DEVICES_H
