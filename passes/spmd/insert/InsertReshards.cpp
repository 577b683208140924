//===- InsertReshards.cpp - Makes every disagreement an explicit reshard --===//
//
// Ops are visited in program order. Each decides which factor every axis
// shards, so that the fewest bytes move; operands that are placed
// otherwise are resharded before it, results that are meant to be after it.
// Pending reductions travel on through ops that commute with them and are
// completed where one does not.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/spmd/insert/Passes.h"
#include "passes/spmd/insert/ReshardInserter.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Ops in general
//===----------------------------------------------------------------------===//

bool ReshardInserter::placeResult(Value result, ShardingAttr natural,
                                  function_ref<std::string()> text) {
  ShardingAttr target = values.getTarget(result);
  if (!target || natural == target)
    return false;
  values.setPlacement(result, natural);
  Operation *op = result.getDefiningOp();
  // Pending: whoever needs it whole completes it. A cotangent is scattered when
  // all that is added to it has been.
  if (natural.withoutPartial() == target ||
      (graph.isBackward(op) && values.isScattered(natural, target)))
    return true;
  OpBuilder builder(context);
  builder.setInsertionPointAfter(op);
  unsigned cause = natural.isPartial() ? values.getPendingCause(result) : kNone;
  for (const auto &state : targets.getDims(graph.getIndex(result)))
    if (cause == kNone && state.sharding != layout.none())
      cause = state.cause;
  std::string because = values.getCauseText(cause);
  Value reshard =
      values.makeReshard(builder, op->getLoc(), result, natural, target,
                         because.empty() ? text() : because + ": " + text(),
                         op->getAttr(kScopeAttr));
  result.replaceAllUsesExcept(reshard, reshard.getDefiningOp());
  return true;
}

std::string ReshardInserter::getCause(OpOperand &operand, ShardingAttr now,
                                      ShardingAttr wanted,
                                      const ShardingRule &rule,
                                      const FactorChoice &choice,
                                      const PendingPlan &plan) const {
  unsigned number = operand.getOperandNumber();
  Value value = operand.get();
  Operation *op = operand.getOwner();
  unsigned index = graph.getIndex(value), cause = kNone;
  std::string text;
  if (now && now.isPartial() && !plan.isPassed[number]) {
    cause = values.getPendingCause(value);
    Operation *source = value.getDefiningOp();
    text = "completes the " +
           stringifyReductionKind(now.getPartialKind()).str() + " over " +
           printAxes(now.getPartialAxes()) + " that " +
           (source ? describeOp(source) : "an argument") +
           " left pending, for " + describeOp(op);
  } else if (index != kNone && !targets.getStoredAxes(index).empty()) {
    ArrayRef<AxisRefAttr> stored = targets.getStoredAxes(index);
    for (const auto &state : targets.getDims(index))
      if (cause == kNone && anyOverlap(stored, state.sharding.getAllAxes()))
        cause = state.cause;
    text = "gathers operand " + std::to_string(number) +
           ", a parameter only stored over " + printAxes(stored) + ", for " +
           describeOp(op);
  } else {
    // Who moves the axes that move; else who had put them there.
    SmallVector<AxisRefAttr> axes;
    unsigned origin = kNone;
    for (auto [dim, after] : llvm::enumerate(wanted.getDims())) {
      DimShardingAttr before = now ? now.getDims()[dim] : layout.none();
      if (now && before == after)
        continue;
      llvm::append_range(axes, before.getAllAxes());
      llvm::append_range(axes, after.getAllAxes());
      if (origin == kNone && index != kNone && before != layout.none())
        origin = targets.getDims(index)[dim].cause;
    }
    for (auto [factor, sharding] : llvm::enumerate(choice.factors))
      if (cause == kNone && sharding != layout.none() &&
          anyOverlap(axes, sharding.getAllAxes()))
        cause = choice.causes[factor];
    if (cause == kNone)
      cause = origin;
    // Why the operand cannot keep its placement.
    std::string whole;
    if (now)
      for (auto [dim, list] : llvm::enumerate(rule.operands[number].dims))
        if (now.getDims()[dim] != layout.none() &&
            llvm::all_of(list, [&](unsigned factor) {
              return rule.factors[factor].kind == FactorKind::Replicated;
            }))
          whole += (whole.empty() ? "" : ", ") + std::to_string(dim);
    text = "moves operand " + std::to_string(number) + " for " + describeOp(op);
    if (!whole.empty())
      text += ", which needs dimension " + whole + " whole";
    else if (SmallVector<AxisRefAttr, 4> used = choice.getAxes(); !used.empty())
      text += ", which is sharded over " + printAxes(used);
  }
  std::string because = values.getCauseText(cause);
  return because.empty() ? text : because + ": " + text;
}

