//===- Contraction.cpp - Sums of products among linalg ops ----------------===//

#include "lowering/buffers/Contraction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::dist;

/// The block argument that `value` is, extensions aside; null otherwise.
static BlockArgument throughExtension(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

bool mlir::dist::isMultiplyAdd(Block &body) {
  Operation *yield = body.getTerminator();
  if (body.getNumArguments() != 3 || yield->getNumOperands() != 1)
    return false;
  auto add = yield->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  for (auto [sum, product] : {std::pair(add.getLhs(), add.getRhs()),
                              std::pair(add.getRhs(), add.getLhs())}) {
    auto multiply = product.getDefiningOp<arith::MulFOp>();
    if (sum != body.getArgument(2) || !multiply)
      continue;
    BlockArgument a = throughExtension(multiply.getLhs());
    BlockArgument b = throughExtension(multiply.getRhs());
    if (a && b && a.getOwner() == &body && b.getOwner() == &body &&
        a.getArgNumber() + b.getArgNumber() == 1)
      return true;
  }
  return false;
}

FailureOr<SmallVector<LoopKind>>
mlir::dist::matchContraction(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op->getNumRegions() != 1 || !isMultiplyAdd(*op.getBlock()))
    return failure();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<LoopKind> kinds;
  for (const AffineMap &map : maps)
    if (!map.isProjectedPermutation())
      return failure();
  for (unsigned loop = 0, end = op.getNumLoops(); loop < end; ++loop) {
    bool a = maps[0].isFunctionOfDim(loop), b = maps[1].isFunctionOfDim(loop),
         c = maps[2].isFunctionOfDim(loop);
    if (a && b && c)
      kinds.push_back(LoopKind::Batch);
    else if (a && c)
      kinds.push_back(LoopKind::M);
    else if (b && c)
      kinds.push_back(LoopKind::N);
    else if (a && b)
      kinds.push_back(LoopKind::K);
    else
      return failure();
  }
  // Without a sum it is an elementwise product, and fuses better as such.
  if (!llvm::is_contained(kinds, LoopKind::K))
    return failure();
  return kinds;
}
