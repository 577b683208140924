//===- ScalarAdjoints.cpp - Derivatives of arith and math -----------------===//
//
// Adjoints of scalars, as in the bodies of linalg ops, and of tensors element
// by element.
//
// At points without a derivative, PyTorch's is taken. max(x, y) at x = y gives
// half to each if both vary, and zero if the other is fixed (relu). |x| at 0,
// and rounding, have the derivative 0.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/differentiate/Models.h"

#include <cmath>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The context of a rule: arithmetic, and the cotangent of the op's result.
struct Rule {
  OpBuilder &b;
  Adjoints &adjoints;
  Location loc;
  Value cotangent;

  /// Adds the result of `make` to the cotangent of `operand`, if it is wanted.
  void add(Value operand, function_ref<Value()> make) {
    if (adjoints.isActive(operand))
      adjoints.add(b, loc, operand, make());
  }
  Value number(double value) {
    return createConstantLike(b, loc, cotangent, value);
  }
  Value plus(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value minus(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value times(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value over(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value neg(Value x) { return arith::NegFOp::create(b, loc, x); }
  Value times(Value x, double y) { return times(x, number(y)); }
  Value is(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value choose(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  template <typename OpTy> Value call(ValueRange operands) {
    return OpTy::create(b, loc, cotangent.getType(), operands);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static void derive(arith::AddFOp op, Rule r) {
  r.add(op.getLhs(), [&] { return r.cotangent; });
  r.add(op.getRhs(), [&] { return r.cotangent; });
}

static void derive(arith::SubFOp op, Rule r) {
  r.add(op.getLhs(), [&] { return r.cotangent; });
  r.add(op.getRhs(), [&] { return r.neg(r.cotangent); });
}

static void derive(arith::MulFOp op, Rule r) {
  r.add(op.getLhs(), [&] { return r.times(r.cotangent, op.getRhs()); });
  r.add(op.getRhs(), [&] { return r.times(op.getLhs(), r.cotangent); });
}

static void derive(arith::DivFOp op, Rule r) {
  r.add(op.getLhs(), [&] { return r.over(r.cotangent, op.getRhs()); });
  r.add(op.getRhs(), [&] {
    return r.neg(r.times(r.cotangent, r.over(op.getResult(), op.getRhs())));
  });
}

/// x - trunc(x / y) * y
static void derive(arith::RemFOp op, Rule r) {
  r.add(op.getLhs(), [&] { return r.cotangent; });
  r.add(op.getRhs(), [&] {
    Value turns = r.call<math::TruncOp>(r.over(op.getLhs(), op.getRhs()));
    return r.neg(r.times(r.cotangent, turns));
  });
}

static void derive(arith::NegFOp op, Rule r) {
  r.add(op.getOperand(), [&] { return r.neg(r.cotangent); });
}

static void derive(math::FmaOp op, Rule r) {
  r.add(op.getA(), [&] { return r.times(r.cotangent, op.getB()); });
  r.add(op.getB(), [&] { return r.times(op.getA(), r.cotangent); });
  r.add(op.getC(), [&] { return r.cotangent; });
}

static void derive(arith::SelectOp op, Rule r) {
  r.add(op.getTrueValue(),
        [&] { return r.choose(op.getCondition(), r.cotangent, r.number(0)); });
  r.add(op.getFalseValue(),
        [&] { return r.choose(op.getCondition(), r.number(0), r.cotangent); });
}

/// The larger (`wins` is >) or the smaller of two.
static void deriveExtreme(Value x, Value y, arith::CmpFPredicate wins, Rule r) {
  bool bothVary = r.adjoints.isActive(x) && r.adjoints.isActive(y);
  auto add = [&](Value mine, Value other) {
    r.add(mine, [&] {
      Value rest = r.number(0);
      if (bothVary)
        rest = r.choose(r.is(arith::CmpFPredicate::OEQ, mine, other),
                        r.times(r.cotangent, 0.5), rest);
      return r.choose(r.is(wins, mine, other), r.cotangent, rest);
    });
  };
  add(x, y);
  add(y, x);
}

template <typename OpTy> static void deriveMax(OpTy op, Rule r) {
  deriveExtreme(op.getLhs(), op.getRhs(), arith::CmpFPredicate::OGT, r);
}
template <typename OpTy> static void deriveMin(OpTy op, Rule r) {
  deriveExtreme(op.getLhs(), op.getRhs(), arith::CmpFPredicate::OLT, r);
}
static void derive(arith::MaximumFOp op, Rule r) { deriveMax(op, r); }
static void derive(arith::MaxNumFOp op, Rule r) { deriveMax(op, r); }
static void derive(arith::MinimumFOp op, Rule r) { deriveMin(op, r); }
static void derive(arith::MinNumFOp op, Rule r) { deriveMin(op, r); }

static void derive(arith::ExtFOp op, Rule r) {
  r.add(op.getIn(), [&] {
    return arith::TruncFOp::create(r.b, r.loc, op.getIn().getType(),
                                   r.cotangent);
  });
}

static void derive(arith::TruncFOp op, Rule r) {
  r.add(op.getIn(), [&] {
    return arith::ExtFOp::create(r.b, r.loc, op.getIn().getType(), r.cotangent);
  });
}

//===----------------------------------------------------------------------===//
// Functions of two numbers
//===----------------------------------------------------------------------===//

static void derive(math::PowFOp op, Rule r) {
  Value x = op.getLhs(), y = op.getRhs();
  r.add(x, [&] {
    // If y is 0 the power is 1, also of 0, which has no power y - 1.
    Value slope =
        r.times(y, r.call<math::PowFOp>({x, r.minus(y, r.number(1))}));
    return r.choose(r.is(arith::CmpFPredicate::OEQ, y, r.number(0)),
                    r.number(0), r.times(r.cotangent, slope));
  });
  r.add(y, [&] {
    // A power of 0 that is 0 stays so.
    Value isZero = r.is(arith::CmpFPredicate::OEQ, x, r.number(0));
    Value slope = r.times(op.getResult(), r.call<math::LogOp>(x));
    Value stays = arith::AndIOp::create(
        r.b, r.loc, isZero, r.is(arith::CmpFPredicate::OGE, y, r.number(0)));
    return r.choose(stays, r.number(0), r.times(r.cotangent, slope));
  });
}

static void derive(math::FPowIOp op, Rule r) {
  Value x = op.getLhs(), n = op.getRhs();
  r.add(x, [&] {
    Value exponent = arith::SIToFPOp::create(r.b, r.loc, x.getType(), n);
    Value slope = r.times(
        exponent, r.call<math::PowFOp>({x, r.minus(exponent, r.number(1))}));
    return r.choose(r.is(arith::CmpFPredicate::OEQ, exponent, r.number(0)),
                    r.number(0), r.times(r.cotangent, slope));
  });
}

static void derive(math::Atan2Op op, Rule r) {
  Value y = op.getLhs(), x = op.getRhs();
  auto scaled = [&] {
    return r.over(r.cotangent, r.plus(r.times(x, x), r.times(y, y)));
  };
  r.add(y, [&] { return r.times(scaled(), x); });
  r.add(x, [&] { return r.neg(r.times(scaled(), y)); });
}

/// |x| with the sign of y; 0 where x is.
static void derive(math::CopySignOp op, Rule r) {
  Value x = op.getLhs();
  r.add(x, [&] {
    Value sign = r.call<math::CopySignOp>({r.number(1), op.getRhs()});
    Value own = r.call<math::CopySignOp>({r.number(1), x});
    return r.choose(r.is(arith::CmpFPredicate::OEQ, x, r.number(0)),
                    r.number(0), r.times(r.cotangent, r.times(sign, own)));
  });
}

//===----------------------------------------------------------------------===//
// Functions of one number: y = f(x), the slope times the cotangent
//===----------------------------------------------------------------------===//

using Slope = Value (*)(Rule &r, Value x, Value y);

static double getLn(double x) { return std::log(x); }

template <typename OpTy> static constexpr Slope kSlope = nullptr;
#define DIST_SLOPE(OP, EXPRESSION)                                             \
  template <>                                                                  \
  constexpr Slope kSlope<math::OP> = [](Rule &r, Value x, Value y) -> Value {  \
    (void)x, (void)y;                                                          \
    return EXPRESSION;                                                         \
  }
DIST_SLOPE(ExpOp, r.times(r.cotangent, y));
DIST_SLOPE(Exp2Op, r.times(r.cotangent, r.times(y, getLn(2))));
DIST_SLOPE(ExpM1Op, r.times(r.cotangent, r.plus(y, r.number(1))));
DIST_SLOPE(LogOp, r.over(r.cotangent, x));
DIST_SLOPE(Log2Op, r.over(r.cotangent, r.times(x, getLn(2))));
DIST_SLOPE(Log10Op, r.over(r.cotangent, r.times(x, getLn(10))));
DIST_SLOPE(Log1pOp, r.over(r.cotangent, r.plus(x, r.number(1))));
DIST_SLOPE(SqrtOp, r.over(r.times(r.cotangent, 0.5), y));
DIST_SLOPE(RsqrtOp,
           r.times(r.times(r.cotangent, -0.5), r.times(y, r.times(y, y))));
DIST_SLOPE(CbrtOp, r.over(r.cotangent, r.times(r.times(y, y), 3)));
DIST_SLOPE(SinOp, r.times(r.cotangent, r.call<math::CosOp>(x)));
DIST_SLOPE(CosOp, r.neg(r.times(r.cotangent, r.call<math::SinOp>(x))));
DIST_SLOPE(TanOp, r.times(r.cotangent, r.plus(r.times(y, y), r.number(1))));
DIST_SLOPE(SinhOp, r.times(r.cotangent, r.call<math::CoshOp>(x)));
DIST_SLOPE(CoshOp, r.times(r.cotangent, r.call<math::SinhOp>(x)));
DIST_SLOPE(TanhOp, r.times(r.cotangent, r.minus(r.number(1), r.times(y, y))));
DIST_SLOPE(AsinOp,
           r.over(r.cotangent,
                  r.call<math::SqrtOp>(r.minus(r.number(1), r.times(x, x)))));
DIST_SLOPE(AcosOp, r.neg(r.over(r.cotangent,
                                r.call<math::SqrtOp>(r.minus(r.number(1),
                                                             r.times(x, x))))));
DIST_SLOPE(AtanOp, r.over(r.cotangent, r.plus(r.times(x, x), r.number(1))));
DIST_SLOPE(AsinhOp,
           r.over(r.cotangent,
                  r.call<math::SqrtOp>(r.plus(r.times(x, x), r.number(1)))));
DIST_SLOPE(AcoshOp,
           r.over(r.cotangent,
                  r.call<math::SqrtOp>(r.minus(r.times(x, x), r.number(1)))));
DIST_SLOPE(AtanhOp, r.over(r.cotangent, r.minus(r.number(1), r.times(x, x))));
DIST_SLOPE(ErfOp, r.times(r.cotangent,
                          r.times(r.call<math::ExpOp>(r.neg(r.times(x, x))),
                                  2 / std::sqrt(M_PI))));
DIST_SLOPE(ErfcOp, r.times(r.cotangent,
                           r.times(r.call<math::ExpOp>(r.neg(r.times(x, x))),
                                   -2 / std::sqrt(M_PI))));
DIST_SLOPE(
    AbsFOp,
    r.choose(r.is(arith::CmpFPredicate::OEQ, x, r.number(0)), r.number(0),
             r.times(r.cotangent, r.call<math::CopySignOp>({r.number(1), x}))));
#undef DIST_SLOPE

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {
template <typename OpTy>
struct ScalarModel
    : DifferentiableOpInterface::ExternalModel<ScalarModel<OpTy>, OpTy> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    Rule rule{b, adjoints, op->getLoc(), adjoints.lookup(op->getResult(0))};
    if constexpr (kSlope<OpTy> != nullptr)
      rule.add(op->getOperand(0), [&] {
        return kSlope<OpTy>(rule, op->getOperand(0), op->getResult(0));
      });
    else
      derive(cast<OpTy>(op), rule);
    return success();
  }
};

/// Steps: flat wherever they have a slope.
template <typename OpTy>
struct StepModel
    : DifferentiableOpInterface::ExternalModel<StepModel<OpTy>, OpTy> {
  LogicalResult addAdjoints(Operation *, OpBuilder &, Adjoints &) const {
    return success();
  }
};
} // namespace

template <template <typename> class Model, typename... Ops>
static void attach(MLIRContext *context) {
  (Ops::template attachInterface<Model<Ops>>(*context), ...);
}

void mlir::dist::registerScalarAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<ScalarModel, arith::AddFOp, arith::SubFOp, arith::MulFOp,
           arith::DivFOp, arith::RemFOp, arith::NegFOp, arith::SelectOp,
           arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
           arith::MinNumFOp, arith::ExtFOp, arith::TruncFOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attach<ScalarModel, math::FmaOp, math::PowFOp, math::FPowIOp, math::Atan2Op,
           math::CopySignOp, math::ExpOp, math::Exp2Op, math::ExpM1Op,
           math::LogOp, math::Log2Op, math::Log10Op, math::Log1pOp,
           math::SqrtOp, math::RsqrtOp, math::CbrtOp, math::SinOp, math::CosOp,
           math::TanOp, math::SinhOp, math::CoshOp, math::TanhOp, math::AsinOp,
           math::AcosOp, math::AtanOp, math::AsinhOp, math::AcoshOp,
           math::AtanhOp, math::ErfOp, math::ErfcOp, math::AbsFOp>(context);
    attach<StepModel, math::FloorOp, math::CeilOp, math::RoundOp,
           math::RoundEvenOp, math::TruncOp>(context);
  });
}
