//===- SinkHalos.cpp - Sums go home where rows are smallest ---------------===//
//
// The adjoint of HoistHalos. Ops that only add up, or move, rows after they
// were sent to their owners are moved before that.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/bounds/Bounds.h"
#include "passes/halos/HoistHalos.h"
#include "passes/halos/RowOps.h"
#include "passes/spmd/graph/PendingReductions.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether the op commutes with sums of tensors.
static bool isLinear(Operation *op) {
  auto nest = dyn_cast<linalg::LinalgOp>(op);
  if (!nest)
    return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
               tensor::ExtractSliceOp>(op);
  if (nest.getNumDpsInputs() != 1 || nest->getNumResults() != 1 ||
      nest->getNumRegions() != 1)
    return false;
  Block &body = *nest.getBlock();
  Value element = body.getArgument(0);
  Value made = body.getTerminator()->getOperand(0);
  if (made == element)
    return true;
  auto sum = made.getDefiningOp<arith::AddFOp>();
  return sum && llvm::is_contained(sum->getOperands(), element) &&
         llvm::is_contained(sum->getOperands(), body.getArgument(1)) &&
         isNeutral(nest.getDpsInits()[0], ReductionKind::Sum);
}

/// The only reader of the rows, and the rows that it computes; empty if it does
/// something else.
static std::optional<Rows> getNext(Rows rows) {
  if (!rows.first.hasOneUse())
    return std::nullopt;
  OpOperand &use = *rows.first.use_begin();
  Operation *op = use.getOwner();
  if (op->getBlock() != rows.first.getParentBlock() ||
      op->getNumResults() != 1 || !isLinear(op))
    return std::nullopt;
  Value result = op->getResult(0);
  int64_t rank = cast<RankedTensorType>(result.getType()).getRank();
  RowOperands wanted{{use.getOperandNumber(), rows.second}};
  for (int64_t dim = 0; dim < rank; ++dim)
    if (getRowOperands(op, dim) == wanted)
      return Rows{result, dim};
  return std::nullopt;
}

static void sink(HaloReduceOp op) {
  if (!cast<RankedTensorType>(op.getType()).hasStaticShape())
    return;
  int64_t dim = op.getDim();
  SmallVector<Rows> chain{{op.getResult(), dim}};
  size_t best = 0;
  while (chain.size() <= kMostSunkOps) {
    std::optional<Rows> next = getNext(chain.back());
    if (!next)
      break;
    chain.push_back(*next);
    if (getRowBytes(*next) < getRowBytes(chain[best]))
      best = chain.size() - 1;
  }
  if (best == 0)
    return;
  OpBuilder b(chain[best].first.getDefiningOp());
  Value wide = op.getOperand();
  int64_t more = cast<RankedTensorType>(wide.getType()).getDimSize(dim) -
                 cast<RankedTensorType>(op.getType()).getDimSize(dim);
  for (size_t i = 1; i <= best; ++i) {
    Operation *passed = chain[i].first.getDefiningOp();
    SmallVector<Value> operands(passed->getOperands());
    std::replace(operands.begin(), operands.end(), chain[i - 1].first, wide);
    wide = cloneOnRows(b, passed, operands, chain[i].second, more);
  }
  auto home = HaloReduceOp::create(
      b, op.getLoc(), chain[best].first.getType(), wide,
      b.getI64IntegerAttr(chain[best].second), op.getSizeAttr(),
      op.getLowAttr(), op.getHighAttr(), op.getPeriodicAttr(), op.getAxesAttr(),
      op.getMeshAttr(), op.getCauseAttr());
  if (Attribute scope = op->getDiscardableAttr(kScopeAttr))
    home->setDiscardableAttr(kScopeAttr, scope);
  chain[best].first.replaceAllUsesWith(home.getResult());
  for (const Rows &rows : llvm::reverse(ArrayRef(chain).take_front(best + 1)))
    rows.first.getDefiningOp()->erase();
}

void mlir::dist::sinkHalos(FunctionOpInterface function) {
  SmallVector<HaloReduceOp> ops;
  function.walk([&](HaloReduceOp op) { ops.push_back(op); });
  for (HaloReduceOp op : ops)
    sink(op);
}
