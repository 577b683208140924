//===- RowShifts.cpp - Softmax of what is shifted already -----------------===//

#include "passes/attention/RowShifts.h"
#include "dialects/dist/Utils/DeadOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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

/// If the subtraction, in the body of an elementwise op, is of an element and
/// the largest of its row: the dimension of rows.
static std::optional<unsigned> getShiftedDim(linalg::GenericOp op,
                                             arith::SubFOp less) {
  auto element = dyn_cast<BlockArgument>(less.getLhs()),
       shift = dyn_cast<BlockArgument>(less.getRhs());
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() || !element || !shift ||
      element == shift || element.getOwner() != op.getBody() ||
      shift.getOwner() != op.getBody() || !element.hasOneUse() ||
      !shift.hasOneUse())
    return std::nullopt;
  OpOperand *whole = op.getMatchingOpOperand(element),
            *rows = op.getMatchingOpOperand(shift);
  if (!op.isDpsInput(whole) || !op.isDpsInput(rows) ||
      !op.getMatchingIndexingMap(whole).isIdentity())
    return std::nullopt;
  Value row = rows->get();
  AffineMap place = op.getMatchingIndexingMap(rows);
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
  if (!dim || largest.getInputs()[0] != whole->get())
    return std::nullopt;
  // The row of the element itself.
  AffineMap in = largest.getIndexingMapsArray()[0],
            out = largest.getIndexingMapsArray()[1];
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(whole->get().getType()).getShape();
  for (auto [expr, at] :
       llvm::zip_equal(out.getResults(), place.getResults())) {
    std::optional<unsigned> own = in.getResultPosition(expr);
    if (!own ||
        (shape[*own] != 1 && at != getAffineDimExpr(*own, op.getContext())))
      return std::nullopt;
  }
  return dim;
}

/// The dimension of rows, if the op does nothing but subtract their largest
/// elements.
static std::optional<unsigned> getShiftedDim(linalg::GenericOp op) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  Block &body = *op.getBody();
  auto less =
      body.getTerminator()->getOperand(0).getDefiningOp<arith::SubFOp>();
  if (!less || !llvm::hasSingleElement(body.without_terminator()) ||
      op.getNumDpsInputs() != 2 ||
      !op.getIndexingMapsArray().back().isIdentity())
    return std::nullopt;
  return getShiftedDim(op, less);
}

/// Whether the use is in e^(x - the largest of x along the dimension), which is
/// the same for an x that is shifted by row.
static bool isOfShiftedExp(OpOperand &use, unsigned dim) {
  auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
  if (!op || !op.isDpsInput(&use))
    return false;
  BlockArgument argument = op.getMatchingBlockArgument(&use);
  if (!argument.hasOneUse())
    return false;
  auto less = dyn_cast<arith::SubFOp>(*argument.user_begin());
  return less && less->hasOneUse() &&
         isa<math::ExpOp>(*less->user_begin()) &&
         getShiftedDim(op, less) == dim;
}

/// Whether the largest elements, along the dimension, are read for nothing but
/// that.
static bool isReadByShiftedExps(Value largest, unsigned dim) {
  return llvm::all_of(largest.getUses(), [&](OpOperand &use) {
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(use.getOwner()))
      return isReadByShiftedExps(use.getOwner()->getResult(0), dim);
    return isOfShiftedExp(use, dim);
  });
}

/// Whether the use is that of a softmax along the dimension.
static bool isOfSoftmax(OpOperand &use, unsigned dim) {
  if (auto softmax = dyn_cast<linalg::SoftmaxOp>(use.getOwner()))
    return softmax.getInput() == use.get() && softmax.getDimension() == dim;
  auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
  if (op && op.isDpsInput(&use) && getMaximumDim(op) == dim)
    return isReadByShiftedExps(op->getResult(0), dim);
  return isOfShiftedExp(use, dim);
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
