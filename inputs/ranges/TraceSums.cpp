//===- TraceSums.cpp - Indices made of several values ---------------------===//

#include "dialects/dist/IR/Dist.h"
#include "inputs/ranges/Sums.h"
#include "inputs/ranges/Tracer.h"
#include "inputs/ranges/Values.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::ranges;

/// Puts off what hangs on several inputs, until each alone is known.
bool Tracer::defer(Value value, const Wanted &wanted) {
  if (isFinishing)
    return false;
  deferred.push_back({value, wanted});
  return true;
}

/// What is known already of the inputs that `value` is made of: what is in
/// range or, for `isHint`, only worth reaching.
std::optional<Interval> Tracer::findLimit(Value value, bool isHint) {
  auto ofArgument = [&](Value argument) -> std::optional<Interval> {
    Interval all = Interval::none();
    const FoundByRegion *known = getFound(argument);
    if (!known)
      return std::nullopt;
    for (const auto &[places, of] : *known) {
      if (!isHint && of.legal.isAll())
        return std::nullopt;
      Interval range = of.worth & of.legal;
      Interval natural = range & Interval::natural();
      all = all | (natural.isEmpty() ? range : natural);
    }
    return all.isBounded() ? std::optional<Interval>(all) : std::nullopt;
  };
  std::optional<Interval> limit = findBounds(value, ofArgument);
  return limit && !limit->isEmpty() && !limit->isAll() ? limit : std::nullopt;
}

bool Tracer::traceSum(Value value, const Wanted &wanted) {
  std::optional<Sum> sum = findSum(value);
  if (!sum)
    return false;
  Interval offset{sum->constant, sum->constant};
  Wanted rest = wanted;
  SmallVector<std::pair<Value, double>> open;
  for (auto [term, factor] : sum->terms) {
    if (isPartialResult(term)) {
      // Each of the terms of a reduction has its part.
      auto structured = cast<linalg::LinalgOp>(
          cast<BlockArgument>(term).getOwner()->getParentOp());
      std::optional<int64_t> count = countReduced(structured);
      std::optional<double> init = findNumber(
          structured.getMatchingOpOperand(cast<BlockArgument>(term))->get());
      if (!count || *count < 1 || !init || factor != 1)
        return true;
      rest = solve(rest, {*init, *init}, 1, value.getType());
      auto part = [&](Interval of) {
        return Interval{of.low / *count, of.high / *count};
      };
      rest = rest.with(part(rest.worth), part(rest.legal));
    } else if (isa<BlockArgument>(term) &&
               isa<LoopLikeOpInterface>(
                   cast<BlockArgument>(term).getOwner()->getParentOp()) &&
               !findBounds(term)) {
      // What a loop carries grows by more than is known.
      if (sum->terms.size() > 1)
        return true;
      open.push_back({term, factor});
    } else if (std::optional<Interval> bounds = findBounds(term);
               bounds && bounds->isBounded()) {
      offset = offset + bounds->times(factor);
    } else {
      open.push_back({term, factor});
    }
  }
  if (open.size() == 1)
    trace(open.front().first, solve(rest, offset, open.front().second,
                                    open.front().first.getType()));
  if (open.size() <= 1 || defer(value, wanted))
    return true;
  Wanted together = solve(rest, offset, 1, value.getType());
  Interval range = together.worth & together.legal;
  if (!range.isBounded())
    return true;
  SmallVector<Share> shares;
  for (auto [term, factor] : open)
    shares.push_back({factor, sum->rounds ? 1 : findStride(term),
                      findLimit(term), findFixed(term)});
  if (!shareOut(range, shares))
    return true;
  for (auto [part, share] : llvm::zip_equal(open, shares))
    trace(part.first,
          together.with(share.given,
                        together.legal.isAll() ? Interval() : share.given));
  return true;
}

/// Factors of at least 0 whose product is at most `most`.
static std::pair<double, double> shareProduct(double most,
                                              std::optional<Interval> left,
                                              std::optional<Interval> right) {
  auto limit = [&](std::optional<Interval> of) {
    return of && of->isBounded() && of->high >= 1 ? std::min(of->high, most)
                                                  : kNoBound;
  };
  double first = limit(left), second = limit(right);
  // One of them reaches all, the other tells whether it is there.
  if (first == kNoBound && second == kNoBound)
    first = most;
  if (first == kNoBound)
    first = std::max(1.0, std::floor(most / std::max(second, 1.0)));
  if (first * second > most)
    second = std::min(second, std::max(1.0, std::floor(most / first)));
  if (first * second > most)
    first = std::floor(most / second);
  return {first, second};
}

