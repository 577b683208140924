//===- ScoreRange.cpp - How large scores can be ---------------------------===//

#include "passes/attention/ScoreRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include <cfloat>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::dist;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr FloatRange kAnything = {-kInfinity, kInfinity, true};

namespace {
class Ranges {
public:
  void set(Value value, FloatRange range) { floats[value] = range; }
  void set(Value value, ConstantIntRanges range) { integers[value] = range; }
  FloatRange getFloat(Value value);
  ConstantIntRanges getInteger(Value value);
  void visit(Operation *op);

private:
  FloatRange infer(Operation *op);
  std::optional<bool> compare(arith::CmpFOp op);

  llvm::DenseMap<Value, FloatRange> floats;
  llvm::DenseMap<Value, std::optional<ConstantIntRanges>> integers;
};
} // namespace

FloatRange Ranges::getFloat(Value value) {
  if (auto it = floats.find(value); it != floats.end())
    return it->second;
  APFloat constant(0.0f);
  if (!matchPattern(value, m_ConstantFloat(&constant)))
    return kAnything;
  bool loses;
  constant.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  double number = constant.convertToDouble();
  return constant.isNaN() ? kAnything : FloatRange{number, number, false};
}

ConstantIntRanges Ranges::getInteger(Value value) {
  if (auto it = integers.find(value); it != integers.end())
    return *it->second;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return ConstantIntRanges::constant(constant);
  // From outside of the body; what is inside was visited in its order.
  if (auto made = value.getDefiningOp<InferIntRangeInterface>()) {
    visit(made);
    if (auto it = integers.find(value); it != integers.end())
      return *it->second;
  }
  return ConstantIntRanges::maxRange(
      ConstantIntRanges::getStorageBitwidth(value.getType()));
}

/// Whether it is known how a comparison ends.
std::optional<bool> Ranges::compare(arith::CmpFOp op) {
  FloatRange x = getFloat(op.getLhs()), y = getFloat(op.getRhs());
  if (x.isNan || y.isNan)
    return std::nullopt;
  auto known = [](bool always, bool never) -> std::optional<bool> {
    if (always || never)
      return always;
    return std::nullopt;
  };
  bool same = x.low == x.high && y.low == y.high && x.low == y.low;
  bool differ = x.high < y.low || y.high < x.low;
  using Predicate = arith::CmpFPredicate;
  switch (op.getPredicate()) {
  case Predicate::OEQ:
  case Predicate::UEQ:
    return known(same, differ);
  case Predicate::ONE:
  case Predicate::UNE:
    return known(differ, same);
  case Predicate::OLT:
  case Predicate::ULT:
    return known(x.high < y.low, x.low >= y.high);
  case Predicate::OLE:
  case Predicate::ULE:
    return known(x.high <= y.low, x.low > y.high);
  case Predicate::OGT:
  case Predicate::UGT:
    return known(x.low > y.high, x.high <= y.low);
  case Predicate::OGE:
  case Predicate::UGE:
    return known(x.low >= y.high, x.high < y.low);
  case Predicate::UNO:
    return false;
  case Predicate::ORD:
    return true;
  default:
    return std::nullopt;
  }
}

static FloatRange add(FloatRange x, FloatRange y) {
  auto meet = [](double up, double down) {
    return up == kInfinity && down <= -FLT_MAX;
  };
  if (x.isNan || y.isNan || meet(x.high, y.low) || meet(y.high, x.low))
    return kAnything;
  return {x.low + y.low, x.high + y.high, false};
}

static FloatRange multiply(FloatRange x, FloatRange y) {
  auto isLarge = [](FloatRange range) {
    return range.low <= -FLT_MAX || range.high >= FLT_MAX;
  };
  auto hasZero = [](FloatRange range) {
    return range.low <= 0 && range.high >= 0;
  };
  if (x.isNan || y.isNan || (isLarge(x) && hasZero(y)) ||
      (isLarge(y) && hasZero(x)))
    return kAnything;
  double products[] = {x.low * y.low, x.low * y.high, x.high * y.low,
                       x.high * y.high};
  return {*std::min_element(products, products + 4),
          *std::max_element(products, products + 4), false};
}

