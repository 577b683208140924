//===- Inversion.cpp - What operands must be for a result -----------------===//

#include "inputs/ranges/Inversion.h"
#include "inputs/ranges/Values.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::ranges;

double ranges::getRounding(Type type) {
  auto number = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return number
             ? 4 * std::ldexp(1.0,
                              1 - static_cast<int>(number.getFPMantissaWidth()))
             : 0;
}

namespace {
/// The number just inside of a bound that does not belong to an interval.
struct Open {
  double epsilon;
  double below(double bound) const {
    return bound - std::max(std::abs(bound) * epsilon, epsilon);
  }
  double above(double bound) const {
    return bound + std::max(std::abs(bound) * epsilon, epsilon);
  }
};
} // namespace

/// Of floats, given that of the integers that they are rounded to is `of`.
static Interval beforeRounding(Operation *op, Interval of) {
  of = of.integers();
  Open open{getRounding(op->getOperand(0).getType()) / 4};
  if (isa<math::FloorOp>(op))
    return {of.low, open.below(of.high + 1)};
  if (isa<math::CeilOp>(op))
    return {open.above(of.low - 1), of.high};
  if (isa<math::RoundOp, math::RoundEvenOp>(op))
    return {open.above(of.low - 0.5), open.below(of.high + 0.5)};
  // Towards 0.
  return {of.low > 0 ? of.low : open.above(of.low - 1),
          of.high < 0 ? of.high : open.below(of.high + 1)};
}

/// Ops of one operand.
static std::optional<Wanted> invertUnary(Operation *op, const Wanted &wanted) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  auto both = [&](auto invertOne) {
    return wanted.with(invertOne(wanted.worth), invertOne(wanted.legal));
  };
  if (isa<math::AbsIOp, math::AbsFOp>(op)) {
    Interval natural = wanted.legal & Interval::natural();
    bool isAround = natural.low == 0 && !natural.isEmpty();
    return wanted.with(wanted.worth & Interval::natural(),
                       isAround ? natural | natural.negated() : natural);
  }
  if (isa<arith::NegFOp>(op))
    return both([](Interval of) { return of.negated(); });
  if (isa<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
          math::TruncOp, arith::FPToSIOp, arith::FPToUIOp>(op))
    return both([&](Interval of) { return beforeRounding(op, of); });
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    Interval held = getHeld(from, isa<arith::UIToFPOp>(op));
    // Larger integers are rounded.
    double exact = 4 / getRounding(to);
    return both([&](Interval of) {
      bool isExact = std::abs(of.low) <= exact && std::abs(of.high) <= exact;
      return (isExact ? of : of.shrunk(getRounding(to))).integers() & held;
    });
  }
  if (isa<arith::ExtFOp>(op))
    return wanted;
  if (isa<arith::TruncFOp>(op))
    return both([&](Interval of) { return of.shrunk(getRounding(to)); });
  if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
           arith::ExtUIOp, arith::TruncIOp>(op))
    return std::nullopt;
  // A truncation keeps what fits.
  Interval held =
      isa<arith::TruncIOp>(op)
          ? getHeld(to, /*isUnsigned=*/false)
          : getHeld(from, isa<arith::ExtUIOp, arith::IndexCastUIOp>(op));
  return both([&](Interval of) { return of & held; });
}

std::optional<Wanted> ranges::invert(Operation *op, const Wanted &wanted,
                                     Value &x) {
  if (op->getNumOperands() == 1) {
    x = op->getOperand(0);
    return invertUnary(op, wanted);
  }
  if (op->getNumOperands() != 2)
    return std::nullopt;
  x = op->getOperand(0);
  std::optional<double> c = findNumber(op->getOperand(1));
  bool isLeft = !c;
  if (isLeft) {
    x = op->getOperand(1);
    c = findNumber(op->getOperand(0));
  }
  if (!c)
    return std::nullopt;
  const Interval &worth = wanted.worth, &legal = wanted.legal;
  // Beyond a legal constant any number does.
  if (isa<arith::MaxSIOp, arith::MaxUIOp, arith::MaximumFOp, arith::MaxNumFOp>(
          op))
    return wanted.with(worth & Interval{*c, kNoBound},
                       {*c >= legal.low ? -kNoBound : legal.low, legal.high});
  if (isa<arith::MinSIOp, arith::MinUIOp, arith::MinimumFOp, arith::MinNumFOp>(
          op))
    return wanted.with(worth & Interval{-kNoBound, *c},
                       {legal.low, *c <= legal.high ? kNoBound : legal.high});
  if (isLeft || *c <= 0)
    return std::nullopt;
  const Interval natural = Interval::natural();
  auto quotient = [&](double divisor) {
    return wanted.with((worth & natural).timesOfFloor(divisor),
                       (legal & natural).timesOfFloor(divisor));
  };
  // Dividends of at least 0 reach every quotient and remainder that there is.
  if (isa<arith::ShRUIOp, arith::ShRSIOp>(op))
    return *c < 62 ? std::optional<Wanted>(quotient(std::exp2(*c)))
                   : std::nullopt;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op))
    return quotient(*c);
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op)) {
    auto before = [&](Interval of) {
      of = of & natural;
      return Interval{(of.low - 1) * *c + 1, of.high * *c} & natural;
    };
    return wanted.with(before(worth), before(legal));
  }
  bool isRemainder = isa<arith::RemSIOp, arith::RemUIOp>(op);
  if (isRemainder || isa<arith::AndIOp>(op)) {
    Interval every{0, isRemainder ? *c - 1 : *c};
    return wanted.with(worth & every,
                       legal.holds(every) ? natural : legal & every);
  }
  return std::nullopt;
}
