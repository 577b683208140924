//===- RowOps.cpp - Ops that work row by row ------------------------------===//

#include "passes/halos/RowOps.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

int64_t mlir::dist::getRowBytes(Rows rows) {
  auto type = cast<RankedTensorType>(rows.first.getType());
  int64_t size = type.getDimSize(rows.second);
  return size == 0 ? 0 : getTensorBytes(type) / size;
}

/// The position of dimension `dim` of the wide side of a reshape, if it is
/// alone in its group, not counting dimensions of size 1; else -1.
static int64_t findGroup(ArrayRef<ReassociationIndices> groups,
                         RankedTensorType wide, int64_t dim) {
  for (auto [narrow, group] : llvm::enumerate(groups))
    if (llvm::is_contained(group, dim))
      return llvm::all_of(
                 group,
                 [&](int64_t d) { return d == dim || wide.getDimSize(d) == 1; })
                 ? static_cast<int64_t>(narrow)
                 : -1;
  return -1;
}

/// Whether zeros in some operands of the body give finite numbers: rows beyond
/// the ends of the line are zeros, and results for them are multiplied by zero.
static bool keepsNumbers(Block &body) {
  return llvm::all_of(body.without_terminator(), [](Operation &op) {
    return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
               arith::ExtFOp, arith::TruncFOp, arith::ConstantOp>(op);
  });
}

static std::optional<RowOperands> getLinalgRows(linalg::LinalgOp op,
                                                int64_t dim) {
  if (op->getNumResults() != 1 || !op.hasPureTensorSemantics() ||
      op->getNumRegions() != 1 || !keepsNumbers(*op.getBlock()))
    return std::nullopt;
  Operation *init = op.getDpsInits()[0].getDefiningOp();
  if (!isa_and_nonnull<tensor::EmptyOp, linalg::FillOp>(init))
    return std::nullopt;
  AffineMap out = op.getIndexingMapsArray().back();
  auto loop = dyn_cast<AffineDimExpr>(out.getResult(dim));
  if (!loop || !out.isProjectedPermutation() ||
      op.getIteratorTypesArray()[loop.getPosition()] !=
          utils::IteratorType::parallel)
    return std::nullopt;
  RowOperands operands;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    for (auto [place, expr] : llvm::enumerate(map.getResults())) {
      if (expr == loop)
        operands.push_back(
            {input->getOperandNumber(), static_cast<int64_t>(place)});
      else if (expr.isFunctionOfDim(loop.getPosition()))
        return std::nullopt;
    }
  }
  for (size_t i = 1; i < operands.size(); ++i)
    if (operands[i].first == operands[i - 1].first) // a diagonal
      return std::nullopt;
  return operands;
}

std::optional<RowOperands> mlir::dist::getRowOperands(Operation *op,
                                                      int64_t dim) {
  if (!op)
    return std::nullopt;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      linalgOp && !isa<linalg::FillOp>(op))
    return getLinalgRows(linalgOp, dim);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    int64_t narrow = findGroup(expand.getReassociationIndices(),
                               expand.getResultType(), dim);
    if (narrow >= 0 && expand.getResultType().hasStaticShape())
      return RowOperands{{0, narrow}};
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    SmallVector<ReassociationIndices> groups =
        collapse.getReassociationIndices();
    for (int64_t wide : groups[dim])
      if (collapse.getSrcType().getDimSize(wide) ==
              collapse.getResultType().getDimSize(dim) &&
          findGroup(groups, collapse.getSrcType(), wide) == dim)
        return RowOperands{{0, wide}};
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    RankedTensorType from = slice.getSourceType();
    if (from.getRank() == slice.getType().getRank() &&
        slice.getStaticOffsets()[dim] == 0 &&
        slice.getStaticSizes()[dim] == from.getDimSize(dim) &&
        slice.getStaticStrides()[dim] == 1)
      return RowOperands{{0, dim}};
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    if (static_cast<int64_t>(concat.getDim()) == dim)
      return std::nullopt;
    RowOperands operands;
    for (unsigned number = 0; number < op->getNumOperands(); ++number)
      operands.push_back({number, dim});
    return operands;
  }
  return std::nullopt;
}

Value mlir::dist::cloneOnRows(OpBuilder &b, Operation *op, ValueRange operands,
                              int64_t dim, int64_t more) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] += more;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    auto wider = tensor::ExpandShapeOp::create(
        b, op->getLoc(), type.clone(shape), operands[0],
        expand.getReassociationIndices());
    wider->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return wider;
  }
  // Before the op that goes into it.
  Value init;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    init =
        tensor::EmptyOp::create(b, op->getLoc(), shape, type.getElementType());
    if (auto fill = linalgOp.getDpsInits()[0].getDefiningOp<linalg::FillOp>())
      init = linalg::FillOp::create(b, op->getLoc(), fill.getInputs(), init)
                 .getResult(0);
  }
  Operation *wider = b.clone(*op);
  wider->setOperands(operands);
  wider->getResult(0).setType(type.clone(shape));
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(wider)) {
    SmallVector<int64_t> sizes(slice.getStaticSizes());
    sizes[dim] += more;
    slice.setStaticSizes(sizes);
  } else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(wider)) {
    wider->setOperand(linalgOp.getDpsInitOperand(0)->getOperandNumber(), init);
  }
  return wider->getResult(0);
}
