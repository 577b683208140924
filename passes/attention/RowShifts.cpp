//===- RowShifts.cpp - Softmax of what is shifted already -----------------===//

#include "passes/attention/RowShifts.h"
#include "dialects/dist/Utils/DeadOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "passes/attention/ElementOf.h"
#include "passes/attention/Product.h"

using namespace mlir;
using namespace mlir::dist;

/// The dimension of its only input that the op takes the largest elements
/// along.
static std::optional<unsigned> getMaximumDim(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInputs() != 1 ||
      op->getNumResults() != 1 || op.getNumReductionLoops() != 1 ||
      !llvm::hasSingleElement(op.getBody()->without_terminator()))
    return std::nullopt;
  Operation *combine =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  Value start = getFilled(op.getDpsInits()[0]);
  AffineMap in = op.getIndexingMapsArray().front();
  if (!isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(combine) ||
      combine->getOperand(0) == combine->getOperand(1) || !start ||
      !(matchPattern(start, m_NegInfFloat()) ||
        matchPattern(start, m_NaNFloat())) ||
      !in.isPermutation())
    return std::nullopt;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      return in.getResultPosition(getAffineDimExpr(loop, op.getContext()));
  return std::nullopt;
}

/// If the op subtracts from each element of its first input the largest of its
/// row: the dimension of rows.
static std::optional<unsigned> getShiftedDim(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInputs() != 2 ||
      op->getNumResults() != 1 || op.getNumParallelLoops() != op.getNumLoops())
    return std::nullopt;
  Block &body = *op.getBody();
  auto less =
      body.getTerminator()->getOperand(0).getDefiningOp<arith::SubFOp>();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!less || !llvm::hasSingleElement(body.without_terminator()) ||
      less.getLhs() != body.getArgument(0) ||
      less.getRhs() != body.getArgument(1) || !maps[0].isIdentity() ||
      !maps[2].isIdentity())
    return std::nullopt;
  Value row = op.getInputs()[1];
  AffineMap place = maps[1];
  while (Operation *maker = row.getDefiningOp()) {
    AffineMap before = mapThroughUnitReshape(maker, place);
    if (!before)
      break;
    row = maker->getOperand(0);
    place = before;
  }
  auto largest = row.getDefiningOp<linalg::GenericOp>();
  std::optional<unsigned> dim =
      largest ? getMaximumDim(largest) : std::optional<unsigned>();
  if (!dim || largest.getInputs()[0] != op.getInputs()[0])
    return std::nullopt;
  // The row of the element itself.
  AffineMap in = largest.getIndexingMapsArray()[0],
            out = largest.getIndexingMapsArray()[1];
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getInputs()[0].getType()).getShape();
  for (auto [expr, at] :
       llvm::zip_equal(out.getResults(), place.getResults())) {
    std::optional<unsigned> own = in.getResultPosition(expr);
    if (!own ||
        (shape[*own] != 1 && at != getAffineDimExpr(*own, op.getContext())))
      return std::nullopt;
  }
  return dim;
}

/// Whether the use is that of a softmax along the dimension.
static bool isOfSoftmax(OpOperand &use, unsigned dim) {
  if (auto softmax = dyn_cast<linalg::SoftmaxOp>(use.getOwner()))
    return softmax.getInput() == use.get() && softmax.getDimension() == dim;
  auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
  if (!op || !op.isDpsInput(&use))
    return false;
  if (getMaximumDim(op) == dim)
    return true;
  BlockArgument element = op.getMatchingBlockArgument(&use);
  if (!element.hasOneUse() || op.getNumParallelLoops() != op.getNumLoops())
    return false;
  auto less = dyn_cast<arith::SubFOp>(*element.user_begin());
  return less && less.getLhs() == element && less->hasOneUse() &&
         isa<math::ExpOp>(*less->user_begin());
}

void mlir::dist::dropRowShifts(Operation *root) {
  SmallVector<Operation *> dropped;
  root->walk([&](linalg::GenericOp op) {
    std::optional<unsigned> dim = getShiftedDim(op);
    if (!dim || op->use_empty() ||
        !llvm::all_of(op->getUses(),
                      [&](OpOperand &use) { return isOfSoftmax(use, *dim); }))
      return;
    op->getResult(0).replaceAllUsesWith(op.getInputs()[0]);
    dropped.push_back(op);
  });
  eraseDead(dropped);
}
