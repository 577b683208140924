//===- FamiliesControl.cpp - Loops, branches, calls -----------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "test/generator/RandomProgram.h"

using namespace mlir;
using namespace mlir::dist::test;

/// Floats that went around a loop: bounded, and nothing more is known.
static constexpr Bounds kCarried{2, 1000};

static Value index(RandomProgram &p, int64_t value) {
  return arith::ConstantIndexOp::create(p.b, p.loc, value);
}

/// A value of that type made since `visible`, else one computed from `from`.
static Value pickYield(RandomProgram &p, Value from, size_t visible) {
  Value out;
  if (p.c.chance(80))
    for (Value value : llvm::reverse(p.values))
      if (value.getType() == from.getType() &&
          value.getParentBlock() == p.b.getInsertionBlock() && value != from) {
        out = value;
        break;
      }
  if (!out) {
    Bounds unused;
    out = p.scalarOp(p.b, p.loc, {from, from}, {kCarried, kCarried}, unused);
  }
  if (isa<FloatType>(p.typeOf(from).getElementType()))
    out = math::TanhOp::create(p.b, p.loc, out);
  return out;
}

/// Tensors that enter a loop.
static SmallVector<Value> pickCarried(RandomProgram &p) {
  SmallVector<Value> inits;
  for (unsigned i = 1 + p.c.below(2); i > 0; --i)
    inits.push_back(p.tame(p.pickTensor(0, 3)));
  // An accumulator that nothing places.
  if (p.c.chance(20)) {
    RankedTensorType type = p.typeOf(inits[0]);
    inits.push_back(p.filled(type.getShape(), type.getElementType(), 0));
  }
  return inits;
}

bool mlir::dist::test::makeLoop(RandomProgram &p) {
  if (p.depth > 1)
    return false;
  SmallVector<Value> inits = pickCarried(p);
  Value low = index(p, 0), high = index(p, p.c.below(4)), step = index(p, 1);
  auto loop = scf::ForOp::create(p.b, p.loc, low, high, step, inits);
  p.scope([&] {
    p.b.setInsertionPointToStart(loop.getBody());
    size_t visible = p.values.size();
    for (Value argument : loop.getRegionIterArgs())
      p.add(argument, kCarried);
    p.grow(1 + p.c.below(3));
    SmallVector<Value> yields;
    for (Value argument : loop.getRegionIterArgs())
      yields.push_back(pickYield(p, argument, visible));
    scf::YieldOp::create(p.b, p.loc, yields);
  });
  for (Value result : loop.getResults())
    p.add(result, kCarried);
  return true;
}

bool mlir::dist::test::makeWhile(RandomProgram &p) {
  if (p.depth > 1)
    return false;
  SmallVector<Value> inits = pickCarried(p);
  inits.insert(inits.begin(), index(p, 0));
  Value limit = index(p, p.c.below(4)), one = index(p, 1);
  SmallVector<Type> types;
  for (Value init : inits)
    types.push_back(init.getType());
  auto loop = scf::WhileOp::create(
      p.b, p.loc, types, inits,
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        Value goes = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                           arguments[0], limit);
        scf::ConditionOp::create(b, loc, goes, arguments);
      },
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        p.scope([&] {
          p.b.setInsertionPointToEnd(arguments[0].getParentBlock());
          size_t visible = p.values.size();
          for (Value argument : arguments.drop_front())
            p.add(argument, kCarried);
          p.grow(1 + p.c.below(2));
          SmallVector<Value> yields{
              arith::AddIOp::create(p.b, p.loc, arguments[0], one)};
          for (Value argument : arguments.drop_front())
            yields.push_back(pickYield(p, argument, visible));
          scf::YieldOp::create(p.b, p.loc, yields);
        });
      });
  for (Value result : loop.getResults().drop_front())
    p.add(result, kCarried);
  return true;
}

