//===- Sums.cpp - Sums of several values, and their shares ----------------===//

#include "inputs/ranges/Sums.h"
#include "inputs/ranges/Values.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::ranges;

/// More terms than this are not looked at.
static constexpr size_t kMostTerms = 32;

/// Adds `factor` times `value`; false if there are too many terms.
static bool addTo(Sum &sum, Value value, double factor, bool isOuter) {
  if (std::optional<double> number = findNumber(value)) {
    sum.constant += factor * *number;
    return true;
  }
  if (Operation *op = value.getDefiningOp()) {
    auto operand = [&](unsigned i, double times) {
      return addTo(sum, op->getOperand(i), factor * times, false);
    };
    if (isa<arith::AddIOp, arith::AddFOp>(op))
      return operand(0, 1) && operand(1, 1);
    if (isa<arith::SubIOp, arith::SubFOp>(op))
      return operand(0, 1) && operand(1, -1);
    if (!isOuter && isa<arith::IndexCastOp, arith::ExtSIOp>(op))
      return operand(0, 1);
    std::optional<double> left, right;
    if (op->getNumOperands() == 2) {
      left = findNumber(op->getOperand(0));
      right = findNumber(op->getOperand(1));
    }
    if (isa<arith::MulIOp, arith::MulFOp>(op) && (left || right))
      return operand(right ? 0 : 1, right ? *right : *left);
    if (isa<arith::DivFOp>(op) && right && *right != 0)
      return operand(0, 1 / *right);
    if (isa<arith::ShLIOp>(op) && right && *right >= 0 && *right < 62)
      return operand(0, std::exp2(*right));
  }
  if (isOuter || sum.terms.size() == kMostTerms)
    return false;
  for (auto &[term, known] : sum.terms)
    if (term == value) {
      known += factor;
      return true;
    }
  sum.terms.push_back({value, factor});
  return true;
}

std::optional<Sum> ranges::findSum(Value value) {
  Sum sum;
  sum.rounds = isa<FloatType>(getElementTypeOrSelf(value));
  if (!addTo(sum, value, 1, /*isOuter=*/true))
    return std::nullopt;
  llvm::erase_if(sum.terms, [](const auto &term) { return term.second == 0; });
  return sum;
}

namespace {
/// The values of a share: `steps` strides from `start` on.
struct Part {
  Share &share;
  Interval limit;
  double start, steps, least, most;

  explicit Part(Share &share)
      : share(share), limit(share.limit.value_or(Interval())) {
    start = share.fixed              ? share.fixed->low
            : limit.low != -kNoBound ? limit.low
                                     : std::min(limit.high, 0.0);
    steps = least =
        share.fixed ? std::ceil((share.fixed->high - start) / share.stride) : 0;
    most = std::max(least, std::floor((limit.high - start) / share.stride));
  }
  double unit() const { return share.factor * share.stride; }
  double size() const { return std::abs(unit()); }
  Interval get() const { return {start, start + steps * share.stride}; }
  Interval inSum() const { return get().times(share.factor); }
};
} // namespace

/// Moves one of the parts so that the sum of all is in the range, with fewer
/// values of it where some would be beyond the other end.
static bool moveInto(Interval range, ArrayRef<Part *> smallestFirst) {
  Interval sum{0, 0};
  for (const Part *part : smallestFirst)
    sum = sum + part->inSum();
  if (range.holds(sum))
    return true;
  for (bool mayDrop : {false, true})
    for (Part *part : smallestFirst) {
      if (part->share.fixed)
        continue;
      bool isUp = sum.low < range.low;
      double by = std::ceil(
          (isUp ? range.low - sum.low : sum.high - range.high) / part->size());
      double over = isUp ? sum.high + by * part->size() - range.high
                         : range.low - (sum.low - by * part->size());
      double dropped = std::max(0.0, std::ceil(over / part->size()));
      if (dropped > (mayDrop ? part->steps : 0))
        continue;
      Part moved = *part;
      bool isAhead = isUp == (part->unit() > 0);
      // What is dropped is at the end that it moves to.
      moved.start += (isAhead ? by : dropped - by) * part->share.stride;
      moved.steps -= dropped;
      if (!moved.limit.holds(moved.get()))
        continue;
      part->start = moved.start, part->steps = moved.steps;
      return true;
    }
  return false;
}

bool ranges::shareOut(Interval range, llvm::MutableArrayRef<Share> shares) {
  if (!range.isBounded())
    return false;
  SmallVector<Part> parts;
  double rest = range.high - range.low;
  for (Share &share : shares)
    rest -= parts.emplace_back(share).least * parts.back().size();
  if (rest < 0)
    return false;
  auto order = llvm::map_to_vector(parts, [](Part &part) { return &part; });
  llvm::stable_sort(order, [&](Part *a, Part *b) {
    return std::make_tuple(-a->size(), -a->least, a->most) <
           std::make_tuple(-b->size(), -b->least, b->most);
  });
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    double step = order[begin]->size();
    end = begin;
    while (end < order.size() && order[end]->size() == step)
      rest += order[end++]->least * step;
    bool isSmallest = end == order.size();
    double count = isSmallest ? std::floor(rest / step)
                              : std::floor((rest + 1) / step) - 1;
    if (count < 1 && rest >= step)
      count = 1;
    for (size_t i = begin; i < end; ++i) {
      Part &part = *order[i];
      double own = std::ceil(std::max(count, 0.0) / (end - i));
      part.steps = std::max(part.least, std::min(own, part.most));
      count -= part.steps;
      rest -= step * part.steps;
    }
  }
  // What is left where others are limited.
  for (Part *part : order) {
    double more =
        std::min(std::floor(rest / part->size()), part->most - part->steps);
    part->steps += more;
    rest -= more * part->size();
  }
  std::reverse(order.begin(), order.end());
  if (!moveInto(range, order))
    return false;
  for (Part &part : parts)
    part.share.given = part.get();
  return true;
}
