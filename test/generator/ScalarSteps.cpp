//===- ScalarSteps.cpp - Scalar ops of arith and math ---------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "test/generator/ScalarCode.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist::test;

using Step = const ScalarStep &;
using Context = ScalarContext &;

// x, y, z: the operands; f, i, u: as floats, signed and unsigned integers.
#define IN(n) r[s.in[n]]
#define XF IN(0).f
#define YF IN(1).f
#define ZF IN(2).f
#define XI IN(0).i
#define YI IN(1).i
#define XU maskTo(s.fromWidth, IN(0).i)
#define YU maskTo(s.fromWidth, IN(1).i)

#define FLOAT(expr)                                                            \
  [](Step s, Scalar *r, Context) { r[s.out[0]].f = roundTo(s.type, expr); }
#define INT(expr)                                                              \
  [](Step s, Scalar *r, Context) {                                             \
    r[s.out[0]].i = wrapTo(s.width, static_cast<int64_t>(expr));               \
  }
#define BOOL(expr)                                                             \
  [](Step s, Scalar *r, Context) { r[s.out[0]].i = (expr) ? -1 : 0; }
// Division by zero, and the overflow of MIN / -1, end a compiled program.
#define DIVIDE(undefined, expr)                                                \
  [](Step s, Scalar *r, Context c) {                                           \
    if (!(undefined)) {                                                        \
      r[s.out[0]].i = wrapTo(s.width, static_cast<int64_t>(expr));             \
      return;                                                                  \
    }                                                                          \
    r[s.out[0]] = c.garbage->next(s.type);                                     \
    if (c.error->empty())                                                      \
      *c.error =                                                               \
          "divides " + std::to_string(XI) + " by " + std::to_string(YI);       \
  }
#define SIGNED_UNDEFINED (YI == 0 || (YI == -1 && XI == INT64_MIN))
// A shift by too much is undefined: garbage.
#define SHIFT(expr)                                                            \
  [](Step s, Scalar *r, Context c) {                                           \
    if (YU >= s.width)                                                         \
      r[s.out[0]] = c.garbage->next(s.type);                                   \
    else                                                                       \
      r[s.out[0]].i = wrapTo(s.width, static_cast<int64_t>(expr));             \
  }

using Function = ScalarStep::Function;

static double maximum(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? std::nan("") : std::max(x, y);
}
static double minimum(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? std::nan("") : std::min(x, y);
}

static int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t out = 1, factor = base;
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      out *= factor;
  return out;
}

static bool compare(arith::CmpFPredicate predicate, double x, double y) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(x) || std::isnan(y);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::ORD:
    return !unordered;
  case P::UNO:
    return unordered;
  case P::OEQ:
    return x == y;
  case P::OGT:
    return x > y;
  case P::OGE:
    return x >= y;
  case P::OLT:
    return x < y;
  case P::OLE:
    return x <= y;
  case P::ONE:
    return !unordered && x != y;
  case P::UEQ:
    return unordered || x == y;
  case P::UGT:
    return unordered || x > y;
  case P::UGE:
    return unordered || x >= y;
  case P::ULT:
    return unordered || x < y;
  case P::ULE:
    return unordered || x <= y;
  case P::UNE:
    return unordered || x != y;
  }
  return false;
}

static bool compare(arith::CmpIPredicate predicate, int64_t x, int64_t y,
                    uint64_t ux, uint64_t uy) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return x == y;
  case P::ne:
    return x != y;
  case P::slt:
    return x < y;
  case P::sle:
    return x <= y;
  case P::sgt:
    return x > y;
  case P::sge:
    return x >= y;
  case P::ult:
    return ux < uy;
  case P::ule:
    return ux <= uy;
  case P::ugt:
    return ux > uy;
  case P::uge:
    return ux >= uy;
  }
  return false;
}

/// Floats out of an integer's range convert to its nearer end, and NaN to 0.
static void toInteger(Step s, Scalar *r, double low, double high) {
  double value = std::trunc(XF);
  if (std::isnan(value))
    r[s.out[0]].i = 0;
  else if (value < low)
    r[s.out[0]].i = wrapTo(s.width, static_cast<int64_t>(low));
  else if (value >= high)
    // One less than what is a power of two.
    r[s.out[0]].i =
        wrapTo(s.width, low < 0 ? INT64_MAX >> (64 - s.width) : int64_t(-1));
  else if (value < 0)
    r[s.out[0]].i = wrapTo(s.width, static_cast<int64_t>(value));
  else
    r[s.out[0]].i =
        wrapTo(s.width, static_cast<int64_t>(static_cast<uint64_t>(value)));
}

