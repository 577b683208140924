//===- AxisInTime.h - An axis of the mesh that is done in time --*- C++ -*-===//
//
// One device does the work of the devices along the axis, one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_OVERLAP_AXISINTIME_H
#define DIST_PASSES_OVERLAP_AXISINTIME_H

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Random.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dist {

/// The axis of a program of level 3.
class AxisInTime {
public:
  AxisInTime(FunctionOpInterface function, MeshOp mesh, MeshAxisAttr axis)
      : function(function), mesh(mesh), axis(axis) {}

  StringRef getName() const { return axis.getName(); }
  int64_t getSize() const { return axis.getSize(); }

  /// The sharding without the axis, and the dimension that the axis shards, or
  /// -1. The rest must keep the parts in their order: the axis is the last one
  /// of its dimension. Fails after an error that names `what`.
  FailureOr<ShardingAttr> removeAxis(ShardingAttr sharding, int64_t &dim,
                                     const Twine &what);

  /// Fails after an error if another function of the module has arguments or
  /// results that are sharded over the axis, or draws random numbers from
  /// streams of devices' own, which would be the same each time.
  LogicalResult checkModule();

  /// Arguments and results hold the parts of all devices along the axis. Gives
  /// the dimension of each in which these are, or -1. The function's body is
  /// left as it is, but for the arguments' types. Fails after an error where
  /// the axis does not divide a dimension.
  LogicalResult changeSignature(SmallVectorImpl<int64_t> &argumentDims,
                                SmallVectorImpl<int64_t> &resultDims);

  /// Whether the op, or one in it, sends along the axis or goes by the place
  /// along it.
  bool speaksOfAxis(Operation *op) const;

  /// The axes without this one, if it is the last of them: a device's data of
  /// all places along the axis is then contiguous, in their order.
  std::optional<SmallVector<AxisRefAttr>> getOthers(ArrayAttr axes) const;

private:
  FunctionOpInterface function;
  MeshOp mesh;
  MeshAxisAttr axis;
};

/// Whether values of the devices along an axis of the mesh may meet in the op,
/// or differ because of it.
bool speaksOfAxes(Operation *op);

/// `op` over `axes` alone, of `operand` if it is not null.
template <typename Op>
Op cloneOver(OpBuilder &builder, Op op, ArrayRef<AxisRefAttr> axes,
             Value operand, Type type) {
  auto made = cast<Op>(builder.clone(*op));
  made.setAxesAttr(ArrayAttr::get(
      builder.getContext(), SmallVector<Attribute>(axes.begin(), axes.end())));
  if (operand)
    made->setOperand(0, operand);
  made->getResult(0).setType(type);
  return made;
}

} // namespace mlir::dist

#endif // DIST_PASSES_OVERLAP_AXISINTIME_H
