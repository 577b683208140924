//===- Values.cpp - What is known of integers in a program ----------------===//

#include "inputs/ranges/Values.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::ranges;

/// Deeper chains of operations are not looked into.
static constexpr int kDeepest = 64;

static bool hasReduction(linalg::LinalgOp op) {
  return op.getNumReductionLoops() > 0;
}

bool ranges::isPartialResult(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto op = argument
                ? dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp())
                : linalg::LinalgOp();
  return op && hasReduction(op) &&
         op.isDpsInit(op.getMatchingOpOperand(argument));
}

std::optional<int64_t> ranges::countReduced(Operation *op) {
  auto structured = cast<linalg::LinalgOp>(op);
  int64_t count = 1;
  for (auto [size, kind] :
       llvm::zip_equal(structured.getStaticLoopRanges(),
                       structured.getIteratorTypesArray())) {
    if (kind != utils::IteratorType::reduction)
      continue;
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    count *= size;
  }
  return count;
}

Value ranges::findOrigin(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto op = dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp());
    return op && !isPartialResult(value)
               ? op.getMatchingOpOperand(argument)->get()
               : Value();
  }
  Operation *op = value.getDefiningOp();
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.getBlock()->getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber());
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
             tensor::ExtractSliceOp, tensor::SplatOp, tensor::ExtractOp,
             tensor::GatherOp>(op)
             ? op->getOperand(0)
             : Value();
}

Value ranges::skipCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
             arith::ExtUIOp, arith::TruncIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

std::optional<double> ranges::findNumber(Value value) {
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return static_cast<double>(integer.getSExtValue());
  FloatAttr real;
  if (matchPattern(value, m_Constant(&real)))
    return real.getValueAsDouble();
  DenseFPElementsAttr reals;
  if (matchPattern(value, m_Constant(&reals)) && reals.isSplat())
    return reals.getSplatValue<FloatAttr>().getValueAsDouble();
  if (Value origin = findOrigin(value))
    return findNumber(origin);
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp,
                         arith::ExtFOp, arith::SIToFPOp>(op)
             ? findNumber(op->getOperand(0))
             : std::nullopt;
}

std::optional<int64_t> ranges::findCount(Value value) {
  value = skipCasts(value);
  Operation *op = value.getDefiningOp();
  if (auto number = dyn_cast_or_null<linalg::IndexOp>(op)) {
    auto loops = op->getParentOfType<linalg::LinalgOp>();
    int64_t count = loops.getStaticLoopRanges()[number.getDim()];
    return ShapedType::isDynamic(count) ? std::nullopt
                                        : std::optional<int64_t>(count);
  }
  DenseIntElementsAttr constant;
  if (isa<RankedTensorType>(value.getType()) &&
      matchPattern(value, m_Constant(&constant)) && !constant.isSplat()) {
    // 0, 1, 2, …
    int64_t next = 0;
    for (const APInt &number : constant.getValues<APInt>())
      if (number.getSExtValue() != next++)
        return std::nullopt;
    return next;
  }
  // A part of the numbers is no longer all of them.
  if (isa_and_nonnull<tensor::ExtractSliceOp, tensor::GatherOp>(op))
    return std::nullopt;
  Value origin = findOrigin(value);
  return origin ? findCount(origin) : std::nullopt;
}

std::optional<int64_t> ranges::countTurns(LoopLikeOpInterface loop) {
  auto range = dyn_cast<scf::ForOp>(loop.getOperation());
  if (!range)
    return std::nullopt;
  std::optional<APInt> count = range.getStaticTripCount();
  if (!count)
    return std::nullopt;
  return count->getSExtValue();
}

/// The values that each element of the result of `op` is one of; none for ops
/// that compute, or with several results.
static SmallVector<Value> getChoices(Operation *op) {
  if (op->getNumResults() != 1)
    return {};
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return {select.getTrueValue(), select.getFalseValue()};
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return {pad.getSource(), pad.getBody()->getTerminator()->getOperand(0)};
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return {insert.getSource(), insert.getDest()};
  if (auto insert = dyn_cast<tensor::InsertOp>(op))
    return {insert.getScalar(), insert.getDest()};
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return {branch.thenYield().getOperand(0), branch.elseYield().getOperand(0)};
  if (auto generate = dyn_cast<tensor::GenerateOp>(op))
    return {generate.getBody().front().getTerminator()->getOperand(0)};
  if (isa<tensor::ConcatOp, tensor::FromElementsOp>(op))
    return op->getOperands();
  return {};
}