/// A range rounded to a type that is narrower than f32; for f16 its ends are
/// soon infinite. Rounding to f32 changes less than comparisons tolerate.
static FloatRange round(FloatRange range, Type type) {
  if (range.isNan || (!type.isBF16() && !type.isF16()))
    return range;
  auto round = [&](double number) {
    APFloat rounded(number);
    bool loses;
    rounded.convert(cast<FloatType>(type).getFloatSemantics(),
                    APFloat::rmNearestTiesToEven, &loses);
    rounded.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                    &loses);
    return rounded.convertToDouble();
  };
  return {round(range.low), round(range.high), false};
}

FloatRange Ranges::infer(Operation *op) {
  auto of = [&](unsigned operand) { return getFloat(op->getOperand(operand)); };
  auto negated = [](FloatRange x) {
    return FloatRange{-x.high, -x.low, x.isNan};
  };
  if (isa<arith::AddFOp>(op))
    return add(of(0), of(1));
  if (isa<arith::SubFOp>(op))
    return add(of(0), negated(of(1)));
  if (isa<arith::MulFOp>(op))
    return multiply(of(0), of(1));
  if (isa<arith::DivFOp>(op)) {
    FloatRange by = of(1);
    if (by.isNan || (by.low <= 0 && by.high >= 0))
      return kAnything;
    return multiply(of(0), {1 / by.high, 1 / by.low, false});
  }
  if (isa<arith::NegFOp>(op))
    return negated(of(0));
  if (isa<arith::MaximumFOp>(op))
    return {std::max(of(0).low, of(1).low), std::max(of(0).high, of(1).high),
            of(0).isNan || of(1).isNan};
  if (isa<arith::MinimumFOp>(op))
    return {std::min(of(0).low, of(1).low), std::min(of(0).high, of(1).high),
            of(0).isNan || of(1).isNan};
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return of(0);
  if (isa<math::TanhOp>(op))
    return {-1, 1, of(0).isNan};
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    // Rounded, and perhaps to infinity.
    Type type = op->getResult(0).getType();
    if (!type.isF32() && !type.isF64())
      return kAnything;
    ConstantIntRanges from = getInteger(op->getOperand(0));
    bool isSigned = isa<arith::SIToFPOp>(op);
    auto toFloat = [&](const APInt &number) {
      return number.roundToDouble(isSigned);
    };
    auto round = [&](double number, double direction) {
      if (number == std::floor(number) && std::abs(number) <= 1 << 24)
        return number;
      return number + std::abs(number) * direction * 0x1p-23;
    };
    return {round(toFloat(isSigned ? from.smin() : from.umin()), -1),
            round(toFloat(isSigned ? from.smax() : from.umax()), 1), false};
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    FloatRange yes = of(1), no = of(2);
    if (std::optional<APInt> chosen =
            getInteger(select.getCondition()).getConstantValue())
      return chosen->isZero() ? no : yes;
    return {std::min(yes.low, no.low), std::max(yes.high, no.high),
            yes.isNan || no.isNan};
  }
  return kAnything;
}

void Ranges::visit(Operation *op) {
  if (op->getNumResults() != 1)
    return;
  Value result = op->getResult(0);
  if (isa<FloatType>(result.getType())) {
    if (!op->hasTrait<OpTrait::ConstantLike>())
      set(result, round(infer(op), result.getType()));
    return;
  }
  if (auto compared = dyn_cast<arith::CmpFOp>(op)) {
    if (std::optional<bool> known = compare(compared))
      set(result, ConstantIntRanges::constant(APInt(1, *known)));
    return;
  }
  auto inferrable = dyn_cast<InferIntRangeInterface>(op);
  if (!inferrable || !llvm::all_of(op->getOperandTypes(),
                                   llvm::IsaPred<IntegerType, IndexType>))
    return;
  SmallVector<ConstantIntRanges> arguments;
  for (Value operand : op->getOperands())
    arguments.push_back(getInteger(operand));
  inferrable.inferResultRanges(
      arguments,
      [&](Value value, const ConstantIntRanges &range) { set(value, range); });
}

