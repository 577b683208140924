//===- FamiliesElementwise.cpp - Work on one element at a time ------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "test/generator/RandomProgram.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist::test;

/// A constant of a scalar type, or one of a tensor type with it everywhere.
static Value constantLike(OpBuilder &b, Location loc, Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr number;
  if (isa<FloatType>(element))
    number = b.getFloatAttr(element, value);
  else
    number = IntegerAttr::get(
        element, APInt(element.isIndex() ? 64 : element.getIntOrFloatBitWidth(),
                       static_cast<int64_t>(value), true, true));
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    number = DenseElementsAttr::get(tensor, Attribute(number));
  return arith::ConstantOp::create(b, loc, number);
}

static Value floatOp(RandomProgram &p, OpBuilder &b, Location loc,
                     ValueRange xs, ArrayRef<Bounds> in, Bounds &out) {
  Value x = xs[0], y = xs.back();
  Bounds rx = in[0], ry = in.back();
  Type type = x.getType();
  Type element = getElementTypeOrSelf(type);
  out = {std::max(rx.bound, ry.bound), std::max(rx.grid, ry.grid)};
  bool isSmall = rx.bound < 1e3 && ry.bound < 1e3;
  switch (p.c.below(16)) {
  default:
    out.bound = rx.bound + ry.bound;
    return arith::AddFOp::create(b, loc, x, y);
  case 1:
    out.bound = rx.bound + ry.bound;
    return arith::SubFOp::create(b, loc, x, y);
  case 2:
  case 3:
    if (!isSmall)
      return arith::MaximumFOp::create(b, loc, x, y);
    out = {rx.bound * ry.bound, rx.grid + ry.grid};
    return arith::MulFOp::create(b, loc, x, y);
  case 4:
    return arith::MaximumFOp::create(b, loc, x, y);
  case 5:
    return arith::MinimumFOp::create(b, loc, x, y);
  case 6:
    out = rx;
    return arith::NegFOp::create(b, loc, x);
  case 7:
    out = rx;
    return math::AbsFOp::create(b, loc, x);
  case 8: { // relu
    out = rx;
    return arith::MaximumFOp::create(b, loc, x, constantLike(b, loc, type, 0));
  }
  case 9: { // a comparison, where rounding cannot turn it
    if (!rx.isExact(element) || !ry.isExact(element))
      return arith::MinNumFOp::create(b, loc, x, y);
    auto predicate =
        p.c.pick({arith::CmpFPredicate::OGT, arith::CmpFPredicate::OLE,
                  arith::CmpFPredicate::UNE, arith::CmpFPredicate::OEQ});
    Value is = arith::CmpFOp::create(b, loc, predicate, x, y);
    out.bound *= 2;
    return arith::SelectOp::create(b, loc, is, arith::NegFOp::create(b, loc, x),
                                   y);
  }
  case 10:
    out = {1, 1000};
    return math::TanhOp::create(b, loc, x);
  case 11: { // exp of what is not above 2
    out = {8, 1000};
    Value top = constantLike(b, loc, type, 2);
    return math::ExpOp::create(b, loc,
                               arith::MinimumFOp::create(b, loc, x, top));
  }
  case 12: { // x / (1 + y²)
    if (!isSmall)
      return arith::SubFOp::create(b, loc, x, y);
    out = {rx.bound, 1000};
    Value one = constantLike(b, loc, type, 1);
    Value square = arith::MulFOp::create(b, loc, y, y);
    return arith::DivFOp::create(b, loc, x,
                                 arith::AddFOp::create(b, loc, one, square));
  }
  case 13: { // rsqrt(1 + |x|)
    out = {1, 1000};
    Value one = constantLike(b, loc, type, 1);
    Value sum =
        arith::AddFOp::create(b, loc, one, math::AbsFOp::create(b, loc, x));
    return math::RsqrtOp::create(b, loc, sum);
  }
  case 14: { // scaled by a constant, on either side
    double factor = p.c.pick({0.5, 2.0, -1.0, 0.25});
    out = {rx.bound * 2, rx.grid + 2};
    Value scale = constantLike(b, loc, type, factor);
    if (p.c.chance(30))
      return arith::DivFOp::create(b, loc, x,
                                   constantLike(b, loc, type, 1 / factor));
    return p.c.chance(50) ? arith::MulFOp::create(b, loc, x, scale).getResult()
                          : arith::MulFOp::create(b, loc, scale, x).getResult();
  }
  case 15: // plus a constant: not linear
    out.bound = rx.bound + 1;
    out.grid = std::max(rx.grid, 1);
    return arith::AddFOp::create(b, loc, x, constantLike(b, loc, type, 0.5));
  }
}

