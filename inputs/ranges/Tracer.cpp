//===- Tracer.cpp - Follows indices back to arguments ---------------------===//

#include "inputs/ranges/Tracer.h"
#include "dialects/dist/Utils/Program.h"
#include "inputs/ranges/Values.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::ranges;

Tracer::Tracer(ModuleOp module)
    : module(module), entry(getEntryFunction(module)) {
  module.walk(
      [&](func::CallOp call) { calls[call.getCallee()].push_back(call); });
}

void Tracer::finish() {
  isFinishing = true;
  // What must be in range first, and of that small ranges: they leave large
  // ones more than these leave them.
  SmallVector<std::tuple<bool, double, size_t>> order;
  for (auto [i, entry] : llvm::enumerate(deferred)) {
    Interval range = entry.second.worth & entry.second.legal;
    order.push_back({entry.second.legal.isAll(), range.high - range.low, i});
  }
  llvm::sort(order);
  for (auto [isFree, size, i] : order)
    traceOp(cast<OpResult>(deferred[i].first), deferred[i].second);
}

const FoundByRegion *Tracer::getFound(Value argument) const {
  auto known = found.find(argument);
  return known == found.end() ? nullptr : &known->second;
}

/// The linalg op in whose body a number is.
static linalg::LinalgOp getBody(Value value) {
  Operation *op = value.getParentBlock()->getParentOp();
  if (auto structured = dyn_cast_or_null<linalg::LinalgOp>(op))
    return structured;
  return op ? op->getParentOfType<linalg::LinalgOp>() : linalg::LinalgOp();
}

void Tracer::trace(Value value, Wanted wanted) {
  if (!getElementTypeOrSelf(value).isIntOrIndexOrFloat())
    return;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type && wanted.body != getBody(value)) {
    wanted.body = getBody(value);
    wanted.region =
        wanted.body ? getWhole(wanted.body.getStaticLoopRanges()) : Places();
  } else if (type &&
             wanted.region.size() != static_cast<size_t>(type.getRank())) {
    wanted = wanted.at(getWhole(type.getShape()));
  }
  if (wanted.worth.isEmpty())
    wanted.worth = Interval::none();
  if (wanted.worth.isEmpty() && wanted.legal.isAll())
    return;
  if (!visited[value.getAsOpaquePointer()].insert(wanted.key()).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value))
    traceArgument(argument, wanted);
  else
    traceOp(cast<OpResult>(value), wanted);
}

void Tracer::traceArgument(BlockArgument argument, const Wanted &wanted) {
  unsigned number = argument.getArgNumber();
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto op = dyn_cast<linalg::LinalgOp>(parent)) {
    OpOperand *elements = op.getMatchingOpOperand(argument);
    auto type = dyn_cast<RankedTensorType>(elements->get().getType());
    return trace(elements->get(),
                 wanted.at(type ? getRead(op.getMatchingIndexingMap(elements),
                                          type.getShape(), wanted.region)
                                : Places()));
  }
  if (parent == entry) {
    Found &known =
        found[argument]
            .try_emplace(std::get<4>(wanted.key()), Found{wanted.region})
            .first->second;
    known.worth = known.worth | wanted.worth;
    known.legal = known.legal & wanted.legal;
  } else if (auto function = dyn_cast<func::FuncOp>(parent)) {
    for (func::CallOp call : calls[function.getName()])
      trace(call.getOperand(number), wanted);
  } else {
    traceLoop(argument, wanted);
  }
}

Wanted ranges::solve(const Wanted &wanted, Interval offset, double factor,
                     Type type) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(type));
  int exponent;
  bool isExact = offset.low == 0 && offset.high == 0 &&
                 std::abs(std::frexp(factor, &exponent)) == 0.5;
  auto divide = [&](Interval of) {
    if (isFloat && !isExact)
      of = of.shrunk(getRounding(type));
    of = factor > 0 ? Interval{of.low / factor, of.high / factor}
                    : Interval{of.high / factor, of.low / factor};
    return isFloat ? of : of.integers();
  };
  Interval worth = wanted.worth.isEmpty() ? Interval::none()
                                          : wanted.worth + offset.negated();
  Interval legal{wanted.legal.low - offset.low,
                 wanted.legal.high - offset.high};
  legal = divide(legal);
  // No value is in range wherever it is used: the program takes care of it.
  if (legal.isEmpty() && !wanted.legal.isEmpty())
    legal = {};
  return wanted.with(worth.isEmpty() ? worth : divide(worth), legal);
}

