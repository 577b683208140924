//===- WholeRows.cpp - Rows that every device has -------------------------===//

#include "passes/halos/WholeRows.h"
#include "dialects/dist/IR/Collectives.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

/// A slice's operand before blocks were made even by padding at the end of the
/// sliced dimension only. Null if there was no such padding.
static tensor::PadOp getPadding(AllSliceOp slice) {
  auto pad = slice.getOperand().getDefiningOp<tensor::PadOp>();
  if (!pad || !pad.getLow().empty() || !pad.getHigh().empty())
    return {};
  for (auto [place, low, high] :
       llvm::enumerate(pad.getStaticLow(), pad.getStaticHigh()))
    if (low != 0 ||
        (high != 0 && place != slice.getDim()))
      return {};
  return pad;
}

bool mlir::dist::isSliceOfWhole(Value local, int64_t dim, ArrayAttr axes) {
  auto slice = local.getDefiningOp<AllSliceOp>();
  return slice && static_cast<int64_t>(slice.getDim()) == dim &&
         slice.getAxes() == axes;
}

Value mlir::dist::getWholeRows(OpBuilder &builder, Value local, int64_t dim,
                               int64_t size, ArrayAttr axes) {
  auto slice = local.getDefiningOp<AllSliceOp>();
  if (!slice)
    return {};
  auto getSize = [&](Value value) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  };
  tensor::PadOp pad = getPadding(slice);
  if (isSliceOfWhole(local, dim, axes)) {
    Value whole = slice.getOperand();
    if (getSize(whole) != size && pad)
      whole = pad.getSource();
    return getSize(whole) == size ? whole : Value();
  }
  if (static_cast<int64_t>(slice.getDim()) == dim)
    return {};
  Value whole = getWholeRows(
      builder, pad ? pad.getSource() : slice.getOperand(), dim, size, axes);
  if (!whole)
    return {};
  auto again = [&](Operation *op) {
    Operation *made = builder.clone(*op);
    made->setOperand(0, whole);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = size;
    made->getResult(0).setType(type.clone(shape));
    whole = made->getResult(0);
  };
  if (pad)
    again(pad);
  again(slice);
  return whole;
}
