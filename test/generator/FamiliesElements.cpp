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

/// Integer division by an argument that is nowhere zero.
bool mlir::dist::test::makeDivision(RandomProgram &p) {
  SmallVector<int64_t> shape = p.pickShape(1, 3);
  Type type = p.c.chance(50) ? p.b.getI64Type() : p.b.getI32Type();
  Value x = p.getTensor(shape, type);
  SmallVector<int64_t> divisorShape(shape);
  bool isWhole = p.c.chance(40);
  if (!isWhole && p.c.chance(50))
    divisorShape.pop_back();
  Value y = p.argument(divisorShape, type, {},
                       p.b.getNamedAttr(kNonZeroAttr, p.b.getUnitAttr()));
  unsigned which = p.c.below(6);
  auto divide = [&](OpBuilder &b, Location loc, Value a, Value c) -> Value {
    switch (which) {
    case 0:
      return arith::DivSIOp::create(b, loc, a, c);
    case 1:
      return arith::RemSIOp::create(b, loc, a, c);
    case 2:
      return arith::DivUIOp::create(b, loc, a, c);
    case 3:
      return arith::RemUIOp::create(b, loc, a, c);
    case 4:
      return arith::CeilDivSIOp::create(b, loc, a, c);
    default:
      return arith::FloorDivSIOp::create(b, loc, a, c);
    }
  };
  if (isWhole) {
    p.add(divide(p.b, p.loc, x, y), {});
    return true;
  }
  // Summed in the same body now and then.
  unsigned rank = shape.size();
  bool isSum = p.c.chance(40);
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  SmallVector<AffineExpr> exprs;
  for (unsigned i = 0; i < rank; ++i)
    exprs.push_back(p.dim(i));
  auto major = [&](ArrayRef<int64_t> part) {
    return p.map(rank, ArrayRef(exprs).take_front(part.size()));
  };
  SmallVector<int64_t> outShape(shape);
  if (isSum) {
    loops.back() = utils::IteratorType::reduction;
    outShape.pop_back();
  }
  Value init = p.filled(outShape, type, 0);
  auto op = p.generic({x, y}, {init},
                      {major(shape), major(divisorShape), major(outShape)},
                      loops, [&](OpBuilder &b, Location loc, ValueRange v) {
                        Value out = divide(b, loc, v[0], v[1]);
                        if (isSum)
                          out = arith::AddIOp::create(b, loc, out, v[2]);
                        linalg::YieldOp::create(b, loc, out);
                      });
  p.add(op.getResult(0), {});
  return true;
}

/// Reads at the places that another tensor holds.
bool mlir::dist::test::makeLookup(RandomProgram &p) {
  Value x = p.pickTensor(1, 2);
  RankedTensorType type = p.typeOf(x);
  if (type.getNumElements() == 0)
    return false;
  SmallVector<int64_t> shape = p.pickShape(1, 2);
  Value rows = p.argument(
      shape, p.b.getI64Type(), {},
      p.b.getNamedAttr(kBelowAttr, p.b.getI64IntegerAttr(type.getDimSize(0))));
  AffineMap all = p.b.getMultiDimIdentityMap(shape.size());
  SmallVector<utils::IteratorType> loops(shape.size(),
                                         utils::IteratorType::parallel);
  auto op =
      p.generic({rows}, {p.empty(shape, type.getElementType())}, {all, all},
                loops, [&](OpBuilder &b, Location loc, ValueRange v) {
                  SmallVector<Value> indices{arith::IndexCastOp::create(
                      b, loc, b.getIndexType(), v[0])};
                  if (type.getRank() == 2)
                    indices.push_back(arith::ConstantIndexOp::create(
                        b, loc, p.c.below(type.getDimSize(1))));
                  Value read = tensor::ExtractOp::create(b, loc, x, indices);
                  linalg::YieldOp::create(b, loc, read);
                });
  p.add(op.getResult(0), p.rangeOf(x));
  return true;
}
