//===- HostTensors.cpp - The interpreter's tensors as the runtime's -------===//

#include "test/lowering/oracle/HostTensors.h"
#include "dialects/dist/IR/Dist.h"
#include "lowering/rt/Rt.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;
namespace host = ::dist;

host::Tensor mlir::dist::test::toHost(const Tensor &tensor) {
  Type type = tensor.getElementType();
  auto dtype = static_cast<dist_dtype>(*rt::getDtype(type));
  ArrayRef<int64_t> shape = tensor.getShape();
  host::Tensor out = host::Tensor::zeros(dtype, {shape.begin(), shape.end()});
  char *data = static_cast<char *>(out.data);
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    Scalar value = tensor.read()[i];
    if (type.isInteger(1))
      value.i &= 1;
    host::convert(tensor.isFloat() ? DIST_F64 : DIST_I64, &value, dtype,
                  data + i * host::dtypeBytes(dtype), 1);
  }
  return out;
}

Tensor mlir::dist::test::fromHost(const host::Tensor &tensor,
                                  Type elementType) {
  Tensor out(elementType, tensor.shape);
  Scalar *values = out.write();
  const char *data = static_cast<const char *>(tensor.data);
  for (int64_t i = 0, e = out.getNumElements(); i < e; ++i) {
    host::convert(tensor.dtype, data + i * host::dtypeBytes(tensor.dtype),
                  out.isFloat() ? DIST_F64 : DIST_I64, &values[i], 1);
    if (elementType.isInteger(1))
      values[i].i = -values[i].i;
  }
  return out;
}

host::Mesh mlir::dist::test::describeMesh(ModuleOp module) {
  host::Mesh mesh;
  if (auto meshes = module.getOps<MeshOp>(); !meshes.empty())
    for (MeshAxisAttr axis : (*meshes.begin()).getAxes())
      mesh.axes.push_back({axis.getName().str(), axis.getSize()});
  return mesh;
}

host::TensorDesc mlir::dist::test::describeResult(func::FuncOp entry,
                                                  unsigned number,
                                                  const host::Mesh &mesh) {
  auto local = cast<RankedTensorType>(entry.getResultTypes()[number]);
  RankedTensorType global = local;
  if (auto type = entry.getResultAttrOfType<TypeAttr>(number, kGlobalTypeAttr))
    global = cast<RankedTensorType>(type.getValue());
  auto sharding =
      entry.getResultAttrOfType<ShardingAttr>(number, kShardingAttr);
  host::TensorDesc desc;
  desc.name = "result" + std::to_string(number);
  desc.kind = host::TensorDesc::Output;
  desc.dtype = static_cast<dist_dtype>(*rt::getDtype(local.getElementType()));
  desc.localShape.assign(local.getShape().begin(), local.getShape().end());
  desc.globalShape.assign(global.getShape().begin(), global.getShape().end());
  for (auto [dim, size] : llvm::enumerate(desc.globalShape)) {
    std::vector<host::SubDim> subDims;
    int64_t known = 1;
    for (SubDimAttr sub : sharding ? sharding.getDims()[dim].getSubDims()
                                   : ArrayRef<SubDimAttr>()) {
      host::SubDim subDim{sub.getSize(), {}};
      for (AxisRefAttr axis : sub.getAxes()) {
        host::AxisRef ref = mesh.whole(mesh.find(axis.getName().str()));
        if (axis.isSubAxis()) {
          ref.pre = axis.getPre();
          ref.rest = ref.size / (axis.getPre() * axis.getSize());
          ref.size = axis.getSize();
        }
        subDim.axes.push_back(ref);
      }
      known *= std::max<int64_t>(subDim.size, 1);
      subDims.push_back(subDim);
    }
    for (host::SubDim &subDim : subDims)
      if (subDim.size == 0)
        subDim.size = size / known;
    if (subDims.empty())
      subDims.push_back({size, {}});
    desc.dims.push_back(subDims);
  }
  return desc;
}
