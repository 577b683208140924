//===- Reductions.cpp - What a loop of a linalg op accumulates ------------===//

#include "dialects/dist/Interfaces/Reductions.h"
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

TypedAttr mlir::dist::getNeutral(Builder &b, Type type, ReductionKind kind) {
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    auto getExtreme = [&](bool negative) {
      return APFloat::semanticsHasInf(semantics)
                 ? APFloat::getInf(semantics, negative)
                 : APFloat::getLargest(semantics, negative);
    };
    switch (kind) {
    case ReductionKind::Prod:
      return b.getFloatAttr(type, 1.0);
    case ReductionKind::Max:
      return b.getFloatAttr(type, getExtreme(true));
    case ReductionKind::Min:
      return b.getFloatAttr(type, getExtreme(false));
    default:
      return b.getFloatAttr(type, -0.0);
    }
  }
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  switch (kind) {
  case ReductionKind::Prod:
    return b.getIntegerAttr(type, APInt(width, 1));
  case ReductionKind::Max:
    return b.getIntegerAttr(type, APInt::getSignedMinValue(width));
  case ReductionKind::Min:
    return b.getIntegerAttr(type, APInt::getSignedMaxValue(width));
  case ReductionKind::And:
    return b.getIntegerAttr(type, APInt::getAllOnes(width));
  default:
    return b.getIntegerAttr(type, APInt::getZero(width));
  }
}