/// The bits of a number read as one of the other kind.
static void castBits(Step s, Scalar *r, Context) {
  APInt bits(s.fromWidth, maskTo(s.fromWidth, XI));
  if (auto from = dyn_cast<FloatType>(s.from)) {
    APFloat number(XF);
    bool losesInfo;
    number.convert(from.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    bits = number.bitcastToAPInt();
  }
  if (!isa<FloatType>(s.type)) {
    r[s.out[0]].i = wrapTo(s.width, bits.getZExtValue());
    return;
  }
  APFloat number(cast<FloatType>(s.type).getFloatSemantics(), bits);
  bool losesInfo;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  r[s.out[0]].f = number.convertToDouble();
}

static Function getArithFloat(Operation *op) {
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case([](arith::AddFOp) { return FLOAT(XF + YF); })
      .Case([](arith::SubFOp) { return FLOAT(XF - YF); })
      .Case([](arith::MulFOp) { return FLOAT(XF * YF); })
      .Case([](arith::DivFOp) { return FLOAT(XF / YF); })
      .Case([](arith::RemFOp) { return FLOAT(std::fmod(XF, YF)); })
      .Case([](arith::NegFOp) { return FLOAT(-XF); })
      .Case([](arith::MaximumFOp) { return FLOAT(maximum(XF, YF)); })
      .Case([](arith::MinimumFOp) { return FLOAT(minimum(XF, YF)); })
      .Case([](arith::MaxNumFOp) { return FLOAT(std::fmax(XF, YF)); })
      .Case([](arith::MinNumFOp) { return FLOAT(std::fmin(XF, YF)); })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [](Operation *) { return FLOAT(XF); })
      .Case([](arith::SIToFPOp) { return FLOAT(static_cast<double>(XI)); })
      .Case([](arith::UIToFPOp) { return FLOAT(static_cast<double>(XU)); })
      .Case([](arith::FPToSIOp) -> Function {
        return [](Step s, Scalar *r, Context) {
          double limit = std::ldexp(1.0, s.width - 1);
          toInteger(s, r, -limit, limit);
        };
      })
      .Case([](arith::FPToUIOp) -> Function {
        return [](Step s, Scalar *r, Context) {
          toInteger(s, r, 0, std::ldexp(1.0, s.width));
        };
      })
      .Case([](arith::CmpFOp) {
        return BOOL(
            compare(static_cast<arith::CmpFPredicate>(s.value.i), XF, YF));
      })
      .Default(Function());
}

static Function getArithInteger(Operation *op) {
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case([](arith::AddIOp) { return INT(uint64_t(XI) + uint64_t(YI)); })
      .Case([](arith::SubIOp) { return INT(uint64_t(XI) - uint64_t(YI)); })
      .Case([](arith::MulIOp) { return INT(uint64_t(XI) * uint64_t(YI)); })
      .Case([](arith::DivSIOp) { return DIVIDE(SIGNED_UNDEFINED, XI / YI); })
      .Case([](arith::RemSIOp) { return DIVIDE(SIGNED_UNDEFINED, XI % YI); })
      .Case([](arith::DivUIOp) { return DIVIDE(YU == 0, XU / YU); })
      .Case([](arith::RemUIOp) { return DIVIDE(YU == 0, XU % YU); })
      .Case([](arith::CeilDivUIOp) {
        return DIVIDE(YU == 0, XU == 0 ? 0 : (XU - 1) / YU + 1);
      })
      .Case([](arith::CeilDivSIOp) {
        return DIVIDE(SIGNED_UNDEFINED,
                      XI / YI + (XI % YI != 0 && (XI < 0) == (YI < 0)));
      })
      .Case([](arith::FloorDivSIOp) {
        return DIVIDE(SIGNED_UNDEFINED,
                      XI / YI - (XI % YI != 0 && (XI < 0) != (YI < 0)));
      })
      .Case([](arith::AndIOp) { return INT(XI & YI); })
      .Case([](arith::OrIOp) { return INT(XI | YI); })
      .Case([](arith::XOrIOp) { return INT(XI ^ YI); })
      .Case([](arith::ShLIOp) { return SHIFT(XU << YU); })
      .Case([](arith::ShRUIOp) { return SHIFT(XU >> YU); })
      .Case([](arith::ShRSIOp) { return SHIFT(XI >> YU); })
      .Case([](arith::MaxSIOp) { return INT(std::max(XI, YI)); })
      .Case([](arith::MinSIOp) { return INT(std::min(XI, YI)); })
      .Case([](arith::MaxUIOp) { return INT(std::max(XU, YU)); })
      .Case([](arith::MinUIOp) { return INT(std::min(XU, YU)); })
      .Case<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>(
          [](Operation *) { return INT(XI); })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>(
          [](Operation *) { return INT(XU); })
      .Case([](arith::CmpIOp) {
        return BOOL(compare(static_cast<arith::CmpIPredicate>(s.value.i), XI,
                            YI, XU, YU));
      })
      .Case([](arith::SelectOp) -> Function {
        return [](Step s, Scalar *r, Context) {
          r[s.out[0]] = XI ? IN(1) : IN(2);
        };
      })
      .Case([](arith::ConstantOp) -> Function {
        return [](Step s, Scalar *r, Context) { r[s.out[0]] = s.value; };
      })
      .Case([](arith::AddUIExtendedOp) -> Function {
        return [](Step s, Scalar *r, Context) {
          uint64_t x = XU, sum = maskTo(s.width, x + YU);
          r[s.out[0]].i = wrapTo(s.width, sum);
          r[s.out[1]].i = sum < x ? -1 : 0;
        };
      })
      .Case([](arith::BitcastOp) { return Function(castBits); })
      .Default(Function());
}