SmallVector<Operation *> mlir::dist::getMakers(Region &region,
                                               unsigned yielded) {
  Block &body = region.front();
  DenseSet<Operation *> needed;
  SmallVector<Value> pending = {body.getTerminator()->getOperand(yielded)};
  while (!pending.empty()) {
    Operation *maker = pending.pop_back_val().getDefiningOp();
    if (maker && maker->getBlock() == &body && needed.insert(maker).second)
      llvm::append_range(pending, maker->getOperands());
  }
  SmallVector<Operation *> inOrder;
  for (Operation &inner : body)
    if (needed.contains(&inner))
      inOrder.push_back(&inner);
  return inOrder;
}

SmallVector<Value> mlir::dist::getConditions(AttentionLikeOpInterface op) {
  SmallVector<Value> conditions;
  for (Operation *inner : getMakers(op.getBody()))
    if (inner->getNumResults() == 1 &&
        inner->getResult(0).getType().isInteger(1))
      conditions.push_back(inner->getResult(0));
  return conditions;
}

double mlir::dist::getLargestScore(AttentionLikeOpInterface op) {
  for (Operation *inner : getMakers(op.getBody()))
    if (llvm::any_of(inner->getResultTypes(),
                     [](Type type) { return type.isF16(); }))
      return 65504;
  return kLargestScore;
}

ScoreFacts mlir::dist::getScoreFacts(AttentionLikeOpInterface op,
                                     std::pair<int64_t, int64_t> queries,
                                     std::pair<int64_t, int64_t> keys,
                                     ArrayRef<ExtraRange> extras,
                                     ArrayRef<KnownInteger> known,
                                     std::optional<double> largest) {
  Block &body = op.getBody().front();
  Ranges ranges;
  auto setIndex = [&](unsigned dim, std::pair<int64_t, int64_t> bounds) {
    ranges.set(body.getArgument(1 + op.getExtras().size() + dim),
               ConstantIntRanges::fromSigned(
                   APInt(64, bounds.first, /*isSigned=*/true),
                   APInt(64, bounds.second, /*isSigned=*/true)));
  };
  SmallVector<int64_t> sizes = op.getDimSizes();
  for (unsigned batch = 0; batch < op.getNumBatches(); ++batch)
    setIndex(batch, {0, sizes[batch] - 1});
  setIndex(op.getQueryDim(), queries);
  setIndex(op.getKeyDim(), keys);
  double most = largest.value_or(getLargestScore(op));
  ranges.set(body.getArgument(0), FloatRange{-most, most, false});
  for (auto [number, extra] : llvm::enumerate(extras)) {
    Value element = body.getArgument(1 + number);
    if (extra.floats)
      ranges.set(element, *extra.floats);
    if (extra.integers)
      ranges.set(element, *extra.integers);
  }
  for (auto [value, number] : known)
    ranges.set(value, ConstantIntRanges::constant(
                          APInt(64, number, /*isSigned=*/true)));
  for (Operation *inner : getMakers(op.getBody()))
    ranges.visit(inner);
  ScoreFacts facts;
  facts.x = ranges.getFloat(body.getTerminator()->getOperand(0));
  for (Value condition : getConditions(op)) {
    std::optional<APInt> known =
        ranges.getInteger(condition).getConstantValue();
    facts.conditions.push_back(known ? std::optional<bool>(!known->isZero())
                                     : std::nullopt);
  }
  return facts;
}

bool mlir::dist::isZeroOfZero(AttentionAdjointOp op, bool areExtrasSmall) {
  Block &body = op.getAdjoint().front();
  Ranges ranges;
  FloatRange small = {-kLargestScore, kLargestScore, false};
  ranges.set(body.getArgument(0), small);
  ranges.set(body.getArgument(1), FloatRange{0, 0, false});
  if (areExtrasSmall)
    for (unsigned extra = 0; extra < op.getExtras().size(); ++extra)
      if (body.getArgument(2 + extra).getType() == op.getScoreType())
        ranges.set(body.getArgument(2 + extra), small);
  for (Operation &inner : body.without_terminator())
    ranges.visit(&inner);
  return llvm::all_of(body.getTerminator()->getOperands(), [&](Value made) {
    FloatRange of = ranges.getFloat(made);
    return !of.isNan && of.low == 0 && of.high == 0;
  });
}
