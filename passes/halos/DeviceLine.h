//===- DeviceLine.h - Values along a line of devices ------------*- C++ -*-===//

#ifndef DIST_PASSES_HALOS_DEVICELINE_H
#define DIST_PASSES_HALOS_DEVICELINE_H

#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// The devices along the axes of an exchange, in a module of level 3. Tells
/// which values are equal on all of them, and how indices grow from one device
/// to the next.
class DeviceLine {
public:
  DeviceLine(ModuleOp module, const MeshLayout &layout, ArrayAttr axes);

  ArrayAttr getAxes() const { return axesAttr; }
  int64_t getDevices() const { return devices; }
  /// Whether a value is equal on the devices of the line. Only for values of
  /// the module as it was.
  bool isUniform(Value value) const { return uniform.contains(value); }
  /// The difference between neighbours of an index that is linear in the
  /// device's position on the line.
  std::optional<int64_t> getStep(Value index) const;
  /// Whether blocks of a dimension of `size` rows begin equally far apart.
  bool isEquallySpaced(int64_t size) const;
  /// Whether one of `others` is one of the line's axes, or a part of one.
  bool isCrossedBy(ArrayRef<AxisRefAttr> others) const;

private:
  /// AxisStrides along each axis.
  using AxisStrides = SmallVector<int64_t, 2>;
  std::optional<AxisStrides> getSteps(Value index, unsigned depth) const;

  ArrayAttr axesAttr;
  const MeshLayout &layout;
  SmallVector<AxisRefAttr> axes;
  SmallVector<int64_t> sizes;
  int64_t devices = 1;
  llvm::DenseSet<Value> uniform;
};

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_DEVICELINE_H