static Function getMath(Operation *op) {
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case([](math::AbsFOp) { return FLOAT(std::fabs(XF)); })
      .Case([](math::AbsIOp) { return INT(XI < 0 ? -uint64_t(XI) : XI); })
      .Case([](math::CeilOp) { return FLOAT(std::ceil(XF)); })
      .Case([](math::FloorOp) { return FLOAT(std::floor(XF)); })
      .Case([](math::RoundOp) { return FLOAT(std::round(XF)); })
      .Case([](math::RoundEvenOp) { return FLOAT(std::nearbyint(XF)); })
      .Case([](math::TruncOp) { return FLOAT(std::trunc(XF)); })
      .Case([](math::CopySignOp) { return FLOAT(std::copysign(XF, YF)); })
      .Case([](math::CosOp) { return FLOAT(std::cos(XF)); })
      .Case([](math::SinOp) { return FLOAT(std::sin(XF)); })
      .Case([](math::TanOp) { return FLOAT(std::tan(XF)); })
      .Case([](math::AtanOp) { return FLOAT(std::atan(XF)); })
      .Case([](math::Atan2Op) { return FLOAT(std::atan2(XF, YF)); })
      .Case([](math::TanhOp) { return FLOAT(std::tanh(XF)); })
      .Case([](math::ErfOp) { return FLOAT(std::erf(XF)); })
      .Case([](math::ErfcOp) { return FLOAT(std::erfc(XF)); })
      .Case([](math::AsinOp) { return FLOAT(std::asin(XF)); })
      .Case([](math::AcosOp) { return FLOAT(std::acos(XF)); })
      .Case([](math::SinhOp) { return FLOAT(std::sinh(XF)); })
      .Case([](math::CoshOp) { return FLOAT(std::cosh(XF)); })
      .Case([](math::AsinhOp) { return FLOAT(std::asinh(XF)); })
      .Case([](math::AcoshOp) { return FLOAT(std::acosh(XF)); })
      .Case([](math::AtanhOp) { return FLOAT(std::atanh(XF)); })
      .Case([](math::ExpOp) { return FLOAT(std::exp(XF)); })
      .Case([](math::Exp2Op) { return FLOAT(std::exp2(XF)); })
      .Case([](math::ExpM1Op) { return FLOAT(std::expm1(XF)); })
      .Case([](math::LogOp) { return FLOAT(std::log(XF)); })
      .Case([](math::Log2Op) { return FLOAT(std::log2(XF)); })
      .Case([](math::Log10Op) { return FLOAT(std::log10(XF)); })
      .Case([](math::Log1pOp) { return FLOAT(std::log1p(XF)); })
      .Case([](math::SqrtOp) { return FLOAT(std::sqrt(XF)); })
      .Case([](math::RsqrtOp) { return FLOAT(1 / std::sqrt(XF)); })
      .Case([](math::CbrtOp) { return FLOAT(std::cbrt(XF)); })
      .Case([](math::PowFOp) { return FLOAT(std::pow(XF, YF)); })
      .Case([](math::FPowIOp) {
        return FLOAT(std::pow(XF, static_cast<double>(YI)));
      })
      .Case([](math::IPowIOp) { return INT(power(XI, YI)); })
      .Case([](math::FmaOp) { return FLOAT(std::fma(XF, YF, ZF)); })
      .Case([](math::ClampFOp) { return FLOAT(minimum(maximum(XF, YF), ZF)); })
      .Case([](math::IsNaNOp) { return BOOL(std::isnan(XF)); })
      .Case([](math::IsInfOp) { return BOOL(std::isinf(XF)); })
      .Case([](math::IsFiniteOp) { return BOOL(std::isfinite(XF)); })
      .Case([](math::CtPopOp) { return INT(llvm::popcount(XU)); })
      .Default(Function());
}

LogicalResult mlir::dist::test::makeStep(Operation *op, ScalarStep &step) {
  if (isa<cf::AssertOp>(op)) {
    step.run = [](Step s, Scalar *r, Context c) {
      if (!XI && c.error->empty())
        *c.error = "an assertion does not hold";
    };
    return success();
  }
  if (op->getNumResults() == 0)
    return failure();
  step.type = getElementTypeOrSelf(op->getResult(0).getType());
  if (!step.type.isIntOrIndexOrFloat())
    return failure();
  step.width = getWidth(step.type);
  if (op->getNumOperands()) {
    step.from = getElementTypeOrSelf(op->getOperand(0).getType());
    if (!step.from.isIntOrIndexOrFloat())
      return failure();
    step.fromWidth = getWidth(step.from);
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    step.value.i = static_cast<int64_t>(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    step.value.i = static_cast<int64_t>(compare.getPredicate());
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto tensor = Tensor::fromAttr(constant.getValue());
    if (!tensor || tensor->getNumElements() != 1)
      return failure();
    step.value = tensor->read()[0];
  }
  step.run = getArithFloat(op);
  if (!step.run)
    step.run = getArithInteger(op);
  if (!step.run)
    step.run = getMath(op);
  return success(step.run != nullptr);
}
