//===- Signs.cpp - Where negative integers may go -------------------------===//

#include "inputs/ranges/Signs.h"
#include "dialects/dist/IR/Dist.h"
#include "inputs/ranges/Values.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::ranges;

namespace {
/// Follows values to what they are used for.
struct SignFollower {
  ModuleOp module;
  llvm::SetVector<Value> reached = {};

  /// False where a use may need a value of at least 0.
  bool follow(OpOperand &use);
  bool followMove(OpOperand &use);
  bool followEnd(OpOperand &use);
  bool add(Value value) {
    reached.insert(value);
    return true;
  }
};
} // namespace

/// Ops on numbers whose operands may all be negative.
static bool takesAnySign(Operation *op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MaxSIOp,
             arith::MinSIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
             arith::ExtSIOp, arith::TruncIOp, arith::CmpIOp, arith::CmpFOp,
             arith::SelectOp, arith::SIToFPOp, arith::AddFOp, arith::SubFOp,
             arith::MulFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::ExtFOp, arith::TruncFOp,
             math::AbsIOp, math::AbsFOp, math::TanhOp, math::SinOp, math::CosOp,
             math::ErfOp, math::FloorOp, math::CeilOp, math::RoundOp,
             math::RoundEvenOp>(op);
}

/// Whether the other operand is of either sign, whatever this one is.
static bool isLostIn(OpOperand &use) {
  Operation *op = use.getOwner();
  if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op))
    return false;
  Value other = op->getOperand(1 - use.getOperandNumber());
  while (Value origin = findOrigin(other))
    other = origin;
  auto argument = dyn_cast<BlockArgument>(other);
  return argument && isa<FloatType>(getElementTypeOrSelf(argument)) &&
         isa<func::FuncOp>(argument.getOwner()->getParentOp());
}

bool SignFollower::followMove(OpOperand &use) {
  Operation *op = use.getOwner();
  // Sizes and places are of another element type, or no tensors.
  bool isData = op->getNumResults() == 1 &&
                getElementTypeOrSelf(use.get()) ==
                    getElementTypeOrSelf(op->getResult(0)) &&
                !use.get().getType().isIndex();
  if (auto gather = dyn_cast<tensor::GatherOp>(op))
    isData &= use.getOperandNumber() == 0;
  if (auto scatter = dyn_cast<tensor::ScatterOp>(op))
    isData &= use.get() != scatter.getIndices();
  return isData && add(op->getResult(0));
}

/// Terminators.
bool SignFollower::followEnd(OpOperand &use) {
  Operation *op = use.getOwner(), *parent = op->getParentOp();
  unsigned number = use.getOperandNumber();
  if (auto function = dyn_cast<func::FuncOp>(parent)) {
    module.walk([&](func::CallOp call) {
      if (call.getCallee() == function.getName())
        add(call.getResult(number));
    });
    return true;
  }
  if (auto loop = dyn_cast<scf::ForOp>(parent))
    add(loop.getRegionIterArg(number));
  return isa<scf::ForOp, scf::IfOp, linalg::LinalgOp>(parent) &&
         add(parent->getResult(number));
}

bool SignFollower::follow(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (op->hasTrait<OpTrait::IsTerminator>())
    return followEnd(use);
  if (isLostIn(use))
    return true;
  if (takesAnySign(op))
    return add(op->getResult(0));
  // What a bool is made of no longer matters, unless the program ends by it.
  if (isa<arith::ExtUIOp, arith::UIToFPOp>(op))
    return getElementTypeOrSelf(use.get()).isInteger(1) &&
           add(op->getResult(0));
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::ShLIOp,
          arith::ShRSIOp, arith::DivFOp>(op))
    return number == 0 && add(op->getResult(0));
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return add(structured.getMatchingBlockArgument(&use));
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto function = module.lookupSymbol<func::FuncOp>(call.getCallee());
    return function && !function.isExternal() &&
           add(function.getArgument(number));
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    BlockArgument carried = loop.getTiedLoopRegionIterArg(&use);
    return carried && add(carried) && add(loop.getTiedLoopResult(&use));
  }
  if (isa<scf::IfOp>(op))
    return true;
  return isa_and_nonnull<tensor::TensorDialect, DistDialect>(
             op->getDialect()) &&
         followMove(use);
}

bool ranges::takesBothSigns(ModuleOp module, Value argument) {
  SignFollower follower{module};
  follower.add(argument);
  for (size_t i = 0; i < follower.reached.size(); ++i)
    for (OpOperand &use : follower.reached[i].getUses())
      if (!follower.follow(use))
        return false;
  return true;
}
