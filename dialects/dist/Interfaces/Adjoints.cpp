//===- Adjoints.cpp - Cotangents of values, and who makes them ------------===//

#include "dialects/dist/Interfaces/Adjoints.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

#include "dialects/dist/Interfaces/DifferentiableOpInterface.cpp.inc"

bool mlir::dist::isDifferentiable(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type)) &&
         isa<FloatType, RankedTensorType>(type);
}

Value mlir::dist::createSum(OpBuilder &b, Location loc, Value left,
                            Value right) {
  auto type = dyn_cast<RankedTensorType>(left.getType());
  if (!type)
    return arith::AddFOp::create(b, loc, left, right);
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, left), type.getElementType());
  return linalg::GenericOp::create(
             b, loc, type, ValueRange{left, right}, empty,
             ArrayRef<AffineMap>{identity, identity, identity}, loops,
             [](OpBuilder &b, Location loc, ValueRange args) {
               Value sum = arith::AddFOp::create(b, loc, args[0], args[1]);
               linalg::YieldOp::create(b, loc, sum);
             })
      .getResult(0);
}

Value mlir::dist::createConstantLike(OpBuilder &b, Location loc, Value like,
                                     double number) {
  FloatAttr value =
      b.getFloatAttr(getElementTypeOrSelf(like.getType()), number);
  auto type = dyn_cast<RankedTensorType>(like.getType());
  if (!type)
    return arith::ConstantOp::create(b, loc, value);
  Value scalar = arith::ConstantOp::create(b, loc, value);
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, like), type.getElementType());
  return linalg::FillOp::create(b, loc, scalar, empty).getResult(0);
}

void Adjoints::add(OpBuilder &b, Location loc, Value value, Value cotangent) {
  if (!isActive(value))
    return;
  assert(cotangent.getType() == value.getType());
  Value &known = cotangents[value];
  known = known ? createSum(b, loc, known, cotangent) : cotangent;
}

bool mlir::dist::readsAny(Operation *op, function_ref<bool(Value)> matches) {
  return op
      ->walk([&](Operation *nested) {
        return llvm::any_of(nested->getOperands(), matches)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void Adjoints::spreadActivity(Block &block) {
  for (Operation &op : block)
    if (readsAny(&op, [&](Value operand) { return isActive(operand); }))
      for (Value result : op.getResults())
        if (isDifferentiable(result.getType()))
          setActive(result);
}

LogicalResult Adjoints::reverse(OpBuilder &b, ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops)) {
    if (llvm::none_of(op->getResults(),
                      [&](Value result) { return lookup(result); }))
      continue;
    auto iface = dyn_cast<DifferentiableOpInterface>(op);
    if (!iface)
      return op->emitOpError("has no derivative that is known: "
                             "DifferentiableOpInterface is to give it");
    Block *block = b.getInsertionBlock();
    bool isFirst = b.getInsertionPoint() == block->begin();
    auto before =
        isFirst ? b.getInsertionPoint() : std::prev(b.getInsertionPoint());
    if (failed(iface.addAdjoints(b, *this)))
      return failure();
    // What goes back through a module belongs to it.
    if (Attribute scope = op->getDiscardableAttr(kScopeAttr))
      for (Operation &made :
           llvm::make_range(isFirst ? block->begin() : std::next(before),
                            b.getInsertionPoint()))
        made.setDiscardableAttr(kScopeAttr, scope);
  }
  return success();
}