namespace {
/// Follows values back to what bounds them.
class BoundsFinder {
public:
  explicit BoundsFinder(ArgumentBounds ofArgument) : ofArgument(ofArgument) {}

  std::optional<Interval> find(Value value, int depth) {
    if (depth > kDeepest)
      return std::nullopt;
    auto [place, isNew] = known.try_emplace(value);
    if (!isNew)
      return place->second;
    std::optional<Interval> bounds = findNew(value, depth);
    known[value] = bounds;
    return bounds;
  }

private:
  std::optional<Interval> findNew(Value value, int depth) {
    if (std::optional<double> number = findNumber(value))
      return Interval{*number, *number};
    if (std::optional<int64_t> count = findCount(value); count && *count > 0)
      return Interval{0, static_cast<double>(*count - 1)};
    if (Value origin = findOrigin(value))
      return find(origin, depth + 1);
    if (auto argument = dyn_cast<BlockArgument>(value))
      return ofBlockArgument(argument);
    return ofOp(value.getDefiningOp(), depth);
  }

  std::optional<Interval> ofBlockArgument(BlockArgument argument) {
    Operation *parent = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop || argument != loop.getInductionVar())
      return ofArgument && isa<FunctionOpInterface>(parent)
                 ? ofArgument(argument)
                 : std::nullopt;
    std::optional<double> low = findNumber(loop.getLowerBound()),
                          high = findNumber(loop.getUpperBound());
    if (!low || !high || *low >= *high)
      return std::nullopt;
    return Interval{*low, *high - 1};
  }

  std::optional<Interval> ofOp(Operation *op, int depth) {
    DenseIntElementsAttr constant;
    if (matchPattern(op, m_Constant(&constant))) {
      Interval all = Interval::none();
      for (const APInt &number : constant.getValues<APInt>()) {
        double value = number.getSExtValue();
        all = all | Interval{value, value};
      }
      return all.isEmpty() ? std::nullopt : std::optional<Interval>(all);
    }
    if (SmallVector<Value> choices = getChoices(op); !choices.empty()) {
      std::optional<Interval> all = Interval::none();
      for (Value choice : choices)
        if (std::optional<Interval> one = find(choice, depth + 1); one && all)
          all = *all | *one;
        else
          all = std::nullopt;
      return all;
    }
    auto operand = [&](unsigned i) {
      return find(op->getOperand(i), depth + 1);
    };
    if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::SIToFPOp>(op))
      return operand(0);
    // Of other floats only constants are known.
    if (isa<FloatType>(getElementTypeOrSelf(op->getResult(0))) &&
        !isa<arith::UIToFPOp>(op))
      return std::nullopt;
    if (isa<arith::ExtUIOp, arith::IndexCastUIOp, arith::UIToFPOp>(op)) {
      std::optional<Interval> inner = operand(0);
      if (inner && inner->low >= 0)
        return inner;
      Type from = getElementTypeOrSelf(op->getOperand(0));
      return from.isInteger(1) ? std::optional<Interval>(Interval{0, 1})
                               : std::nullopt;
    }
    if (op->getNumOperands() != 2 || op->getNumResults() != 1)
      return std::nullopt;
    return ofBinary(op, operand(0), operand(1));
  }

  std::optional<Interval> ofBinary(Operation *op, std::optional<Interval> left,
                                   std::optional<Interval> right) {
    if (!ofArgument && (!left || !right))
      return std::nullopt;
    if ((left && left->isEmpty()) || (right && right->isEmpty()))
      return Interval::none();
    // What is bounded on one side may make the result bounded on both.
    Interval a = left.value_or(Interval()), b = right.value_or(Interval());
    std::optional<Interval> out;
    bool isDivisor = right && b.low == b.high && b.low > 0;
    if (isa<arith::MinSIOp>(op))
      out = {std::min(a.low, b.low), std::min(a.high, b.high)};
    else if (isa<arith::MaxSIOp>(op))
      out = {std::max(a.low, b.low), std::max(a.high, b.high)};
    else if (isa<arith::RemSIOp>(op) && isDivisor)
      // Dividends are of at least 0, or are asked to be.
      out = {std::max(a.low, -(b.high - 1)) < 0 && left ? 1 - b.high : 0,
             std::min(std::max(a.high, 0.0), b.high - 1)};
    else if (isa<arith::RemUIOp>(op) && isDivisor)
      out = {0, b.high - 1};
    else if (isa<arith::AndIOp>(op) && right && b.low >= 0)
      out = {0, b.high};
    else if (!left || !right)
      return std::nullopt;
    else if (isa<arith::AddIOp>(op))
      out = a + b;
    else if (isa<arith::SubIOp>(op))
      out = a + b.negated();
    else if (isa<arith::MulIOp>(op)) {
      if (!a.isBounded() || !b.isBounded())
        return std::nullopt;
      auto [low, high] = std::minmax(
          {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
      out = {low, high};
    } else if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op) &&
               isDivisor && a.low >= 0)
      out = {std::floor(a.low / b.low), std::floor(a.high / b.low)};
    return out;
  }

  ArgumentBounds ofArgument;
  llvm::DenseMap<Value, std::optional<Interval>> known;
};
} // namespace

