//===- InsertReshards.cpp - Makes every disagreement an explicit reshard --===//
//
// Ops are visited in program order. Each decides which factor every axis
// shards, so that the fewest bytes move; operands that lie otherwise are
// resharded before it, results that are meant to lie otherwise after it.
// Pending reductions travel on through ops that commute with them and are
// completed where one does not.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Passes.h"
#include "passes/spmd/ReshardInserter.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Ops in general
//===----------------------------------------------------------------------===//

bool ReshardInserter::settleResult(Value result, ShardingAttr natural,
                                   function_ref<std::string()> text) {
  ShardingAttr target = getTarget(result);
  if (!target || natural == target)
    return false;
  setPlacement(result, natural);
  if (natural.withoutPartial() == target)
    return true; // pending: whoever needs it whole completes it
  Operation *op = result.getDefiningOp();
  OpBuilder builder(context);
  builder.setInsertionPointAfter(op);
  unsigned cause = natural.isPartial() ? partialCauses.lookup(result) : kNone;
  for (const auto &state : analysis.getDims(analysis.getIndex(result)))
    if (cause == kNone && state.sharding != layout.none())
      cause = state.cause;
  std::string because = getCauseText(cause);
  Value reshard =
      makeReshard(builder, op->getLoc(), result, natural, target,
                  because.empty() ? text() : because + ": " + text(),
                  op->getAttr(kScopeAttr));
  result.replaceAllUsesExcept(reshard, reshard.getDefiningOp());
  return true;
}

