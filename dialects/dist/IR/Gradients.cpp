//===- Gradients.cpp - The verifiers of gradients' ops --------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistGradients.cpp.inc"

void mlir::dist::eraseBarriers(Operation *op) {
  op->walk([](OptimizationBarrierOp barrier) {
    barrier.getResult().replaceAllUsesWith(barrier.getOperand());
    barrier.erase();
  });
}

LogicalResult ScatterAddOp::verify() {
  RankedTensorType dest = getDest().getType(), source = getSource().getType(),
                   indices = getIndices().getType();
  if (indices.getRank() == 0 ||
      indices.getShape().back() != static_cast<int64_t>(getDims().size()))
    return emitOpError("has ")
           << getDims().size()
           << " dims, of which the last dimension of its indices, of type "
           << indices << ", has not as many";
  int64_t before = -1;
  for (int64_t dim : getDims()) {
    if (dim <= before || dim >= dest.getRank())
      return emitOpError("has dims [")
             << getDims() << "], which are to be dimensions of " << dest
             << " in increasing order";
    before = dim;
  }
  if (source != tensor::GatherOp::inferResultType(dest, indices, getDims(),
                                                  /*rankReduced=*/true) &&
      source != tensor::GatherOp::inferResultType(dest, indices, getDims(),
                                                  /*rankReduced=*/false))
    return emitOpError("adds ")
           << source << " to " << dest << ", from which " << indices
           << " gather "
           << tensor::GatherOp::inferResultType(dest, indices, getDims(),
                                                /*rankReduced=*/true);
  return success();
}
