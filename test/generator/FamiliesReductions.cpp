//===- FamiliesReductions.cpp - What combines many elements ---------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "test/generator/RandomProgram.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

static Value combine(OpBuilder &b, Location loc, ReductionKind kind, Value x,
                     Value y) {
  bool isFloat = isa<FloatType>(x.getType());
  switch (kind) {
  case ReductionKind::Sum:
    return isFloat ? arith::AddFOp::create(b, loc, x, y).getResult()
                   : arith::AddIOp::create(b, loc, x, y).getResult();
  case ReductionKind::Prod:
    return isFloat ? arith::MulFOp::create(b, loc, x, y).getResult()
                   : arith::MulIOp::create(b, loc, x, y).getResult();
  case ReductionKind::Max:
    return isFloat ? arith::MaximumFOp::create(b, loc, x, y).getResult()
                   : arith::MaxSIOp::create(b, loc, x, y).getResult();
  case ReductionKind::Min:
    return isFloat ? arith::MinimumFOp::create(b, loc, x, y).getResult()
                   : arith::MinSIOp::create(b, loc, x, y).getResult();
  case ReductionKind::And:
    return arith::AndIOp::create(b, loc, x, y);
  case ReductionKind::Or:
    return arith::OrIOp::create(b, loc, x, y);
  }
  return {};
}

static double neutral(ReductionKind kind, Type type) {
  bool isFloat = isa<FloatType>(type);
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Or:
    return 0;
  case ReductionKind::Prod:
    return 1;
  case ReductionKind::Max:
    return isFloat ? -INFINITY : -(1 << 30);
  case ReductionKind::Min:
    return isFloat ? INFINITY : 1 << 30;
  case ReductionKind::And:
    return -1;
  }
  return 0;
}

static ReductionKind pickKind(RandomProgram &p, Type type, Bounds range) {
  using K = ReductionKind;
  if (type.isInteger(1))
    return p.c.pick({K::Or, K::And});
  if (!isa<FloatType>(type))
    return p.c.pick({K::Sum, K::Max, K::Min, K::Prod, K::And, K::Or});
  return p.c.pick(
      {K::Sum, K::Sum, K::Max, K::Min, range.bound <= 2 ? K::Prod : K::Sum});
}

static Bounds rangeOfReduction(ReductionKind kind, Bounds range,
                               int64_t count) {
  if (kind == ReductionKind::Sum)
    return {range.bound * std::max<int64_t>(count, 1) + 2, range.grid};
  if (kind == ReductionKind::Prod)
    return {
        std::pow(std::max(range.bound, 1.0), double(count)),
        static_cast<int>(std::min<int64_t>(1000, range.grid * (count + 1)))};
  return range;
}

static Value pickStart(RandomProgram &p, ReductionKind kind,
                       ArrayRef<int64_t> shape, Type type) {
  switch (p.c.below(8)) {
  case 6: // not neutral: counted once
    return p.filled(shape, type, 2);
  case 7:
    return p.getTensor(shape, type);
  default:
    return p.filled(shape, type, neutral(kind, type));
  }
}

namespace {
/// Which dimensions of a tensor are reduced, as maps over its dimensions.
struct Reduction {
  SmallVector<int64_t> dims, shape;
  SmallVector<utils::IteratorType> iterators;
  AffineMap in, out;
  int64_t count = 1;
};
} // namespace

static Reduction pickReduction(RandomProgram &p, Value x,
                               bool allowAll = true) {
  Reduction out;
  RankedTensorType type = p.typeOf(x);
  int64_t rank = type.getRank();
  SmallVector<AffineExpr> exprs;
  int64_t must = p.c.below(rank);
  for (int64_t d = 0; d < rank; ++d) {
    bool isReduced = d == must || (allowAll && p.c.chance(30));
    out.iterators.push_back(isReduced ? utils::IteratorType::reduction
                                      : utils::IteratorType::parallel);
    if (isReduced) {
      out.dims.push_back(d);
      out.count *= type.getDimSize(d);
    } else {
      exprs.push_back(p.dim(d));
      out.shape.push_back(type.getDimSize(d));
    }
  }
  out.in = p.b.getMultiDimIdentityMap(rank);
  out.out = p.map(rank, exprs);
  return out;
}