bool Tracer::traceProduct(Operation *op, const Wanted &wanted) {
  Value left = op->getOperand(0), right = op->getOperand(1);
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(left));
  Interval legal = wanted.legal, worth = wanted.worth;
  if (isFloat) {
    legal = legal.shrunk(getRounding(left.getType()));
    worth = worth.shrunk(getRounding(left.getType()));
  }
  auto rounded = [&](Interval of) { return isFloat ? of : of.integers(); };
  if (skipCasts(left) == skipCasts(right)) {
    auto root = [](double of) { return of < 0 ? 0 : std::sqrt(of); };
    if (legal.high < 0 || worth.high < 0)
      return true;
    Interval reached{root(worth.low), root(worth.high)};
    trace(left, wanted.with(rounded(reached),
                            rounded({-root(legal.high), root(legal.high)})));
    return true;
  }
  std::optional<Interval> first = findBounds(left), second = findBounds(right);
  if (second && second->isBounded())
    std::swap(first, second), std::swap(left, right);
  if (first && first->isBounded()) {
    if (first->low < 0 || first->high <= 0)
      return true;
    // Where the known factor is least and where it is largest.
    auto divide = [&](Interval of) {
      return rounded(
          {of.low == 0 ? 0 : of.low / (of.low < 0 ? first->high : first->low),
           of.high == 0 ? 0
                        : of.high / (of.high < 0 ? first->low : first->high)});
    };
    trace(right, wanted.with(divide(worth), divide(legal)));
    return true;
  }
  if (defer(op->getResult(0), wanted))
    return true;
  Interval range = worth & legal;
  if (!range.isBounded() || range.low > 0 || range.high < 1)
    return true;
  std::optional<Interval> leftLimit = findLimit(left),
                          rightLimit = findLimit(right);
  // A mask may stand on either side.
  if (!leftLimit && !rightLimit) {
    std::optional<Interval> hint = findLimit(left, /*isHint=*/true);
    if (hint && hint->high == 1)
      leftLimit = hint;
  }
  auto [one, other] = shareProduct(range.high, leftLimit, rightLimit);
  if (mayShareInputs(left, right))
    one = other = std::sqrt(range.high);
  // What a factor is in some places anyhow, the other is to fit to.
  auto fitTo = [&](Value factor, double &ofFactor, double &ofOther) {
    std::optional<Interval> fixed = findFixed(factor);
    if (fixed && fixed->high > ofFactor) {
      ofFactor = fixed->high;
      ofOther = std::min(ofOther, range.high / ofFactor);
    }
    return !fixed || fixed->low >= 0;
  };
  if (!fitTo(left, one, other) || !fitTo(right, other, one))
    return true;
  auto give = [&](Value value, double most) {
    Interval given = rounded({0, most});
    trace(value, wanted.with(given, legal.isAll() ? Interval() : given));
  };
  give(left, one);
  give(right, other);
  return true;
}

/// The divisor gets its two least values: with these the dividend reaches most.
bool Tracer::traceQuotient(Operation *op, const Wanted &wanted) {
  Value left = op->getOperand(0), right = op->getOperand(1);
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(left));
  const Interval natural = Interval::natural();
  Interval worth = wanted.worth & natural, legal = wanted.legal & natural;
  if (mayShareInputs(left, right)) {
    if (!isFloat)
      trace(left, wanted.with(worth, legal));
    return true;
  }
  if (defer(op->getResult(0), wanted))
    return true;
  if (worth.isEmpty() || legal.isEmpty())
    return true;
  std::optional<Interval> limit = findLimit(right), fixed = findFixed(right);
  Interval divisors{1, 2};
  if (limit && limit->low > 1)
    divisors = {limit->low, std::min(limit->low + 1, limit->high)};
  divisors = divisors | fixed.value_or(divisors);
  if (divisors.low < 1)
    return true;
  // In range whatever of these it is divided by.
  auto times = [&](Interval of) {
    Interval product = isFloat
                           ? Interval{of.low, of.high * divisors.low}.shrunk(
                                 getRounding(left.getType()))
                           : of.timesOfFloor(divisors.low);
    product.low = of.low * divisors.high;
    return product;
  };
  if (!fixed && times(worth & legal).isEmpty())
    divisors.high = divisors.low;
  bool isFree = wanted.legal.isAll(), isOpen = legal.low == 0 && !isFloat;
  trace(left, wanted.with(times(worth), isFree ? Interval() : times(legal)));
  trace(right,
        wanted.with(divisors,
                    isFree ? Interval()
                           : Interval{divisors.low,
                                      isOpen ? kNoBound : divisors.high}));
  return true;
}

/// Two values, neither of them known.
bool Tracer::traceBinary(Operation *op, const Wanted &wanted) {
  if (op->getNumOperands() != 2)
    return false;
  if (isa<arith::MulIOp, arith::MulFOp>(op))
    return traceProduct(op, wanted);
  if (isa<arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
          arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
          arith::MinNumFOp>(op)) {
    for (Value operand : op->getOperands())
      if (!isPartialResult(operand))
        trace(operand, wanted);
    return true;
  }
  const Interval natural = Interval::natural();
  if (isa<arith::RemSIOp, arith::RemUIOp>(op)) {
    // x % y is below y.
    double beyond = wanted.legal.high + 1;
    if (wanted.legal.holds({0, 0})) {
      trace(op->getOperand(0), wanted.with(wanted.worth & natural, natural));
      trace(op->getOperand(1),
            wanted.with({1, wanted.worth.high + 1}, {1, beyond}));
    } else {
      // Where 0 is out of range, x stays what it is.
      trace(op->getOperand(0),
            wanted.with(wanted.worth & natural, wanted.legal & natural));
      trace(op->getOperand(1),
            wanted.with({beyond, beyond}, {beyond, kNoBound}));
    }
    return true;
  }
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::DivFOp>(
          op))
    return traceQuotient(op, wanted);
  return false;
}
