//===- ControlFlow.cpp - Reshards at branches, loops, calls and returns ---===//
//
// Values that flow to one place must have the same placement: all that enters a
// loop-carried value, all that a branch may yield, all that a function is
// called with. One placement is chosen for each such place, and values that
// flow there are resharded to it. Pending reductions are completed first,
// except sums that a loop adds to: the loop carries these pending.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ParallelCombiningOpInterface.h"
#include "passes/spmd/graph/PendingReductions.h"
#include "passes/spmd/insert/ReshardInserter.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The inputs of a branching op (arguments of its regions, its results), merged
/// if one operand may flow to several.
class FlowClasses {
public:
  explicit FlowClasses(RegionBranchOpInterface branch);

  /// Operands of the op and of its regions' terminators, in order.
  ArrayRef<OpOperand *> getOperands() const { return operands; }
  /// The representative input of those that the operand flows to; null if it
  /// flows nowhere.
  Value getLeader(OpOperand *operand) const {
    auto found = mapping.find(operand);
    return found == mapping.end() || found->second.empty()
               ? Value()
               : getLeader(found->second.front());
  }
  Value getLeader(Value input) const {
    auto found = leaders.find(input);
    return found == leaders.end() ? input : getLeader(found->second);
  }

private:
  void unite(Value a, Value b);

  RegionBranchSuccessorMapping mapping;
  SmallVector<OpOperand *> operands;
  llvm::SmallDenseMap<Value, Value> leaders;
};
} // namespace

FlowClasses::FlowClasses(RegionBranchOpInterface branch) {
  branch.getSuccessorOperandInputMapping(mapping);
  for (OpOperand &operand : branch->getOpOperands())
    operands.push_back(&operand);
  for (Region &region : branch->getRegions())
    for (Block &block : region)
      if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
        for (OpOperand &operand : block.back().getOpOperands())
          operands.push_back(&operand);
  for (OpOperand *operand : operands) {
    auto found = mapping.find(operand);
    if (found == mapping.end())
      continue;
    for (Value input : ArrayRef(found->second).drop_front())
      unite(found->second.front(), input);
  }
}

void FlowClasses::unite(Value a, Value b) {
  a = getLeader(a);
  b = getLeader(b);
  if (a == b)
    return;
  // Results lead: their placements are those that the IR shows.
  if (isa<OpResult>(b) && !isa<OpResult>(a))
    std::swap(a, b);
  leaders[b] = a;
}

/// Whether its regions write parts of shared tensors at any index.
static bool isParallelLoop(RegionBranchOpInterface branch) {
  return llvm::any_of(branch->getRegions(), [](Region &region) {
    return !region.empty() && isa_and_nonnull<InParallelOpInterface>(
                                  region.front().getTerminator());
  });
}

/// Sums that the loop begins with zeros and adds to once in a round, in its own
/// body.
static SmallVector<BlockArgument> findAccumulators(Operation *branch) {
  SmallVector<BlockArgument> found;
  auto loop = dyn_cast<LoopLikeOpInterface>(branch);
  if (!loop || !loop.getYieldedValuesMutable())
    return found;
  for (auto [init, argument, yielded] :
       llvm::zip_equal(loop.getInits(), loop.getRegionIterArgs(),
                       loop.getYieldedValues())) {
    Operation *made = yielded.getDefiningOp();
    if (isa<RankedTensorType>(argument.getType()) && argument.hasOneUse() &&
        made && *argument.user_begin() == made && made->getNumResults() == 1 &&
        yielded.hasOneUse() && made->getBlock() == argument.getOwner() &&
        isa<ShardingRuleOpInterface>(made) &&
        isNeutral(init, ReductionKind::Sum))
      found.push_back(argument);
  }
  return found;
}

/// Sums of a loop that the op adds something pending to are pending in the same
/// way, on the way through the loop as well.
void ReshardInserter::placeAccumulators(Operation *op) {
  for (Value sum : op->getOperands()) {
    if (!accumulators.erase(sum))
      continue;
    SmallVector<bool> isPending(op->getNumOperands(), false);
    ShardingAttr pending;
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      ShardingAttr now = isa<RankedTensorType>(value.getType()) && value != sum
                             ? values.getPlacement(value)
                             : ShardingAttr();
      bool isAdded = now && now.isPartial() &&
                     now.getPartialKind() == ReductionKind::Sum &&
                     cast<ShapedType>(value.getType()).getShape() ==
                         cast<ShapedType>(sum.getType()).getShape();
      if (isAdded)
        pending = now;
      isPending[operand.getOperandNumber()] = isAdded || value == sum;
    }
    auto iface = cast<ShardingRuleOpInterface>(op);
    if (pending && iface.getPartialResult(isPending, ReductionKind::Sum) ==
                       PartialResult::Partial)
      values.setPlacement(sum, pending);
  }
}

/// Whether a loop's sum grows by the op's result, and nothing else reads it: to
/// complete it would be a collective a round, where the sum is one in all.
bool ReshardInserter::isAccumulated(Operation *op) const {
  return op->getNumResults() == 1 && op->hasOneUse() &&
         llvm::any_of(
             (*op->user_begin())->getOperands(),
             [&](Value operand) { return accumulators.contains(operand); });
}