std::optional<Interval> ranges::findBounds(Value value,
                                           ArgumentBounds ofArgument) {
  return BoundsFinder(ofArgument).find(value, 0);
}

std::optional<Interval> ranges::findFixed(Value value) {
  std::optional<Interval> fixed =
      findBounds(value, [](Value) { return Interval::none(); });
  return fixed && fixed->isBounded() ? fixed : std::nullopt;
}

/// The arguments that `value` is made of; false if they are too many to follow.
static bool findArguments(Value value, llvm::SetVector<Value> &arguments) {
  constexpr size_t kMost = 256;
  llvm::SetVector<Value> reached;
  auto addOperands = [&](Operation *op) {
    reached.insert(op->operand_begin(), op->operand_end());
  };
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i) {
    if (reached.size() > kMost)
      return false;
    Value at = reached[i];
    Operation *op = at.getDefiningOp();
    if (!op) {
      op = cast<BlockArgument>(at).getOwner()->getParentOp();
      if (isa<FunctionOpInterface>(op)) {
        // Callers may give the same value twice.
        if (SymbolTable::getSymbolVisibility(op) ==
            SymbolTable::Visibility::Private)
          return false;
        arguments.insert(at);
        continue;
      }
    }
    addOperands(op);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        addOperands(block.getTerminator());
  }
  return true;
}

bool ranges::mayShareInputs(Value first, Value second) {
  llvm::SetVector<Value> ofFirst, ofSecond;
  return !findArguments(first, ofFirst) || !findArguments(second, ofSecond) ||
         llvm::any_of(ofFirst, [&](Value argument) {
           return ofSecond.contains(argument);
         });
}

static double findStride(Value value, int depth) {
  if (depth > kDeepest)
    return 1;
  value = skipCasts(value);
  if (Value origin = findOrigin(value))
    return findStride(origin, depth + 1);
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() != 2)
    return 1;
  std::optional<double> left = findNumber(op->getOperand(0)),
                        right = findNumber(op->getOperand(1));
  double factor = 1;
  if (isa<arith::MulIOp>(op) && (left || right))
    factor = std::abs(right ? *right : *left);
  else if (isa<arith::ShLIOp>(op) && right && *right >= 0 && *right < 62)
    factor = std::ldexp(1.0, static_cast<int>(*right));
  else
    return 1;
  return factor < 1
             ? 1
             : factor * findStride(op->getOperand(right ? 0 : 1), depth + 1);
}

double ranges::findStride(Value value) { return ::findStride(value, 0); }

Interval ranges::getHeld(Type type, bool isUnsigned) {
  type = getElementTypeOrSelf(type);
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (width >= 64)
    return isUnsigned ? Interval::natural() : Interval();
  double half = std::ldexp(1.0, width - 1);
  return isUnsigned ? Interval{0, 2 * half - 1} : Interval{-half, half - 1};
}