/// One reduction: linalg.reduce or a generic, with what is reduced computed
/// from the operand now and then, masked or weighed by a second one.
bool mlir::dist::test::makeReduction(RandomProgram &p) {
  Value x = p.pickTensor(1, 4);
  Type element = p.typeOf(x).getElementType();
  Bounds range = p.rangeOf(x);
  Reduction r = pickReduction(p, x);
  ReductionKind kind = pickKind(p, element, range);
  Value start = pickStart(p, kind, r.shape, element);
  Bounds startRange = p.rangeOf(start);
  Value out;
  if (p.c.chance(40)) {
    auto op = linalg::ReduceOp::create(
        p.b, p.loc, x, start, r.dims,
        [&](OpBuilder &b, Location loc, ValueRange v) {
          linalg::YieldOp::create(b, loc, combine(b, loc, kind, v[0], v[1]));
        });
    out = op.getResult(0);
  } else {
    SmallVector<Value> inputs{x};
    SmallVector<AffineMap> maps{r.in};
    SmallVector<Bounds> in{range};
    if (p.c.chance(35)) {
      // Another operand over some of the loops.
      SmallVector<AffineExpr> exprs;
      SmallVector<int64_t> sizes;
      for (int64_t d = 0; d < p.typeOf(x).getRank(); ++d)
        if (p.c.chance(60)) {
          exprs.push_back(p.dim(d));
          sizes.push_back(p.typeOf(x).getDimSize(d));
        }
      inputs.push_back(p.getTensor(sizes, element));
      maps.push_back(p.map(p.typeOf(x).getRank(), exprs));
      in.push_back(p.rangeOf(inputs.back()));
    }
    maps.push_back(r.out);
    bool computes = inputs.size() > 1 || p.c.chance(30);
    auto op = p.generic(inputs, {start}, maps, r.iterators,
                        [&](OpBuilder &b, Location loc, ValueRange v) {
                          Value term = v[0];
                          if (computes)
                            term = p.scalarOp(b, loc, v.drop_back(), in, range);
                          if (kind == ReductionKind::Prod &&
                              isa<FloatType>(element) && range.bound > 4) {
                            term = math::TanhOp::create(b, loc, term);
                            range = {1, 1000};
                          }
                          Value sum =
                              p.c.chance(50)
                                  ? combine(b, loc, kind, term, v.back())
                                  : combine(b, loc, kind, v.back(), term);
                          linalg::YieldOp::create(b, loc, sum);
                        });
    out = op.getResult(0);
  }
  range = rangeOfReduction(kind, range, r.count);
  range.bound = std::max(range.bound, startRange.bound) + startRange.bound;
  if (kind == ReductionKind::Prod)
    range.bound *= std::max(startRange.bound, 1.0);
  range.grid = std::max(range.grid + startRange.grid, 1);
  p.tame(p.add(out, range));
  return true;
}

/// Several results in one pass, each with a kind of its own.
bool mlir::dist::test::makeMixedReduction(RandomProgram &p) {
  Value x = p.pickTensor(1, 3);
  Type element = p.typeOf(x).getElementType();
  Bounds range = p.rangeOf(x);
  Reduction r = pickReduction(p, x);
  ReductionKind first = pickKind(p, element, range);
  ReductionKind second = p.c.chance(40) ? first : pickKind(p, element, range);
  SmallVector<Value> starts{pickStart(p, first, r.shape, element),
                            pickStart(p, second, r.shape, element)};
  Bounds computed;
  auto op = p.generic(
      {x}, starts, {r.in, r.out, r.out}, r.iterators,
      [&](OpBuilder &b, Location loc, ValueRange v) {
        Value term = p.scalarOp(b, loc, {v[0], v[0]}, {range, range}, computed);
        if (second == ReductionKind::Prod && isa<FloatType>(element)) {
          term = math::TanhOp::create(b, loc, term);
          computed = {1, 1000};
        }
        linalg::YieldOp::create(
            b, loc,
            ValueRange{combine(b, loc, first, v[1], v[0]),
                       combine(b, loc, second, v[2], term)});
      });
  Bounds ranges[] = {rangeOfReduction(first, range, r.count),
                     rangeOfReduction(second, computed, r.count)};
  for (unsigned i = 0; i < 2; ++i) {
    Bounds start = p.rangeOf(starts[i]);
    ranges[i].bound =
        (ranges[i].bound + start.bound) * std::max(1.0, start.bound);
    ranges[i].grid += start.grid;
    p.tame(p.add(op.getResult(i), ranges[i]));
  }
  return true;
}

/// The largest (or smallest) element and its index.
bool mlir::dist::test::makeArgMax(RandomProgram &p) {
  Value x = p.pickTensor(1, 3);
  Type element = p.typeOf(x).getElementType();
  // Rounding must not decide.
  if (element.isInteger(1) || !p.rangeOf(x).isExact(element))
    return false;
  bool isMax = p.c.chance(50), isFloat = isa<FloatType>(element);
  Reduction r = pickReduction(p, x, false);
  if (r.count == 0)
    return false;
  Type i64 = p.b.getI64Type();
  ReductionKind kind = isMax ? ReductionKind::Max : ReductionKind::Min;
  Value value = p.filled(r.shape, element, neutral(kind, element));
  Value index = p.filled(r.shape, i64, 0);
  auto op = p.generic(
      {x}, {value, index}, {r.in, r.out, r.out}, r.iterators,
      [&](OpBuilder &b, Location loc, ValueRange v) {
        Value here = arith::IndexCastOp::create(
            b, loc, i64, linalg::IndexOp::create(b, loc, r.dims[0]));
        Value better =
            isFloat ? arith::CmpFOp::create(b, loc,
                                            isMax ? arith::CmpFPredicate::OGT
                                                  : arith::CmpFPredicate::OLT,
                                            v[0], v[1])
                          .getResult()
                    : arith::CmpIOp::create(b, loc,
                                            isMax ? arith::CmpIPredicate::sgt
                                                  : arith::CmpIPredicate::slt,
                                            v[0], v[1])
                          .getResult();
        linalg::YieldOp::create(
            b, loc,
            ValueRange{arith::SelectOp::create(b, loc, better, v[0], v[1]),
                       arith::SelectOp::create(b, loc, better, here, v[2])});
      });
  p.add(op.getResult(0), p.rangeOf(x));
  p.add(op.getResult(1), {});
  return true;
}