LogicalResult ReshardInserter::bringOperands(Operation *op,
                                             const ShardingRule &rule,
                                             const FactorChoice &choice,
                                             const PendingPlan &plan) {
  SmallVector<DimShardingAttr, 4> dims;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    if (!rule.joinDims(layout, rule.operands[number], choice.factors, dims))
      return op->emitOpError() << "cannot be sharded as its operands are";
    ReductionKind kind = plan.kind;
    ArrayRef<AxisRefAttr> partial;
    if (plan.isPassed[number])
      partial = plan.passed;
    if (llvm::is_contained(rule.inits, number)) {
      const Reduced &result = plan.results[rule.getResultOfInit(op, number)];
      if (!result.axes.empty() && !isNeutral(value, result.kind)) {
        kind = result.kind;
        partial = result.axes;
      }
    }
    ShardingAttr now = values.getPlacement(value);
    ShardingAttr wanted = values.place(dims, kind, partial);
    Value ready = values.getAs(value, wanted, op, [&] {
      return getCause(operand, now, wanted, rule, choice, plan);
    });
    if (ready != value && plan.isPassed[number])
      exclusive.copy(value, ready);
    // What is only stored in parts is meant to be gathered.
    unsigned index = graph.getIndex(value);
    bool isStored = index != kNone && !targets.getStoredAxes(index).empty();
    if (ready != value && !isStored && !graph.isBackward(op))
      gathers.visit(operand, now, wanted, rule);
    operand.set(ready);
  }
  return success();
}

LogicalResult ReshardInserter::placeGeneralResults(Operation *op,
                                                   const ShardingRule &rule,
                                                   const FactorChoice &choice,
                                                   const PendingPlan &plan) {
  SmallVector<DimShardingAttr, 4> dims;
  SmallVector<Attribute, 2> shardings;
  bool changed = false;
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), rule.results)) {
    if (!isa<RankedTensorType>(result.getType())) {
      shardings.push_back(UnitAttr::get(context));
      continue;
    }
    if (!rule.joinDims(layout, tensor, choice.factors, dims))
      return op->emitOpError() << "cannot be sharded as its results are";
    const Reduced &left = plan.results[result.getResultNumber()];
    ShardingAttr natural = values.place(dims, left.kind, left.axes);
    shardings.push_back(natural);
    if (natural.isPartial()) {
      unsigned cause =
          left.factor == kNone ? kNone : choice.causes[left.factor];
      values.setPendingCause(result, cause != kNone ? cause : plan.passedCause);
    }
    changed |= placeResult(result, natural, [&] {
      return natural.isPartial()
                 ? "completes the " + stringifyReductionKind(left.kind).str() +
                       " over " + printAxes(left.axes) + " of " + describeOp(op)
                 : "moves the result of " + describeOp(op);
    });
  }
  if (op->getNumResults() && (changed || !values.hasShardings(op)))
    values.setShardings(op, shardings);
  return success();
}

LogicalResult ReshardInserter::visitGeneral(Operation *op) {
  if (!accumulators.empty())
    placeAccumulators(op);
  const ShardingRule &rule = *graph.getRule(op);
  FactorChoice choice =
      chooseFactors(op, rule, layout, graph, targets, values, exclusive);
  PendingPlan plan = planPending(
      op, rule, layout, choice, values, exclusive,
      [&](Operation *other) -> const ShardingRule & {
        return *graph.getRule(other);
      },
      op->getNumResults() == 1 && keptPending.contains(op->getResult(0)),
      isAccumulated(op));
  if (failed(bringOperands(op, rule, choice, plan)))
    return failure();
  replicateCaptures(op);
  if (failed(placeGeneralResults(op, rule, choice, plan)))
    return failure();
  // For the collectives that its windows will need.
  for (auto [factor, cause] : llvm::zip_equal(rule.factors, choice.causes))
    if (factor.inBlocks && cause != kNone)
      op->setDiscardableAttr(
          kWindowCauseAttr,
          StringAttr::get(context, values.getCauseText(cause)));
  if (plan.isExclusive || plan.isSettled)
    keepRowsApart(op);
  exclusive.visit(op, rule, [&](Value v) { return values.getPlacement(v); });
  return success();
}