LogicalResult ReshardInserter::visitGeneral(Operation *op) {
  const ShardingRule &rule = *analysis.getRule(op);
  SmallVector<DimShardingAttr, 8> factors;
  SmallVector<unsigned, 8> causes;
  chooseFactors(op, rule, factors, causes);

  SmallVector<AxisRefAttr, 4> used;
  for (DimShardingAttr sharding : factors)
    llvm::append_range(used, sharding.getAllAxes());
  // What each result is left to be reduced by: each in its own way.
  SmallVector<Reduced, 2> pending;
  std::optional<ReductionKind> reducedKind;
  bool isOfOneKind = true;
  for (unsigned result = 0; result < op->getNumResults(); ++result) {
    pending.push_back(getReduced(layout, rule, factors, result));
    if (pending.back().axes.empty())
      continue;
    isOfOneKind &= !reducedKind || reducedKind == pending.back().kind;
    reducedKind = pending.back().kind;
  }

  // Do the reductions that operands still owe pass through?
  SmallVector<AxisRefAttr, 4> passed;
  SmallVector<bool, 8> isPassed(op->getNumOperands(), false);
  unsigned passedCause = kNone;
  ReductionKind kind = reducedKind.value_or(ReductionKind::Sum);
  bool anyPartial = false;
  int64_t partialBytes = 0, resultBytes = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    ShardingAttr now = getPlacement(operand.get());
    if (!now || !now.isPartial())
      continue;
    if (!anyPartial) {
      passed.assign(now.getPartialAxes().begin(), now.getPartialAxes().end());
      if (!reducedKind)
        kind = now.getPartialKind();
      auto found = partialCauses.find(operand.get());
      passedCause = found == partialCauses.end() ? kNone : found->second;
    }
    anyPartial = true;
    // What several ops use is completed once for all of them.
    bool isOnlyUser = llvm::all_of(operand.get().getUsers(),
                                   [&](Operation *user) { return user == op; });
    if (isOnlyUser && now.getPartialKind() == kind &&
        now.getPartialAxes() == ArrayRef(passed)) {
      isPassed[operand.getOperandNumber()] = true;
      partialBytes += getTensorBytes(operand.get().getType());
    }
  }
  for (Value result : op->getResults())
    if (isa<RankedTensorType>(result.getType()))
      resultBytes += getTensorBytes(result.getType());
  if (anyPartial) {
    auto iface = dyn_cast<ShardingRuleOpInterface>(op);
    bool ok = iface && op->getNumResults() && isOfOneKind &&
              !anyOverlap(passed, used) && llvm::is_contained(isPassed, true) &&
              resultBytes <= partialBytes &&
              iface.getPartialResult(isPassed, kind) == PartialResult::Partial;
    if (!ok) {
      passed.clear();
      isPassed.assign(isPassed.size(), false);
      passedCause = kNone;
    }
  }
  for (Reduced &result : pending) {
    if (result.axes.empty())
      result.kind = kind;
    addPending(layout, result.axes, passed);
  }

  // Bring the operands into place.
  SmallVector<DimShardingAttr, 4> dims;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    if (!joinDims(rule, rule.operands[number], factors, dims))
      return op->emitOpError() << "cannot be sharded as its operands are";
    bool isInit = llvm::is_contained(rule.inits, number);
    ReductionKind wantedKind = kind;
    ArrayRef<AxisRefAttr> wantedPartial;
    if (isPassed[number])
      wantedPartial = passed;
    if (isInit) {
      const Reduced &result = pending[rule.getResultOfInit(op, number)];
      if (!result.axes.empty() && !isNeutral(value, result.kind)) {
        wantedKind = result.kind;
        wantedPartial = result.axes;
      }
    }
    ShardingAttr wanted = place(dims, wantedKind, wantedPartial);
    ShardingAttr now = getPlacement(value);
    Value ready = getAs(value, wanted, op, [&]() -> std::string {
      unsigned cause = kNone;
      std::string text;
      if (now && now.isPartial() && !isPassed[number]) {
        auto found = partialCauses.find(value);
        cause = found == partialCauses.end() ? kNone : found->second;
        Operation *source = value.getDefiningOp();
        text = "completes the " +
               stringifyReductionKind(now.getPartialKind()).str() + " over " +
               printAxes(now.getPartialAxes()) + " that " +
               (source ? describeOp(source) : "an argument") +
               " left pending, for " + describeOp(op);
      } else if (ArrayRef<AxisRefAttr> stored = getStoredAxes(value);
                 !stored.empty()) {
        for (const auto &state : analysis.getDims(analysis.getIndex(value)))
          if (cause == kNone && anyOverlap(stored, state.sharding.getAllAxes()))
            cause = state.cause;
        text = "gathers operand " + std::to_string(number) +
               ", a parameter only stored over " + printAxes(stored) +
               ", for " + describeOp(op);
      } else {
        // Who moves the axes that move; else who had put them there.
        SmallVector<AxisRefAttr> axes;
        unsigned index = analysis.getIndex(value), origin = kNone;
        for (auto [dim, after] : llvm::enumerate(wanted.getDims())) {
          DimShardingAttr before = now ? now.getDims()[dim] : layout.none();
          if (now && before == after)
            continue;
          llvm::append_range(axes, before.getAllAxes());
          llvm::append_range(axes, after.getAllAxes());
          if (origin == kNone && index != kNone && before != layout.none())
            origin = analysis.getDims(index)[dim].cause;
        }
        for (auto [factor, sharding] : llvm::enumerate(factors))
          if (cause == kNone && sharding != layout.none() &&
              anyOverlap(axes, sharding.getAllAxes()))
            cause = causes[factor];
        if (cause == kNone)
          cause = origin;
        // What keeps the operand from staying where it is.
        std::string whole;
        if (now)
          for (auto [dim, list] : llvm::enumerate(rule.operands[number].dims))
            if (now.getDims()[dim] != layout.none() &&
                llvm::all_of(list, [&](unsigned factor) {
                  return rule.factors[factor].kind == FactorKind::Replicated;
                }))
              whole += (whole.empty() ? "" : ", ") + std::to_string(dim);
        text = "moves operand " + std::to_string(number) + " for " +
               describeOp(op);
        if (!whole.empty())
          text += ", which needs dimension " + whole + " whole";
        else if (!used.empty())
          text += ", which is sharded over " + printAxes(used);
      }
      std::string because = getCauseText(cause);
      return because.empty() ? text : because + ": " + text;
    });
    operand.set(ready);
  }
  replicateCaptures(op);

  // Where the results lie, and where they should.
  SmallVector<Attribute, 2> shardings;
  bool changed = false;
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), rule.results)) {
    if (!isa<RankedTensorType>(result.getType())) {
      shardings.push_back(UnitAttr::get(context));
      continue;
    }
    if (!joinDims(rule, tensor, factors, dims))
      return op->emitOpError() << "cannot be sharded as its results are";
    const Reduced &left = pending[result.getResultNumber()];
    ShardingAttr natural = place(dims, left.kind, left.axes);
    shardings.push_back(natural);
    if (natural.isPartial()) {
      unsigned reducedCause =
          left.factor == kNone ? kNone : causes[left.factor];
      partialCauses[result] =
          reducedCause != kNone ? reducedCause : passedCause;
    }
    changed |= settleResult(result, natural, [&] {
      return natural.isPartial()
                 ? "completes the " + stringifyReductionKind(left.kind).str() +
                       " over " + printAxes(left.axes) + " of " + describeOp(op)
                 : "moves the result of " + describeOp(op);
    });
  }
  if (op->getNumResults() && (changed || !op->hasAttr(shardingsName)))
    setShardings(op, shardings);
  return success();
}