LogicalResult ReshardInserter::visitBranch(RegionBranchOpInterface branch) {
  FlowClasses flow(branch);
  bool isWhole = isParallelLoop(branch);
  SmallVector<BlockArgument> sums = findAccumulators(branch);
  auto getWanted = [&](Value input) {
    for (BlockArgument sum : sums)
      if (flow.getLeader(sum) == input)
        return values.getPlacement(sum);
    return isWhole ? values.replicated(input) : values.getTarget(input);
  };
  auto bring = [&](OpOperand &operand) {
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()))
      return;
    Value leader = flow.getLeader(&operand);
    operand.set(values.getAs(
        value, leader ? getWanted(leader) : values.replicated(value),
        operand.getOwner(), [&] { return "enters " + describeOp(branch); }));
  };
  auto isSum = [&](OpOperand &operand) {
    return llvm::any_of(sums, [&](BlockArgument sum) {
      return flow.getLeader(&operand) == flow.getLeader(sum);
    });
  };
  for (OpOperand &operand : branch->getOpOperands())
    if (!isSum(operand))
      bring(operand);
  for (Region &region : branch->getRegions()) {
    for (Value argument : region.getArguments())
      if (isa<RankedTensorType>(argument.getType()))
        values.setPlacement(argument, getWanted(flow.getLeader(argument)));
    accumulators.insert_range(sums);
    for (Block &block : region)
      if (failed(visitBlock(block)))
        return failure();
  }
  for (OpOperand &operand : branch->getOpOperands())
    if (isSum(operand))
      bring(operand);
  for (OpOperand *operand : flow.getOperands())
    if (operand->getOwner() != branch)
      bring(*operand);
  placeResults(branch, [&](OpResult result) {
    return getWanted(flow.getLeader(result));
  });
  return success();
}

void ReshardInserter::placeResults(
    Operation *op, function_ref<ShardingAttr(OpResult)> getNatural) {
  SmallVector<Attribute, 2> shardings;
  for (OpResult result : op->getResults()) {
    if (!isa<RankedTensorType>(result.getType())) {
      shardings.push_back(UnitAttr::get(context));
      continue;
    }
    ShardingAttr natural = getNatural(result);
    shardings.push_back(natural);
    placeResult(result, natural,
                [&] { return "moves the result of " + describeOp(op); });
  }
  if (!shardings.empty())
    values.setShardings(op, shardings);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

LogicalResult ReshardInserter::visitCall(CallOpInterface call) {
  auto callee = dyn_cast_or_null<FunctionOpInterface>(
      call.resolveCallableInTable(&symbols));
  if (callee && callee.isExternal())
    callee = {};
  for (auto [index, operand] : llvm::enumerate(call.getArgOperandsMutable())) {
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    ShardingAttr wanted = callee ? values.getTarget(callee.getArgument(index))
                                 : values.replicated(value);
    operand.set(values.getAs(value, wanted, call, [&] {
      return "is an argument of " + describeOp(call);
    }));
  }
  placeResults(call, [&](OpResult result) {
    return callee ? getReturnPlacement(callee, result.getResultNumber(),
                                       /*isNow=*/false)
                  : values.replicated(result);
  });
  return success();
}

ShardingAttr ReshardInserter::getReturnPlacement(FunctionOpInterface function,
                                                 unsigned number, bool isNow) {
  ShardingAttr &known = returnPlacements[{function, number}];
  if (known)
    return known;
  Value value =
      function.getFunctionBody().front().getTerminator()->getOperand(number);
  // A caller that is visited first uses the value's target.
  ShardingAttr now =
      isNow ? values.getCompleted(value) : values.getTarget(value);
  now = now ? now.withoutPartial() : values.replicated(value);
  if (auto updated =
          function.getResultAttrOfType<IntegerAttr>(number, kUpdatesAttr))
    return known = values.getTarget(function.getArgument(updated.getInt()));
  auto asked =
      function.getResultAttrOfType<ShardingAttr>(number, kShardingAttr);
  if (!asked)
    return known = now;
  SmallVector<DimShardingAttr, 4> dims;
  auto type = cast<RankedTensorType>(value.getType());
  for (auto [dim, size] : llvm::zip_equal(asked.getDims(), type.getShape()))
    dims.push_back(layout.canonical(dim, size));
  // An open dimension may keep its sharding, if no other needs those axes.
  for (auto [index, dim] : llvm::enumerate(now.getDims())) {
    if (!asked.getDims()[index].getIsOpen() ||
        !layout.isPrefix(dims[index], dim))
      continue;
    bool isTaken = false;
    for (auto [other, sharding] : llvm::enumerate(dims))
      isTaken |=
          other != index && anyOverlap(dim.getAllAxes(), sharding.getAllAxes());
    if (!isTaken)
      dims[index] = dim;
  }
  return known = values.place(dims);
}

LogicalResult ReshardInserter::visitReturn(Operation *op,
                                           FunctionOpInterface function) {
  llvm::SmallDenseMap<unsigned, ShardingAttr> placed;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    bool isAsked = function.getResultAttr(number, kShardingAttr) ||
                   function.getResultAttr(number, kUpdatesAttr);
    ShardingAttr wanted = getReturnPlacement(function, number, /*isNow=*/true);
    operand.set(values.getAs(value, wanted, op, [&] {
      std::string name = "result " + std::to_string(number);
      if (auto given =
              function.getResultAttrOfType<StringAttr>(number, kOutputAttr))
        name = "output '" + given.str() + "'";
      if (auto cause = dyn_cast_or_null<StringAttr>(
              function.getResultAttr(number, kCauseAttr));
          cause && isAsked)
        return cause.str();
      return (isAsked ? "the sharding of " : "completes ") + name;
    }));
    placed[number] = wanted;
  }
  updateResultAttrs(function, [&](unsigned number, NamedAttrList &list) {
    if (ShardingAttr wanted = placed.lookup(number))
      list.set(kShardingAttr, wanted);
  });
  return success();
}
