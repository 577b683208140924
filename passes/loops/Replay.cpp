//===- Replay.cpp - What backward reads of a forward region ---------------===//

#include "passes/loops/Replay.h"
#include "dialects/dist/IR/Gradients.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether an op costs next to nothing: a scalar one, or one that names a part
/// of a tensor or fills it.
static bool costsNothing(Operation *op) {
  if (!isPure(op))
    return false;
  if (isa<tensor::EmptyOp, linalg::FillOp, tensor::ExtractSliceOp,
          tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return true;
  return op->getNumRegions() == 0 &&
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<ShapedType>);
}

Replay::Replay(Region &forward, Region &backward, Value known)
    : backward(backward) {
  auto isWithin = [&](Value value) {
    return forward.isAncestor(value.getParentRegion());
  };
  llvm::DenseSet<Value> read;
  SmallVector<FollowOp> wishes;
  backward.walk([&](Operation *op) {
    auto follow = dyn_cast<FollowOp>(op);
    if (follow && isWithin(follow.getLeader())) {
      wishes.push_back(follow);
      if (isWithin(follow.getOperand()))
        read.insert(follow.getOperand());
      return;
    }
    for (Value operand : op->getOperands())
      if (isWithin(operand))
        read.insert(operand);
  });
  for (FollowOp follow : wishes) {
    follow.replaceAllUsesWith(follow.getOperand());
    follow.erase();
  }
  // Values that can be recomputed from available ones.
  Block &block = forward.front();
  llvm::DenseSet<Value> available;
  if (known)
    available.insert(known);
  auto isAvailable = [&](Value value) {
    return !isWithin(value) || available.contains(value);
  };
  for (Operation &op : block)
    if (costsNothing(&op) && llvm::all_of(op.getOperands(), isAvailable))
      available.insert_range(op.getResults());
  // Those of them that are needed.
  for (Operation &op : llvm::reverse(block)) {
    if (llvm::none_of(op.getResults(), [&](Value result) {
          return read.contains(result) && available.contains(result);
        }))
      continue;
    cheap.push_back(&op);
    for (Value operand : op.getOperands())
      if (isWithin(operand))
        read.insert(operand);
  }
  std::reverse(cheap.begin(), cheap.end());
  auto save = [&](Value value) {
    if (read.contains(value) && !available.contains(value))
      saved.insert(value);
  };
  llvm::for_each(block.getArguments(), save);
  for (Operation &op : block)
    llvm::for_each(op.getResults(), save);
}

void Replay::connect(OpBuilder &builder, IRMapping &mapping) {
  for (Operation *op : cheap)
    builder.clone(*op, mapping);
  backward.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(mapping.lookupOrDefault(operand.get()));
  });
}