/// Tensors that the body of an op reads from outside are needed whole.
void ReshardInserter::replicateCaptures(Operation *op) {
  if (op->getNumRegions() == 0)
    return;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *nested) {
      for (OpOperand &operand : nested->getOpOperands()) {
        Value value = operand.get();
        if (!isa<RankedTensorType>(value.getType()) ||
            op->isAncestor(value.getParentBlock()->getParentOp()))
          continue;
        operand.set(getAs(value, replicated(value), op, [&] {
          return "the body of " + describeOp(op) + " reads it at any index";
        }));
      }
    });
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

LogicalResult ReshardInserter::visitOp(Operation *op) {
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op)) {
    visitConstraint(constraint);
    return success();
  }
  if (auto sync = dyn_cast<SyncOp>(op))
    return visitSync(sync);
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    visitReshard(reshard);
    return success();
  }
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    auto function = dyn_cast<FunctionOpInterface>(op->getParentOp());
    if (function)
      return visitReturn(op, function);
    // Of parallel parts, what writes them (scf.forall.in_parallel).
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

void ReshardInserter::skipDetour(ReshardOp reshard) {
  while (auto before = reshard.getOperand().getDefiningOp<ReshardOp>()) {
    Value middle = before.getResult();
    if (!middle.hasOneUse() || synced.contains(middle) ||
        constrained.contains(middle))
      return;
    // What completes a reduction belongs to the module that left it pending.
    bool completes =
        before.getSource().isPartial() && !reshard.getSource().isPartial();
    if (completes) {
      reshard.setCauseAttr(before.getCauseAttr());
      if (Attribute scope = before->getAttr(kScopeAttr))
        reshard->setAttr(kScopeAttr, scope);
    }
    reshard.getOperandMutable().assign(before.getOperand());
    reshard.setSourceAttr(before.getSource());
  }
  if (reshard.getSource() == reshard.getSharding())
    reshard.getResult().replaceAllUsesWith(reshard.getOperand());
}

LogicalResult ReshardInserter::run(Operation *module) {
  SmallVector<Operation *> functions;
  for (Operation &op : module->getRegion(0).getOps())
    if (auto function = dyn_cast<FunctionOpInterface>(op);
        function && !function.isExternal())
      functions.push_back(function);
  for (Operation *op : functions) {
    auto function = cast<FunctionOpInterface>(op);
    if (failed(visitBlock(function.getFunctionBody().front())))
      return failure();
  }
  for (Operation *op : functions) {
    // What was only made for others is not needed itself.
    auto function = cast<FunctionOpInterface>(op);
    auto visitBackwards = [&](function_ref<void(Operation *)> visit) {
      function->walk<WalkOrder::PostOrder, ReverseIterator>(visit);
    };
    auto eraseUnused = [](Operation *nested) {
      if (nested->use_empty() && nested->getNumResults() == 1 &&
          (isFreeValue(nested->getResult(0)) || isa<ReshardOp>(nested)))
        nested->erase();
    };
    visitBackwards(eraseUnused);
    sliceWholeConstants(function);
    visitBackwards([&](Operation *nested) {
      if (auto reshard = dyn_cast<ReshardOp>(nested))
        skipDetour(reshard);
      eraseUnused(nested);
    });
  }
  return success();
}

namespace mlir::dist {
#define GEN_PASS_DEF_INSERTRESHARDSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::dist
namespace {
struct InsertReshardsPass
    : mlir::dist::impl::InsertReshardsPassBase<InsertReshardsPass> {
  void runOnOperation() override {
    auto &analysis = getAnalysis<PlacementAnalysis>();
    if (failed(analysis.getStatus()))
      return signalPassFailure();
    if (!analysis.getLayout())
      return;
    if (failed(ReshardInserter(analysis).run(getOperation())))
      signalPassFailure();
  }
};
} // namespace
