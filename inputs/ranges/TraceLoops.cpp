//===- TraceLoops.cpp - What loops carry and count ------------------------===//

#include "inputs/ranges/Sums.h"
#include "inputs/ranges/Tracer.h"
#include "inputs/ranges/Values.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::ranges;

/// The loop whose second part `value` is an argument of.
static scf::WhileOp getLoopOfAfter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument
                  ? dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp())
                  : scf::WhileOp();
  return loop && argument.getOwner() == loop.getAfterBody() ? loop
                                                            : scf::WhileOp();
}

/// What an argument of such a part was in the first; others as they are.
static Value getBefore(Value value) {
  scf::WhileOp loop = getLoopOfAfter(value);
  return loop ? loop.getConditionOp()
                    .getArgs()[cast<BlockArgument>(value).getArgNumber()]
              : value;
}

/// What `next` adds to `carried` in each turn, if it is that.
static std::optional<Interval> findStep(Value next, Value carried) {
  if (getBefore(next) == carried)
    return Interval{0, 0};
  std::optional<Sum> sum = findSum(next);
  if (!sum)
    return std::nullopt;
  Interval step{sum->constant, sum->constant};
  bool isCarried = false;
  for (auto [term, factor] : sum->terms) {
    if (getBefore(term) == carried && factor == 1) {
      isCarried = true;
      continue;
    }
    std::optional<Interval> bounds = findBounds(term);
    if (!bounds)
      return std::nullopt;
    step = step + bounds->times(factor);
  }
  return isCarried ? std::optional<Interval>(step) : std::nullopt;
}

void Tracer::traceCarried(LoopLikeOpInterface loop, BlockArgument argument,
                          const Wanted &wanted, bool isResult) {
  OpOperand *init = loop.getTiedLoopInit(argument);
  OpOperand *next = loop.getTiedLoopYieldedValue(argument);
  if (!init)
    return;
  if (!next || !active.insert(argument).second)
    return next ? void() : trace(init->get(), wanted);
  std::optional<Interval> step = findStep(next->get(), argument);
  if (!step) {
    trace(init->get(), wanted);
    trace(next->get(), wanted);
  } else if (step->low == 0 && step->high == 0) {
    trace(init->get(), wanted);
  } else if (std::optional<int64_t> turns = countTurns(loop);
             turns && *turns > 0) {
    // All that it is in some turn.
    double moves = isResult ? *turns : *turns - 1;
    Interval moved{step->low * moves, step->high * moves};
    if (!isResult)
      moved = moved | Interval{0, 0};
    trace(init->get(), solve(wanted, moved, 1, argument.getType()));
  } else if ((step->low >= 0 && wanted.legal.high == kNoBound) ||
             (step->high <= 0 && wanted.legal.low == -kNoBound)) {
    // However often the loop turns.
    trace(init->get(), wanted);
  }
  active.erase(argument);
}

/// The number of a turn is below the upper bound.
void Tracer::traceTurn(scf::ForOp loop, const Wanted &wanted) {
  Value low = loop.getLowerBound(), high = loop.getUpperBound();
  if (!findNumber(low))
    trace(low, wanted.with(Interval::none(), {wanted.legal.low, kNoBound}));
  if (!findNumber(high))
    trace(high, solve(wanted.with(wanted.worth, {-kNoBound, wanted.legal.high}),
                      {-1, -1}, 1, high.getType()));
}

/// What the second part of a loop takes has passed the loop's condition.
void Tracer::traceAfter(scf::WhileOp loop, Value before, const Wanted &wanted) {
  Wanted passed = wanted;
  SmallVector<Value> conditions = {loop.getConditionOp().getCondition()};
  while (!conditions.empty()) {
    Operation *op = conditions.pop_back_val().getDefiningOp();
    if (isa_and_nonnull<arith::AndIOp>(op))
      conditions.append(op->operand_begin(), op->operand_end());
    auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
    if (!compare)
      continue;
    using Predicate = arith::CmpIPredicate;
    Value value = compare.getLhs(), bound = compare.getRhs();
    Predicate predicate = compare.getPredicate();
    bool isLess = predicate == Predicate::slt || predicate == Predicate::sle;
    bool isMore = predicate == Predicate::sgt || predicate == Predicate::sge;
    bool isStrict = predicate == Predicate::slt || predicate == Predicate::sgt;
    if (skipCasts(bound) == skipCasts(before)) {
      std::swap(value, bound);
      std::swap(isLess, isMore);
    }
    if (skipCasts(value) != skipCasts(before) || (!isLess && !isMore))
      continue;
    // Of the bound, given what is wanted of the last that passes.
    double last = !isStrict ? 0 : isLess ? -1 : 1;
    if (std::optional<double> number = findNumber(bound)) {
      double end = *number + last;
      passed.worth = passed.worth & (isLess ? Interval{-kNoBound, end}
                                            : Interval{end, kNoBound});
      if (isLess ? end > wanted.legal.high : end < wanted.legal.low)
        continue;
    } else {
      Interval legal = isLess ? Interval{-kNoBound, wanted.legal.high}
                              : Interval{wanted.legal.low, kNoBound};
      trace(bound, solve(wanted.with(wanted.worth, legal), {last, last}, 1,
                         bound.getType()));
    }
    (isLess ? passed.legal.high : passed.legal.low) =
        isLess ? kNoBound : -kNoBound;
  }
  trace(before, passed);
}

bool Tracer::traceLoop(Value value, const Wanted &wanted) {
  if (scf::WhileOp loop = getLoopOfAfter(value)) {
    traceAfter(loop, getBefore(value), wanted);
    return true;
  }
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op =
      argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  if (!loop)
    return false;
  auto counted = dyn_cast<scf::ForOp>(op);
  if (argument && counted && argument == counted.getInductionVar()) {
    traceTurn(counted, wanted);
  } else if (argument) {
    traceCarried(loop, argument, wanted, /*isResult=*/false);
  } else if (auto open = dyn_cast<scf::WhileOp>(op)) {
    trace(open.getConditionOp()
              .getArgs()[cast<OpResult>(value).getResultNumber()],
          wanted);
  } else if (BlockArgument carried =
                 loop.getTiedLoopRegionIterArg(cast<OpResult>(value))) {
    traceCarried(loop, carried, wanted, /*isResult=*/true);
  }
  return true;
}
