//===- FamiliesElements.cpp - Constants and single elements ---------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "test/generator/RandomProgram.h"

using namespace mlir;
using namespace mlir::dist::test;

/// Tensors made from nothing, and what works on them.
bool mlir::dist::test::makeConstant(RandomProgram &p) {
  SmallVector<int64_t> shape = p.pickShape(0, 3);
  Type element = p.pickElementType();
  switch (p.c.below(4)) {
  case 0:
    p.constant(shape, element);
    return true;
  case 1:
    p.add(tensor::SplatOp::create(p.b, p.loc, p.scalar(element, 1),
                                  RankedTensorType::get(shape, element)),
          {1, 0});
    return true;
  case 2:
    p.add(p.filled(shape, element, 1), {1, 0});
    return true;
  default: { // iota along one dimension
    if (shape.empty() || element.isInteger(1))
      return false;
    auto generate = tensor::GenerateOp::create(
        p.b, p.loc, RankedTensorType::get(shape, element), ValueRange(),
        [&](OpBuilder &b, Location loc, ValueRange indices) {
          Value number = indices[p.c.below(indices.size())];
          if (isa<FloatType>(element)) {
            number = arith::IndexCastOp::create(b, loc, b.getI64Type(), number);
            number = arith::SIToFPOp::create(b, loc, element, number);
          } else {
            number = arith::IndexCastOp::create(b, loc, element, number);
          }
          tensor::YieldOp::create(b, loc, number);
        });
    p.add(generate, {16, 0});
    return true;
  }
  }
}

/// Single elements: read, written, made into tensors; diagonals.
bool mlir::dist::test::makeElement(RandomProgram &p) {
  Value x = p.pickTensor(0, 3);
  RankedTensorType type = p.typeOf(x);
  Type element = type.getElementType();
  if (type.getNumElements() == 0)
    return false;
  auto pickIndices = [&](Value tensor) {
    SmallVector<Value> indices;
    for (int64_t size : p.typeOf(tensor).getShape())
      indices.push_back(
          arith::ConstantIndexOp::create(p.b, p.loc, p.c.below(size)));
    return indices;
  };
  unsigned which = p.c.below(6);
  if (which == 0) { // the trace, or the diagonal
    SmallVector<int64_t> square{p.pickSize()};
    square.push_back(square[0]);
    if (!isa<FloatType>(element))
      return false;
    Value matrix = p.getTensor(square, element);
    bool isTrace = p.c.chance(50);
    Value init =
        isTrace ? p.filled({}, element, 0) : p.empty(square[0], element);
    auto op = p.generic(
        {matrix}, {init},
        {p.map(1, {p.dim(0), p.dim(0)}),
         p.map(1, isTrace ? ArrayRef<AffineExpr>() : ArrayRef(p.dim(0)))},
        isTrace ? utils::IteratorType::reduction
                : utils::IteratorType::parallel,
        [&](OpBuilder &b, Location loc, ValueRange v) {
          Value out = v[0];
          if (isTrace)
            out = arith::AddFOp::create(b, loc, v[0], v[1]);
          linalg::YieldOp::create(b, loc, out);
        });
    Bounds range = p.rangeOf(matrix);
    range.bound *= std::max<int64_t>(1, square[0]);
    p.tame(p.add(op.getResult(0), range));
    return true;
  }
  Value one = tensor::ExtractOp::create(p.b, p.loc, x, pickIndices(x));
  Bounds range = p.rangeOf(x);
  switch (which) {
  case 1: {
    Value y = p.getTensor(type.getShape(), element);
    Bounds ry = p.rangeOf(y);
    p.add(tensor::InsertOp::create(p.b, p.loc, one, y, pickIndices(y)),
          {std::max(range.bound, ry.bound), std::max(range.grid, ry.grid)});
    return true;
  }
  case 2: {
    Value other = p.scalar(element, 1);
    p.add(
        tensor::FromElementsOp::create(p.b, p.loc, ValueRange{one, other, one}),
        {std::max(range.bound, 1.0), range.grid});
    return true;
  }
  case 3: {
    SmallVector<int64_t> shape = p.pickShape(1, 2);
    p.add(tensor::SplatOp::create(p.b, p.loc, one,
                                  RankedTensorType::get(shape, element)),
          range);
    return true;
  }
  case 4: {
    SmallVector<int64_t> shape = p.pickShape(1, 2);
    p.add(linalg::FillOp::create(p.b, p.loc, one, p.empty(shape, element))
              .getResult(0),
          range);
    return true;
  }
  default: { // read where an op's body says
    SmallVector<int64_t> shape = p.pickShape(1, 2);
    SmallVector<utils::IteratorType> loops(shape.size(),
                                           utils::IteratorType::parallel);
    SmallVector<Value> fixed = pickIndices(x);
    Value y = p.getTensor(shape, element);
    AffineMap all = p.b.getMultiDimIdentityMap(shape.size());
    Bounds out;
    auto op = p.generic(
        {y}, {p.empty(shape, element)}, {all, all}, loops,
        [&](OpBuilder &b, Location loc, ValueRange v) {
          Value read = tensor::ExtractOp::create(b, loc, x, fixed);
          linalg::YieldOp::create(
              b, loc,
              p.scalarOp(b, loc, {v[0], read}, {p.rangeOf(y), range}, out));
        });
    p.tame(p.add(op.getResult(0), out));
    return true;
  }
  }
}
