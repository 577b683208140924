//===- Sums.cpp - Sums of several values, and their shares ----------------===//

#include "tools/driver/ranges/Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "tools/driver/ranges/Values.h"
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

bool ranges::shareOut(Interval range, llvm::MutableArrayRef<Share> shares) {
  if (!range.isBounded())
    return false;
  // Each value is where it starts and a number of steps.
  SmallVector<double> start, steps, most;
  double fixed = 0;
  for (const Share &share : shares) {
    bool hasLimit = share.limit && share.limit->isBounded();
    start.push_back(hasLimit ? share.limit->low : 0);
    most.push_back(
        hasLimit
            ? std::floor((share.limit->high - share.limit->low) / share.stride)
            : kNoBound);
    steps.push_back(0);
    fixed += share.factor * start.back();
  }
  auto size = [&](size_t i) {
    return std::abs(shares[i].factor) * shares[i].stride;
  };
  auto order = llvm::to_vector(llvm::seq<size_t>(0, shares.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::make_tuple(-size(a), most[a], a) <
           std::make_tuple(-size(b), most[b], b);
  });
  double rest = range.high - range.low;
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    double step = size(order[begin]);
    end = begin;
    while (end < order.size() && size(order[end]) == step)
      ++end;
    bool isSmallest = end == order.size();
    double count = isSmallest ? std::floor(rest / step)
                              : std::floor((rest + 1) / step) - 1;
    if (count < 1 && rest >= step)
      count = 1;
    for (size_t i = begin; i < end && count > 0; ++i) {
      double own = std::ceil(count / (end - i));
      steps[order[i]] = std::min(own, most[order[i]]);
      count -= steps[order[i]];
      rest -= step * steps[order[i]];
    }
  }
  // What is left where others are limited.
  for (size_t i : order) {
    double more = std::min(std::floor(rest / size(i)), most[i] - steps[i]);
    steps[i] += more;
    rest -= more * size(i);
  }
  // Moves a term so that the sum is in the range.
  double low = fixed, high = fixed;
  for (size_t i = 0; i < shares.size(); ++i)
    (shares[i].factor < 0 ? low : high) +=
        shares[i].factor * shares[i].stride * steps[i];
  double least = range.low - low, largest = range.high - high;
  if (least > 0 || largest < 0) {
    bool isMoved = false;
    for (size_t i : llvm::reverse(order)) {
      double unit = shares[i].factor * shares[i].stride;
      double by = least > 0 ? least : largest;
      double moves =
          unit > 0 == by > 0 ? std::ceil(by / unit) : std::floor(by / unit);
      bool fits = moves * unit >= least && moves * unit <= largest;
      bool isAllowed =
          most[i] == kNoBound || (moves >= 0 && moves + steps[i] <= most[i]);
      if (!fits || !isAllowed)
        continue;
      start[i] += moves * shares[i].stride;
      isMoved = true;
      break;
    }
    if (!isMoved)
      return false;
  }
  for (size_t i = 0; i < shares.size(); ++i)
    shares[i].given = {start[i], start[i] + steps[i] * shares[i].stride};
  return true;
}
