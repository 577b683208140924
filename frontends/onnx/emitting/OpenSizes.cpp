//===- OpenSizes.cpp - Open sizes as values -------------------------------===//
//
// Each is computed once, where the function starts, of the arguments' sizes.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::dist::frontend;

Shape Emitter::shapeOf(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return Shape();
  if (type.hasStaticShape())
    return Shape(type.getShape());
  auto it = openShapes.find(value);
  if (it == openShapes.end())
    llvm::report_fatal_error("a value whose open sizes were not remembered");
  return it->second;
}

Value Emitter::note(Value value, ArrayRef<int64_t> shape) {
  if (hasOpen(shape))
    openShapes[value] = Shape(shape);
  return value;
}

Value Emitter::addArgument(Block *block, ArrayRef<int64_t> shape, Type element,
                           Location location) {
  BlockArgument argument =
      block->addArgument(tensorType(shape, element), location);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!isOpen(size))
      continue;
    const Sizes::Polynomial &polynomial = sizes.polynomialOf(size);
    const auto &[monomial, coefficient] = *polynomial.begin();
    if (polynomial.size() == 1 && monomial.size() == 1 && coefficient == 1)
      origins.try_emplace(monomial.front(), argument, dim);
  }
  sizeBlock = block;
  return note(argument, shape);
}

//===----------------------------------------------------------------------===//
// Computing them
//===----------------------------------------------------------------------===//

Value Emitter::computeAtom(int number) {
  if (Value value = atomValues.lookup(number))
    return value;
  const Sizes::Atom atom = sizes.getAtom(number);
  Value value;
  if (atom.kind == Sizes::Atom::Named) {
    auto [argument, dim] = origins.lookup(number);
    if (!argument)
      llvm::report_fatal_error("an open size that no argument has");
    Value index = arith::ConstantIndexOp::create(builder, loc, dim);
    value = tensor::DimOp::create(builder, loc, argument, index);
  } else {
    Value a = computeSize(atom.a), b = computeSize(atom.b);
    if (atom.kind == Sizes::Atom::FloorDiv)
      value = arith::FloorDivSIOp::create(builder, loc, a, b);
    else if (atom.kind == Sizes::Atom::Min)
      value = arith::MinSIOp::create(builder, loc, a, b);
    else
      value = arith::MaxSIOp::create(builder, loc, a, b);
  }
  return atomValues[number] = value;
}

Value Emitter::computeSize(int64_t size) {
  if (!isOpen(size))
    return arith::ConstantIndexOp::create(builder, loc, size);
  if (Value value = sizeValues.lookup(size))
    return value;
  Value sum;
  for (const auto &[monomial, coefficient] : sizes.polynomialOf(size)) {
    Value product;
    for (int atom : monomial) {
      Value factor = computeAtom(atom);
      product = product ? arith::MulIOp::create(builder, loc, product, factor)
                        : factor;
    }
    if (!product || coefficient != 1) {
      Value number = arith::ConstantIndexOp::create(builder, loc, coefficient);
      product = product ? arith::MulIOp::create(builder, loc, product, number)
                        : number;
    }
    sum = sum ? arith::AddIOp::create(builder, loc, sum, product) : product;
  }
  return sizeValues[size] = sum;
}

Value Emitter::sizeValue(int64_t size) {
  if (!isOpen(size))
    return scalarInt(builder.getIndexType(), size);
  if (Value value = sizeValues.lookup(size))
    return value;
  // They belong to no module.
  OpBuilder::InsertionGuard guard(builder);
  llvm::SaveAndRestore noScope(scopeAttr, builder.getStringAttr(""));
  if (lastSize)
    builder.setInsertionPointAfter(lastSize);
  else
    builder.setInsertionPointToStart(sizeBlock);
  Value value = computeSize(size);
  // What was made last stands last, unless nothing was made.
  if (builder.getInsertionPoint() != sizeBlock->begin())
    lastSize = &*std::prev(builder.getInsertionPoint());
  return value;
}

Value Emitter::sizeValue(int64_t size, Type type) {
  if (!isOpen(size))
    return scalarInt(type, size);
  Value value = sizeValue(size);
  if (isa<IndexType>(type))
    return value;
  Type integer = isa<FloatType>(type) ? builder.getI64Type() : type;
  value = arith::IndexCastOp::create(builder, loc, integer, value);
  if (isa<FloatType>(type))
    value = arith::SIToFPOp::create(builder, loc, type, value);
  return value;
}

void Emitter::checkAtLeast(int64_t a, int64_t b, const Twine &message) {
  Value holds = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                      sizeValue(a), sizeValue(b));
  cf::AssertOp::create(builder, loc, holds, message.str());
}

SmallVector<Value> Emitter::openSizes(ArrayRef<int64_t> shape) {
  SmallVector<Value> values;
  for (int64_t size : shape)
    if (isOpen(size))
      values.push_back(sizeValue(size));
  return values;
}

std::array<Value, 4> Emitter::randomWords(LoopScalar &scalar, Value seed,
                                          Value step, int64_t number,
                                          ArrayRef<int64_t> shape) {
  SmallVector<int64_t> sizes;
  for (int64_t size : shape)
    sizes.push_back(isOpen(size) ? ShapedType::kDynamic : size);
  return scalar.randomWords(seed, step, number, sizes, openSizes(shape));
}

SmallVector<OpFoldResult> Emitter::mixed(ArrayRef<int64_t> list) {
  SmallVector<OpFoldResult> result;
  for (int64_t size : list) {
    if (isOpen(size))
      result.push_back(sizeValue(size));
    else
      result.push_back(builder.getIndexAttr(size));
  }
  return result;
}