/// Likewise for `op`, which is x, or x with a constant.
static std::optional<Wanted> invertStep(Operation *op, const Wanted &wanted,
                                        Value &x) {
  if (std::optional<Wanted> inside = invert(op, wanted, x))
    return inside;
  if (op->getNumOperands() != 2)
    return std::nullopt;
  std::optional<double> left = findNumber(op->getOperand(0)),
                        right = findNumber(op->getOperand(1));
  if (left.has_value() == right.has_value())
    return std::nullopt;
  x = op->getOperand(right ? 0 : 1);
  double c = right ? *right : *left;
  Interval offset{c, c}, none{0, 0};
  if (isa<arith::AddIOp>(op))
    return solve(wanted, offset, 1, x.getType());
  if (isa<arith::SubIOp>(op))
    return right ? solve(wanted, offset.negated(), 1, x.getType())
                 : solve(wanted, offset, -1, x.getType());
  if (isa<arith::MulIOp>(op) && c != 0)
    return solve(wanted, none, c, x.getType());
  return std::nullopt;
}

/// x < C ? f(x) : g(x), with the condition on x that each side stands under.
bool Tracer::traceSelect(arith::SelectOp op, const Wanted &wanted) {
  auto compare = op.getCondition().getDefiningOp<arith::CmpIOp>();
  std::optional<double> c =
      compare ? findNumber(compare.getRhs()) : std::nullopt;
  if (!c)
    return false;
  Value x = skipCasts(compare.getLhs());
  Interval below{-kNoBound, *c - 1}, above{*c + 1, kNoBound};
  Interval notBelow{*c, kNoBound}, notAbove{-kNoBound, *c};
  Interval whenTrue, whenFalse;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::slt:
    whenTrue = below, whenFalse = notBelow;
    break;
  case arith::CmpIPredicate::sle:
    whenTrue = notAbove, whenFalse = above;
    break;
  case arith::CmpIPredicate::sgt:
    whenTrue = above, whenFalse = notAbove;
    break;
  case arith::CmpIPredicate::sge:
    whenTrue = notBelow, whenFalse = below;
    break;
  default:
    return false;
  }
  const Interval none = Interval::none();
  // Of x, under the condition that selects the side. What another value is
  // selected for is asked of that value, wherever it is read.
  bool isOfX = false;
  auto find = [&](Value side, Interval condition) -> Wanted {
    if (auto number = findNumber(side)) {
      Interval same{*number, *number};
      return wanted.with(none,
                         (same & wanted.legal).isEmpty() ? none : condition);
    }
    Wanted inside = wanted;
    for (Value at = side; skipCasts(at) != x;) {
      Operation *step = at.getDefiningOp();
      std::optional<Wanted> next =
          step ? invertStep(step, inside, at) : std::nullopt;
      if (!next) {
        trace(side, wanted.with(wanted.worth, Interval()));
        return wanted.with(none, condition);
      }
      inside = *next;
    }
    isOfX = true;
    return inside.with(inside.worth & condition, inside.legal & condition);
  };
  Wanted first = find(op.getTrueValue(), whenTrue);
  Wanted second = find(op.getFalseValue(), whenFalse);
  if (!isOfX)
    return true;
  // Of negative places that are counted from the end the others reach as much.
  Interval worth = first.worth | second.worth;
  Interval natural = worth & Interval::natural();
  trace(x, wanted.with(natural.isEmpty() ? worth : natural,
                       first.legal | second.legal));
  return true;
}

void Tracer::traceOp(OpResult result, const Wanted &wanted) {
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  Value x;
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (traceSelect(select, wanted))
      return;
    // A condition on the value itself says which of its values are read.
    for (Value side : {select.getTrueValue(), select.getFalseValue()})
      trace(side, mayShareInputs(select.getCondition(), side)
                      ? wanted.with(wanted.worth, Interval())
                      : wanted);
  } else if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    Wanted inside = wanted;
    inside.body = structured;
    inside.region = getLoops(
        structured,
        structured.getMatchingIndexingMap(structured.getDpsInitOperand(number)),
        wanted.region);
    trace(structured.getBlock()->getTerminator()->getOperand(number), inside);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Region &region : branch->getRegions())
      if (!region.empty())
        trace(region.front().getTerminator()->getOperand(number), wanted);
  } else if (traceLoop(result, wanted)) {
    return;
  } else if (auto call = dyn_cast<func::CallOp>(op)) {
    auto function = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (function && !function.isExternal())
      function.walk(
          [&](func::ReturnOp end) { trace(end.getOperand(number), wanted); });
  } else if (!traceMove(result, wanted) && op->getNumResults() == 1) {
    if (std::optional<Wanted> inside = invert(op, wanted, x))
      trace(x, *inside);
    else if (!traceSum(result, wanted))
      traceBinary(op, wanted);
  }
}