static Value integerOp(RandomProgram &p, OpBuilder &b, Location loc,
                       ValueRange xs) {
  Value x = xs[0], y = xs.back();
  Type type = x.getType();
  if (getElementTypeOrSelf(type).isInteger(1)) {
    switch (p.c.below(4)) {
    case 0:
      return arith::AndIOp::create(b, loc, x, y);
    case 1:
      return arith::OrIOp::create(b, loc, x, y);
    case 2:
      return arith::XOrIOp::create(b, loc, x, constantLike(b, loc, type, -1));
    default:
      return arith::XOrIOp::create(b, loc, x, y);
    }
  }
  auto nonZero = [&] {
    return arith::OrIOp::create(b, loc, y, constantLike(b, loc, type, 1));
  };
  switch (p.c.below(14)) {
  default:
    return arith::AddIOp::create(b, loc, x, y);
  case 1:
    return arith::SubIOp::create(b, loc, x, y);
  case 2:
    return arith::MulIOp::create(b, loc, x, y);
  case 3:
    return arith::MaxSIOp::create(b, loc, x, y);
  case 4:
    return arith::MinSIOp::create(b, loc, x, y);
  case 5:
    return arith::XOrIOp::create(b, loc, x, y);
  case 6:
    return arith::AndIOp::create(b, loc, x, y);
  case 7:
    return arith::OrIOp::create(b, loc, x, y);
  case 8:
    return arith::FloorDivSIOp::create(b, loc, x, nonZero());
  case 9:
    return arith::RemSIOp::create(b, loc, x, nonZero());
  case 10:
    return arith::MaxUIOp::create(b, loc, x, y);
  case 11:
    return arith::ShRSIOp::create(b, loc, x, constantLike(b, loc, type, 1));
  case 12: {
    auto predicate =
        p.c.pick({arith::CmpIPredicate::slt, arith::CmpIPredicate::uge,
                  arith::CmpIPredicate::eq});
    Value is = arith::CmpIOp::create(b, loc, predicate, x, y);
    return arith::SelectOp::create(b, loc, is, y,
                                   constantLike(b, loc, type, 3));
  }
  case 13:
    return arith::MulIOp::create(b, loc, x, constantLike(b, loc, type, 3));
  }
}

Value RandomProgram::scalarOp(OpBuilder &builder, Location at,
                              ValueRange operands, ArrayRef<Bounds> in,
                              Bounds &out) {
  if (isa<FloatType>(getElementTypeOrSelf(operands[0].getType())))
    return floatOp(*this, builder, at, operands, in, out);
  out = {};
  return integerOp(*this, builder, at, operands);
}