/// An op that exclusive sums pass through needs them as they are, back to the
/// lookup of the rows. Completing one and making it pending again would change
/// the owners of its rows.
void ReshardInserter::keepRowsApart(Operation *op) {
  values.setConstrained(op->getResult(0));
  SmallVector<Operation *> ops{op};
  while (!ops.empty())
    for (Value operand : ops.pop_back_val()->getOperands()) {
      if (!exclusive.get(operand) || values.isAskedFor(operand))
        continue;
      values.setConstrained(operand);
      if (Operation *source = operand.getDefiningOp())
        ops.push_back(source);
    }
}

/// Tensors that the body of an op reads from outside are needed whole.
void ReshardInserter::replicateCaptures(Operation *op) {
  visitUsedValuesDefinedAbove(op->getRegions(), [&](OpOperand *operand) {
    Value value = operand->get();
    if (isa<RankedTensorType>(value.getType()))
      operand->set(values.getAs(value, values.replicated(value), op, [&] {
        return "the body of " + describeOp(op) + " reads it at any index";
      }));
  });
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

LogicalResult ReshardInserter::visitOp(Operation *op) {
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
    return visitConstraint(constraint);
  if (auto sync = dyn_cast<SyncOp>(op))
    return visitSync(sync);
  if (auto follow = dyn_cast<FollowOp>(op)) {
    visitFollow(follow);
    return success();
  }
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    visitReshard(reshard);
    return success();
  }
  if (auto manual = dyn_cast<ManualReshardOp>(op))
    return visitManual(manual);
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    auto function = dyn_cast<FunctionOpInterface>(op->getParentOp());
    if (function)
      return visitReturn(op, function);
    // For parallel parts: the op that writes them (scf.forall.in_parallel).
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (failed(visitBlock(block)))
          return failure();
    return success();
  }
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    return visitBranch(branch);
  if (auto call = dyn_cast<CallOpInterface>(op))
    return visitCall(call);
  if (op->getNumResults() == 1 && isFreeValue(op->getResult(0)))
    return success();
  bool hasTensors =
      llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) ||
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
  return hasTensors ? visitGeneral(op) : success();
}

LogicalResult ReshardInserter::visitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(visitOp(&op)))
      return failure();
  return success();
}

/// Propagation has placed what follows; its users may read it as it is.
void ReshardInserter::eraseFollows(Operation *module) {
  module->walk([&](FollowOp follow) {
    if (follow.getMoved())
      return;
    follow.getResult().replaceAllUsesWith(follow.getOperand());
    values.erase(follow);
  });
}

/// For a value on the other side of a sync. If completing a sum leads there,
/// that is left to its users.
void ReshardInserter::visitFollow(FollowOp follow) {
  Value value = follow.getOperand();
  ShardingAttr wanted = values.getTarget(follow.getResult());
  ShardingAttr now = values.getPlacement(value);
  if (!isFreeValue(value) && now.withoutPartial() != wanted &&
      !values.isScattered(now, wanted)) {
    value = values.getAs(value, wanted, follow, [] {
      return std::string("a gradient, on its way back through a dist.sync");
    });
    values.setFollowed(value);
  }
  follow.getResult().replaceAllUsesWith(value);
  values.erase(follow);
}

LogicalResult ReshardInserter::run(Operation *module) {
  eraseFollows(module);
  keptPending = findKeptPending(module);
  SmallVector<FunctionOpInterface> functions;
  for (auto function : module->getRegion(0).getOps<FunctionOpInterface>())
    if (!function.isExternal())
      functions.push_back(function);
  for (FunctionOpInterface function : functions)
    if (failed(visitBlock(function.getFunctionBody().front())))
      return failure();
  values.writeAskedFor();
  return success();
}

namespace mlir::dist {
#define GEN_PASS_DEF_INSERTRESHARDSPASS
#include "passes/spmd/insert/Passes.h.inc"
} // namespace mlir::dist
namespace {
struct InsertReshardsPass
    : mlir::dist::impl::InsertReshardsPassBase<InsertReshardsPass> {
  void runOnOperation() override {
    eraseBackwardSyncs(getOperation());
    auto &analysis = getAnalysis<PlacementAnalysis>();
    if (failed(analysis.getStatus()))
      return signalPassFailure();
    if (!analysis.getLayout())
      return;
    if (failed(ReshardInserter(analysis).run(getOperation())))
      return signalPassFailure();
    getOperation()->walk(
        [](Operation *op) { op->removeDiscardableAttr(kLikelyWindowAttr); });
  }
};
} // namespace
