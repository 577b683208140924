//===- ScalarSemantics.cpp - What scalar ops do to pending reductions -----===//
//
// f commutes with a reduction R if f(R(x_1 … x_n)) = R(f(x_1) … f(x_n)). For
// sums these are the linear functions; for maxima and minima the monotone ones.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

std::optional<ReductionKind> mlir::dist::getCombiner(Operation *op) {
  if (isa<arith::AddFOp, arith::AddIOp>(op))
    return ReductionKind::Sum;
  if (isa<arith::MulFOp, arith::MulIOp>(op))
    return ReductionKind::Prod;
  if (isa<arith::MaximumFOp, arith::MaxSIOp>(op))
    return ReductionKind::Max;
  if (isa<arith::MinimumFOp, arith::MinSIOp>(op))
    return ReductionKind::Min;
  if (isa<arith::AndIOp>(op))
    return ReductionKind::And;
  if (isa<arith::OrIOp>(op))
    return ReductionKind::Or;
  // Signed maxima of one bit order true before false.
  return std::nullopt;
}

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// Whether all elements are known and neither infinite nor NaN.
static bool isFinite(Value value) {
  Attribute known;
  if (!matchPattern(value, m_Constant(&known)))
    return false;
  if (auto number = dyn_cast<FloatAttr>(known))
    return number.getValue().isFinite();
  auto numbers = dyn_cast<DenseFPElementsAttr>(known);
  return numbers && llvm::all_of(numbers, [](const APFloat &number) {
           return number.isFinite();
         });
}

Dependence mlir::dist::propagateDependence(Operation *op,
                                           ArrayRef<Dependence> operands,
                                           ReductionKind kind) {
  using D = Dependence;
  if (llvm::all_of(operands, [](D d) { return d == D::None; }))
    return D::None;
  if (llvm::is_contained(operands, D::Mixed))
    return D::Mixed;
  auto commutesIf = [](bool condition) {
    return condition ? D::Commutes : D::Mixed;
  };
  bool allCommute =
      llvm::all_of(operands, [](D d) { return d == D::Commutes; });

  // The reduction's own combiner takes pending values on both sides.
  if (allCommute && operands.size() == 2 && getCombiner(op) == kind)
    return D::Commutes;
  if (isa<arith::SelectOp>(op)) {
    if (operands[0] != D::None)
      return D::Mixed;
    // Under a sum, zero is pending of any number of devices.
    auto ok = [&](unsigned i) {
      return operands[i] == D::Commutes ||
             (kind == ReductionKind::Sum && isZero(op->getOperand(i)));
    };
    return commutesIf(ok(1) && ok(2));
  }
  switch (kind) {
  case ReductionKind::Sum:
    if (isa<arith::SubFOp, arith::SubIOp>(op))
      return commutesIf(allCommute);
    if (isa<arith::AddFOp, arith::AddIOp>(op))
      return commutesIf(
          (operands[0] == D::Commutes || isZero(op->getOperand(0))) &&
          (operands[1] == D::Commutes || isZero(op->getOperand(1))));
    if (isa<arith::MulFOp, arith::MulIOp>(op))
      return commutesIf(operands[0] != operands[1]);
    if (isa<arith::DivFOp>(op))
      return commutesIf(operands[0] == D::Commutes && operands[1] == D::None);
    return commutesIf(isa<arith::NegFOp, arith::ExtFOp>(op));
  case ReductionKind::Max:
  case ReductionKind::Min:
    // Rounding is monotone, so max(x) + c is max(x + c) to the last bit. But c
    // must not be infinite, as the value of a device without elements is.
    if (isa<arith::AddFOp>(op))
      return commutesIf(
          (operands[0] == D::Commutes && isFinite(op->getOperand(1))) ||
          (operands[1] == D::Commutes && isFinite(op->getOperand(0))));
    if (isa<arith::SubFOp>(op))
      return commutesIf(operands[0] == D::Commutes &&
                        isFinite(op->getOperand(1)));
    return commutesIf(isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp>(op));
  default:
    return D::Mixed;
  }
}

void mlir::dist::forEachUnsafeOperand(
    Operation *op, function_ref<void(OpOperand &, int64_t)> visit) {
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    for (OpOperand &index : extract.getIndicesMutable())
      visit(index, 0);
    return;
  }
  if (auto check = dyn_cast<cf::AssertOp>(op)) {
    visit(check.getArgMutable(), 1);
    return;
  }
  // Loops need not end: padding goes through none.
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    visit(loop.getLowerBoundMutable(), 0);
    visit(loop.getUpperBoundMutable(), 0);
    visit(loop.getStepMutable(), 1);
    return;
  }
  if (auto loop = dyn_cast<scf::ConditionOp>(op)) {
    visit(loop.getConditionMutable(), 0);
    return;
  }
  // Nobody knows what a function does with its arguments.
  if (isa<CallOpInterface>(op)) {
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get().getType().isIntOrIndexOrFloat())
        visit(operand, 1);
    return;
  }
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp, index::ShlOp,
          index::ShrSOp, index::ShrUOp>(op)) {
    OpOperand &amount = op->getOpOperand(1);
    APInt known;
    if (!matchPattern(amount.get(), m_ConstantInt(&known)) ||
        known.uge(known.getBitWidth()))
      visit(amount, 0);
    return;
  }
  // A map may divide by its symbols.
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    if (!apply.getAffineMap().getResult(0).isPureAffine())
      for (OpOperand &symbol :
           op->getOpOperands().drop_front(apply.getAffineMap().getNumDims()))
        visit(symbol, 1);
    return;
  }
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
           arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp,
           index::DivSOp, index::DivUOp, index::RemSOp, index::RemUOp,
           index::CeilDivSOp, index::CeilDivUOp, index::FloorDivSOp,
           math::IPowIOp>(op))
    return;
  Attribute known;
  OpOperand &divisor = op->getOpOperand(1);
  if (matchPattern(divisor.get(), m_Constant(&known))) {
    if (auto splat = dyn_cast<SplatElementsAttr>(known))
      known = splat.getSplatValue<Attribute>();
    // The smallest number divided by -1 overflows, which traps as well.
    if (auto number = dyn_cast<IntegerAttr>(known);
        number && !number.getValue().isZero() && !number.getValue().isAllOnes())
      return;
  }
  visit(divisor, 1);
}

void mlir::dist::guardUnsafeOperands(OpBuilder &builder, Block &body,
                                     Value inside) {
  body.walk([&](Operation *nested) {
    forEachUnsafeOperand(nested, [&](OpOperand &operand, int64_t safe) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(nested);
      Location loc = nested->getLoc();
      Value number = createNumber(builder, loc, operand.get().getType(), safe);
      operand.set(
          arith::SelectOp::create(builder, loc, inside, operand.get(), number));
    });
  });
}