/// Ops of arith and math on whole tensors.
bool mlir::dist::test::makeWholeTensor(RandomProgram &p) {
  Value x = p.pickTensor();
  RankedTensorType type = p.typeOf(x);
  Type element = type.getElementType();
  // Conversions, now and then.
  if (p.c.chance(20)) {
    Type f64 = p.b.getF64Type(), i64 = p.b.getI64Type();
    if (element.isInteger(1))
      p.add(arith::UIToFPOp::create(p.b, p.loc, type.clone(f64), x), {1, 0});
    else if (element == i64) // brought to few bits first
      p.add(arith::SIToFPOp::create(
                p.b, p.loc, type.clone(f64),
                arith::AndIOp::create(p.b, p.loc, x,
                                      constantLike(p.b, p.loc, type, 7))),
            {7, 0});
    else if (element.isF32() && p.rangeOf(x).isExact(element))
      // Else an f64 would carry the rounding of an f32.
      p.add(arith::ExtFOp::create(p.b, p.loc, type.clone(f64), x),
            p.rangeOf(x));
    else if (element.isF64() && p.rangeOf(x).isExact(element) &&
             p.rangeOf(x).bound < 1e6) {
      // The maximum of nothing is infinite, which no integer is.
      x = arith::MaximumFOp::create(p.b, p.loc, x,
                                    constantLike(p.b, p.loc, type, -1e6));
      x = arith::MinimumFOp::create(p.b, p.loc, x,
                                    constantLike(p.b, p.loc, type, 1e6));
      p.add(arith::FPToSIOp::create(p.b, p.loc, type.clone(i64), x), {});
    } else {
      return false;
    }
    return true;
  }
  if (p.c.chance(10) && !element.isInteger(1)) {
    // A select by a tensor of conditions, or by one for all.
    Value y = p.getTensor(type.getShape(), element);
    Value is;
    if (p.c.chance(70))
      is = p.getTensor(type.getShape(), p.b.getI1Type());
    else
      is = arith::ConstantOp::create(p.b, p.loc,
                                     p.b.getBoolAttr(p.c.chance(50)));
    Bounds rx = p.rangeOf(x), ry = p.rangeOf(y);
    p.add(arith::SelectOp::create(p.b, p.loc, is, x, y),
          {std::max(rx.bound, ry.bound), std::max(rx.grid, ry.grid)});
    return true;
  }
  Value y = p.c.chance(75) ? p.getTensor(type.getShape(), element) : x;
  Bounds out;
  Value made =
      p.scalarOp(p.b, p.loc, {x, y}, {p.rangeOf(x), p.rangeOf(y)}, out);
  p.tame(p.add(made, out));
  return true;
}

