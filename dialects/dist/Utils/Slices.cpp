//===- Slices.cpp - Parts of one dimension --------------------------------===//

#include "dialects/dist/Utils/Slices.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

Value mlir::dist::sliceAlong(OpBuilder &b, Location loc, Value tensor,
                             int64_t dim, OpFoldResult offset, int64_t size) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (size == type.getDimSize(dim))
    return tensor;
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      ones(type.getRank(), b.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(b, loc, tensor);
  offsets[dim] = offset;
  sizes[dim] = b.getIndexAttr(size);
  return tensor::ExtractSliceOp::create(b, loc, tensor, offsets, sizes, ones);
}

Value mlir::dist::sliceAlong(OpBuilder &b, Location loc, Value tensor,
                             int64_t dim, int64_t offset, int64_t size) {
  return sliceAlong(b, loc, tensor, dim, OpFoldResult(b.getIndexAttr(offset)),
                    size);
}