/// A condition: an element of a tensor, compared.
static Value pickCondition(RandomProgram &p) {
  Type i64 = p.b.getI64Type();
  Value tensor = p.getTensor(
      p.c.chance(50) ? ArrayRef<int64_t>{2} : ArrayRef<int64_t>{}, i64);
  SmallVector<Value> indices;
  if (p.typeOf(tensor).getRank())
    indices.push_back(index(p, p.c.below(2)));
  Value element = tensor::ExtractOp::create(p.b, p.loc, tensor, indices);
  Value zero = arith::ConstantOp::create(p.b, p.loc, p.b.getI64IntegerAttr(2));
  return arith::CmpIOp::create(p.b, p.loc, arith::CmpIPredicate::slt, element,
                               zero);
}

bool mlir::dist::test::makeBranch(RandomProgram &p) {
  if (p.depth > 1)
    return false;
  SmallVector<Value> carried = pickCarried(p);
  Value condition = pickCondition(p);
  SmallVector<Type> types;
  for (Value value : carried)
    types.push_back(value.getType());
  auto branch = scf::IfOp::create(p.b, p.loc, types, condition, true);
  for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
    p.scope([&] {
      if (region->empty())
        p.b.createBlock(region);
      p.b.setInsertionPointToStart(&region->front());
      size_t visible = p.values.size();
      // One of the ways may do nothing.
      bool isIdle = p.c.chance(30);
      if (!isIdle)
        p.grow(1 + p.c.below(2));
      SmallVector<Value> yields;
      for (Value value : carried)
        yields.push_back(isIdle ? value : pickYield(p, value, visible));
      scf::YieldOp::create(p.b, p.loc, yields);
    });
  for (auto [result, value] : llvm::zip_equal(branch.getResults(), carried)) {
    Bounds bounds = p.rangeOf(value);
    p.add(result, {std::max(2.0, bounds.bound), 1000});
  }
  return true;
}

bool mlir::dist::test::makeCall(RandomProgram &p) {
  if (p.depth > 0 || p.functions > 1)
    return false;
  func::FuncOp caller = p.function;
  func::FuncOp callee =
      p.makeFunction("f" + std::to_string(p.functions++), true);
  SmallVector<Value> outside;
  std::swap(outside, p.values);
  SmallVector<Type> types;
  {
    OpBuilder::InsertionGuard guard(p.b);
    ++p.depth;
    p.function = callee;
    p.b.setInsertionPointToStart(&callee.getBody().front());
    p.grow(1 + p.c.below(3));
    if (p.values.empty())
      p.pickTensor();
    SmallVector<Value> results{p.tame(p.values.back())};
    if (p.c.chance(30))
      results.push_back(p.tame(p.values.front()));
    for (Value result : results)
      types.push_back(result.getType());
    func::ReturnOp::create(p.b, p.loc, results);
    callee.setType(p.b.getFunctionType(
        callee.getBody().front().getArgumentTypes(), types));
    p.function = caller;
    --p.depth;
  }
  p.values = outside;
  for (unsigned calls = 1 + p.c.below(2); calls > 0; --calls) {
    SmallVector<Value> operands;
    for (BlockArgument argument : callee.getArguments()) {
      auto type = cast<RankedTensorType>(argument.getType());
      unsigned number = argument.getArgNumber();
      ArrayRef<NamedAttribute> attrs =
          cast<FunctionOpInterface>(callee.getOperation()).getArgAttrs(number);
      // What is known of the argument must hold for the operand.
      if (!attrs.empty())
        operands.push_back(p.argument(type.getShape(), type.getElementType(),
                                      p.rangeOf(argument), attrs));
      else if (isa<FloatType>(type.getElementType()))
        operands.push_back(p.argument(type.getShape(), type.getElementType()));
      else
        operands.push_back(p.getTensor(type.getShape(), type.getElementType()));
    }
    auto call = func::CallOp::create(p.b, p.loc, callee, operands);
    for (Value result : call.getResults())
      p.add(result, {64, 1000});
  }
  return true;
}