/// linalg.generic over parallel loops: broadcasts, permuted operands, several
/// results, indices.
bool mlir::dist::test::makeElementwise(RandomProgram &p) {
  Value first = p.pickTensor();
  RankedTensorType type = p.typeOf(first);
  Type element = type.getElementType();
  int64_t rank = type.getRank();
  SmallVector<int64_t> shape(type.getShape());
  // Loops are the result's dimensions, in another order now and then.
  SmallVector<int64_t> order(rank);
  for (int64_t i = 0; i < rank; ++i)
    order[i] = i;
  if (p.c.chance(30)) {
    auto other = p.c.permutation(rank);
    order.assign(other.begin(), other.end());
  }
  // Loop of each dimension of the first operand; a new loop is a broadcast.
  SmallVector<AffineExpr> firstMap, outMap;
  SmallVector<int64_t> loopSizes(rank);
  for (int64_t d = 0; d < rank; ++d) {
    firstMap.push_back(p.dim(order[d]));
    loopSizes[order[d]] = shape[d];
  }
  if (rank < 4 && p.c.chance(20))
    loopSizes.push_back(p.pickSize());
  unsigned loops = loopSizes.size();
  int64_t count = 1;
  for (int64_t size : loopSizes)
    count *= size;
  if (count > 2048)
    return false;
  for (unsigned i = 0; i < loops; ++i)
    outMap.push_back(p.dim(i));

  SmallVector<Value> inputs{first};
  SmallVector<AffineMap> maps{p.map(loops, firstMap)};
  SmallVector<Bounds> in{p.rangeOf(first)};
  for (unsigned extra = p.c.below(3); extra > 0; --extra) {
    // Some of the loops, in any order.
    SmallVector<AffineExpr> exprs;
    SmallVector<int64_t> sizes;
    for (int64_t loop : p.c.permutation(p.c.chance(70) ? 0 : loops))
      if (p.c.chance(60)) {
        exprs.push_back(p.dim(loop));
        sizes.push_back(loopSizes[loop]);
      }
    if (exprs.empty() && p.c.chance(80))
      for (unsigned loop = 0; loop < loops; ++loop)
        if (p.c.chance(70)) {
          exprs.push_back(p.dim(loop));
          sizes.push_back(loopSizes[loop]);
        }
    Value other = p.getTensor(sizes, element);
    inputs.push_back(other);
    maps.push_back(p.map(loops, exprs));
    in.push_back(p.rangeOf(other));
  }
  unsigned results = p.c.chance(15) ? 2 : 1;
  SmallVector<Value> inits;
  for (unsigned i = 0; i < results; ++i) {
    SmallVector<AffineExpr> exprs(outMap);
    SmallVector<int64_t> sizes(loopSizes);
    if (loops > 1 && p.c.chance(20)) {
      std::swap(exprs[0], exprs[1]);
      std::swap(sizes[0], sizes[1]);
    }
    inits.push_back(p.empty(sizes, element));
    maps.push_back(p.map(loops, exprs));
  }
  SmallVector<Bounds, 2> out(results);
  bool indexed = loops && p.c.chance(12) && !element.isInteger(1);
  unsigned depth = 1 + p.c.below(2);
  SmallVector<utils::IteratorType> iterators(loops,
                                             utils::IteratorType::parallel);
  auto op = p.generic(
      inputs, inits, maps, iterators,
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        SmallVector<Value> values(arguments.begin(),
                                  arguments.begin() + inputs.size());
        SmallVector<Bounds> known(in);
        if (indexed) {
          Value index = linalg::IndexOp::create(b, loc, p.c.below(loops));
          Value number =
              arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
          if (isa<FloatType>(element))
            number = arith::SIToFPOp::create(b, loc, element, number);
          else if (!element.isInteger(64))
            number = arith::IndexCastOp::create(b, loc, element, index);
          values.push_back(number);
          known.push_back({16, 0});
        }
        Value x = values.back();
        Bounds range = known.back();
        for (unsigned i = 0; i < std::max<unsigned>(depth, values.size() - 1);
             ++i) {
          Value y = values[i % values.size()];
          x = p.scalarOp(b, loc, {x, y}, {range, known[i % values.size()]},
                         range);
        }
        SmallVector<Value> yields{x};
        out[0] = range;
        if (results == 2) {
          Value second =
              p.scalarOp(b, loc, {values[0], x}, {known[0], range}, out[1]);
          yields.push_back(second);
        }
        linalg::YieldOp::create(b, loc, yields);
      });
  for (unsigned i = 0; i < results; ++i)
    p.tame(p.add(op.getResult(i), out[i]));
  return true;
}

bool mlir::dist::test::makeTranspose(RandomProgram &p) {
  Value x = p.pickTensor(1, 4);
  RankedTensorType type = p.typeOf(x);
  auto order = p.c.permutation(type.getRank());
  SmallVector<int64_t> shape;
  for (int64_t d : order)
    shape.push_back(type.getDimSize(d));
  Value out = linalg::TransposeOp::create(
                  p.b, p.loc, x, p.empty(shape, type.getElementType()), order)
                  ->getResult(0);
  p.add(out, p.rangeOf(x));
  return true;
}

bool mlir::dist::test::makeBroadcast(RandomProgram &p) {
  Value x = p.pickTensor(0, 3);
  RankedTensorType type = p.typeOf(x);
  int64_t at = p.c.below(type.getRank() + 1);
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + at, p.pickSize());
  if (RankedTensorType::get(shape, type.getElementType()).getNumElements() >
      2048)
    return false;
  Value out = linalg::BroadcastOp::create(p.b, p.loc, x,
                                          p.empty(shape, type.getElementType()),
                                          ArrayRef<int64_t>{at})
                  ->getResult(0);
  p.add(out, p.rangeOf(x));
  return true;
}
