//===- Devices.cpp - A simulated mesh, and who holds what -----------------===//

#include "test/generator/Devices.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

Devices::Devices(ArrayRef<MeshAxisAttr> list) {
  for (MeshAxisAttr axis : list)
    axes.push_back({axis.getName(), axis.getSize(), 1});
  for (Axis &axis : llvm::reverse(axes)) {
    axis.stride = count;
    count *= axis.size;
  }
}

std::pair<int64_t, int64_t> Devices::getDigit(AxisRefAttr ref) const {
  for (const Axis &axis : axes) {
    if (axis.name != ref.getName())
      continue;
    if (!ref.isSubAxis())
      return {axis.stride, axis.size};
    // The axis as [pre, size, rest].
    int64_t rest = axis.size / (ref.getPre() * ref.getSize());
    return {axis.stride * rest, ref.getSize()};
  }
  llvm_unreachable("axes are verified");
}

int64_t Devices::getSize(AxisRefAttr axis) const {
  return getDigit(axis).second;
}

int64_t Devices::getSize(ArrayRef<AxisRefAttr> list) const {
  int64_t size = 1;
  for (AxisRefAttr axis : list)
    size *= getSize(axis);
  return size;
}

int64_t Devices::getPosition(int64_t device, ArrayRef<AxisRefAttr> list) const {
  int64_t position = 0;
  for (AxisRefAttr axis : list) {
    auto [stride, size] = getDigit(axis);
    position = position * size + device / stride % size;
  }
  return position;
}

int64_t Devices::moveTo(int64_t device, ArrayRef<AxisRefAttr> list,
                        int64_t position) const {
  for (AxisRefAttr axis : llvm::reverse(list)) {
    auto [stride, size] = getDigit(axis);
    device += (position % size - device / stride % size) * stride;
    position /= size;
  }
  return device;
}

SmallVector<int64_t> Devices::getGroup(int64_t device,
                                       ArrayRef<AxisRefAttr> list) const {
  SmallVector<int64_t> group;
  for (int64_t position = 0, e = getSize(list); position < e; ++position)
    group.push_back(moveTo(device, list, position));
  return group;
}

std::vector<int64_t> Devices::getGlobalIndices(DimShardingAttr dim,
                                               int64_t size,
                                               int64_t device) const {
  int64_t fixed = 1;
  for (SubDimAttr sub : dim.getSubDims())
    if (sub.getSize())
      fixed *= sub.getSize();
  std::vector<int64_t> out{0};
  for (SubDimAttr sub : dim.getSubDims()) {
    int64_t extent = sub.getSize() ? sub.getSize() : size / fixed;
    // Start and end of the block at every level: nested ceil blocks.
    int64_t start = 0, end = extent, block = extent;
    for (AxisRefAttr axis : sub.getAxes()) {
      block = llvm::divideCeil(block, getSize(axis));
      start += getPosition(device, axis) * block;
      end = std::min(end, start + block);
    }
    std::vector<int64_t> next;
    for (int64_t outer : out)
      for (int64_t i = start; i < start + block; ++i)
        next.push_back(outer < 0 || i >= end ? -1 : outer * extent + i);
    out = std::move(next);
  }
  return out;
}

/// Calls visit(local offset, global offset or -1) for every local element.
static void forEachElement(ArrayRef<std::vector<int64_t>> indices,
                           ArrayRef<int64_t> globalShape,
                           function_ref<void(int64_t, int64_t)> visit) {
  SmallVector<int64_t> shape, at(indices.size(), 0);
  for (const std::vector<int64_t> &list : indices)
    shape.push_back(list.size());
  if (llvm::is_contained(shape, 0))
    return;
  int64_t local = 0;
  do {
    int64_t global = 0;
    for (auto [dim, index] : llvm::enumerate(at)) {
      int64_t here = indices[dim][index];
      global = global < 0 || here < 0 ? -1 : global * globalShape[dim] + here;
    }
    visit(local++, global);
  } while (advance(at, shape));
}

Tensor Devices::cut(const Tensor &whole, ShardingAttr sharding, int64_t device,
                    Garbage &garbage) const {
  SmallVector<std::vector<int64_t>> indices;
  SmallVector<int64_t> shape;
  for (auto [dim, size] :
       llvm::zip_equal(sharding.getDims(), whole.getShape())) {
    indices.push_back(getGlobalIndices(dim, size, device));
    shape.push_back(indices.back().size());
  }
  Tensor out(whole.getElementType(), shape);
  Scalar *data = out.write();
  const Scalar *from = whole.read();
  forEachElement(indices, whole.getShape(), [&](int64_t local, int64_t global) {
    data[local] =
        global < 0 ? garbage.next(whole.getElementType()) : from[global];
  });
  return out;
}

Tensor Devices::join(ArrayRef<Tensor> parts, Type elementType,
                     ArrayRef<int64_t> shape, ShardingAttr sharding,
                     std::string &problem) const {
  Tensor out(elementType, shape);
  Scalar *data = out.write();
  std::vector<int64_t> owner(out.getNumElements(), -1);
  for (int64_t device = 0; device < count; ++device) {
    const Tensor &part = parts[device];
    SmallVector<std::vector<int64_t>> indices;
    SmallVector<int64_t> local;
    for (auto [dim, size] : llvm::zip_equal(sharding.getDims(), shape)) {
      indices.push_back(getGlobalIndices(dim, size, device));
      local.push_back(indices.back().size());
    }
    if (part.getShape() != ArrayRef(local)) {
      problem = "device " + std::to_string(device) + " holds " +
                printIndex(part.getShape()) + " where its placement says " +
                printIndex(local);
      return out;
    }
    const Scalar *from = part.read();
    forEachElement(indices, shape, [&](int64_t at, int64_t global) {
      if (global < 0)
        return;
      if (owner[global] < 0) {
        owner[global] = device;
        data[global] = from[at];
        return;
      }
      Tensor first = Tensor::scalar(elementType, data[global]);
      Tensor second = Tensor::scalar(elementType, from[at]);
      if (problem.empty() && findBitDifference(first, second))
        problem = "replicas differ: element " + std::to_string(global) +
                  " is " + printScalar(elementType, data[global]) +
                  " on device " + std::to_string(owner[global]) + ", " +
                  printScalar(elementType, from[at]) + " on device " +
                  std::to_string(device);
    });
  }
  for (int64_t i = 0, e = owner.size(); i < e; ++i)
    if (owner[i] < 0 && problem.empty())
      problem = "no device holds element " + std::to_string(i);
  return out;
}
