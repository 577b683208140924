//===- SaturateCasts.cpp - Floats become the nearest integer of a type ----===//
//
// --dist-saturate-casts: casts from floats to integers with a result for every
// operand.
//
//===----------------------------------------------------------------------===//

#include "lowering/decompose/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <cmath>

namespace mlir::dist {
#define GEN_PASS_DEF_DISTSATURATECASTS
#include "lowering/decompose/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;

/// Only numbers of the type reach the cast; the others become its ends, and NaN
/// 0, as LLVM's saturating casts have it.
static void saturate(Operation *cast, bool isSigned) {
  OpOperand &operand = cast->getOpOperand(0);
  // Tensors are cast in bodies, by now.
  auto from = dyn_cast<FloatType>(operand.get().getType());
  auto to = dyn_cast<IntegerType>(cast->getResult(0).getType());
  if (!from || !to)
    return;
  ImplicitLocOpBuilder b(cast->getLoc(), cast);
  Value x = operand.get();
  // In narrower types the ends may be infinite.
  if (from.getWidth() < 32) {
    from = b.getF32Type();
    x = arith::ExtFOp::create(b, from, x);
  }
  unsigned width = to.getWidth();
  double beyond = std::ldexp(1.0, isSigned ? width - 1 : width);
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getFloatAttr(from, value));
  };
  auto integer = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(to, value));
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value bound) -> Value {
    return arith::CmpFOp::create(b, predicate, x, bound);
  };
  Value low = number(isSigned ? -beyond : 0), high = number(beyond);
  Value isLow = compare(arith::CmpFPredicate::OLT, low);
  Value isHigh = compare(arith::CmpFPredicate::OGE, high);
  Value isInside =
      arith::AndIOp::create(b, compare(arith::CmpFPredicate::OGE, low),
                            compare(arith::CmpFPredicate::OLT, high));
  operand.set(arith::SelectOp::create(b, isInside, x, number(0)));
  b.setInsertionPointAfter(cast);
  APInt least = isSigned ? APInt::getSignedMinValue(width) : APInt(width, 0);
  APInt most =
      isSigned ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width);
  Value upper =
      arith::SelectOp::create(b, isHigh, integer(most), cast->getResult(0));
  Value result = arith::SelectOp::create(b, isLow, integer(least), upper);
  cast->getResult(0).replaceAllUsesExcept(result, upper.getDefiningOp());
}

namespace {
struct SaturateCasts : dist::impl::DistSaturateCastsBase<SaturateCasts> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
        saturate(op, isa<arith::FPToSIOp>(op));
    });
  }
};
} // namespace