/// Softmax as an op, softmax and layer normalisation in pieces, a mean.
bool mlir::dist::test::makeNormalization(RandomProgram &p) {
  Value x = p.tame(p.pickFloat(1, 4));
  RankedTensorType type = p.typeOf(x);
  Type element = type.getElementType();
  int64_t rank = type.getRank(), axis = p.c.below(rank);
  if (type.getDimSize(axis) == 0)
    return false;
  if (p.c.chance(30)) {
    auto op = linalg::SoftmaxOp::create(
        p.b, p.loc, type, x, p.empty(type.getShape(), element), axis);
    p.add(op->getResult(0), {1, 1000});
    return true;
  }
  // Reduced along one axis, then put together with the operand again.
  SmallVector<AffineExpr> kept;
  SmallVector<int64_t> shape;
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis) {
      kept.push_back(p.dim(d));
      shape.push_back(type.getDimSize(d));
    }
  AffineMap all = p.b.getMultiDimIdentityMap(rank), some = p.map(rank, kept);
  auto reduce = [&](Value value, ReductionKind kind) {
    auto reducing = iterators;
    reducing[axis] = utils::IteratorType::reduction;
    Value start = p.filled(shape, element, neutral(kind, element));
    return p
        .generic({value}, {start}, {all, some}, reducing,
                 [&](OpBuilder &b, Location loc, ValueRange v) {
                   linalg::YieldOp::create(b, loc,
                                           combine(b, loc, kind, v[0], v[1]));
                 })
        .getResult(0);
  };
  auto zip = [&](Value wide, Value narrow,
                 function_ref<Value(OpBuilder &, Location, Value, Value)> f) {
    Value init = p.empty(type.getShape(), element);
    return p
        .generic({wide, narrow}, {init}, {all, some, all}, iterators,
                 [&](OpBuilder &b, Location loc, ValueRange v) {
                   linalg::YieldOp::create(b, loc, f(b, loc, v[0], v[1]));
                 })
        .getResult(0);
  };
  double count = type.getDimSize(axis);
  if (p.c.chance(50)) { // softmax
    Value largest = reduce(x, ReductionKind::Max);
    Value powers =
        zip(x, largest, [](OpBuilder &b, Location loc, Value v, Value m) {
          return math::ExpOp::create(b, loc,
                                     arith::SubFOp::create(b, loc, v, m))
              .getResult();
        });
    Value sum = reduce(powers, ReductionKind::Sum);
    Value out =
        zip(powers, sum, [](OpBuilder &b, Location loc, Value v, Value s) {
          return arith::DivFOp::create(b, loc, v, s).getResult();
        });
    p.add(out, {1, 1000});
    return true;
  }
  Value sum = reduce(x, ReductionKind::Sum);
  Value centred =
      zip(x, sum, [&](OpBuilder &b, Location loc, Value v, Value s) {
        Value n =
            arith::ConstantOp::create(b, loc, b.getFloatAttr(element, count));
        return arith::SubFOp::create(b, loc, v,
                                     arith::DivFOp::create(b, loc, s, n))
            .getResult();
      });
  Value squares = arith::MulFOp::create(p.b, p.loc, centred, centred);
  Value variance = reduce(squares, ReductionKind::Sum);
  Value out =
      zip(centred, variance, [&](OpBuilder &b, Location loc, Value v, Value s) {
        Value n =
            arith::ConstantOp::create(b, loc, b.getFloatAttr(element, count));
        Value one =
            arith::ConstantOp::create(b, loc, b.getFloatAttr(element, 1));
        Value mean = arith::DivFOp::create(b, loc, s, n);
        Value root = math::RsqrtOp::create(
            b, loc, arith::AddFOp::create(b, loc, mean, one));
        return arith::MulFOp::create(b, loc, v, root).getResult();
      });
  p.add(centred, {p.rangeOf(x).bound * 2, 1000});
  p.add(out, {p.rangeOf(x).bound * 2, 1000});
  return true;
}
