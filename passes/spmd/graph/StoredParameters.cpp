//===- StoredParameters.cpp - Parameters that are stored in parts ---------===//
//
// A parameter sharded over an axis that shards an input as well is stored over
// it and gathered for use (ZeRO-3), unless a constraint beside its use asks for
// the axis.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attributes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/graph/SeedPlacements.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether the op computes with no other tensor: a transpose, a cast, a view.
/// Where results are put does not count.
static bool hasOneInput(Operation *op) {
  OperandRange inputs = op->getOperands();
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    return llvm::count_if(destination.getDpsInputs(), [](Value value) {
             return isa<RankedTensorType>(value.getType());
           }) == 1;
  return llvm::count_if(inputs, [](Value value) {
           return isa<RankedTensorType>(value.getType());
         }) == 1;
}

/// Axes of constraints beside the ops that use `value`: on their results and
/// other operands, if they shard a dimension that `value` has, or on `value`
/// itself and its earlier forms. There the user wants the op sharded, not only
/// the storage.
static SmallVector<AxisRefAttr> findAxesOfUse(Value value) {
  SmallVector<AxisRefAttr> axes;
  auto add = [&](ShardingConstraintOp constraint, const TensorRule *tensor,
                 ArrayRef<unsigned> ofValue) {
    for (auto [dim, sharding] :
         llvm::enumerate(constraint.getSharding().getDims()))
      if (!tensor || llvm::any_of(tensor->dims[dim], [&](unsigned factor) {
            return llvm::is_contained(ofValue, factor);
          }))
        llvm::append_range(axes, sharding.getAllAxes());
  };
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (unsigned i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto constraint = dyn_cast<ShardingConstraintOp>(user)) {
        add(constraint, nullptr, {});
        reached.insert(constraint.getResult());
        continue;
      }
      if (user->getNumRegions() != 0 && !isa<linalg::LinalgOp>(user))
        continue;
      ShardingRule rule = getShardingRule(user);
      SmallVector<unsigned> ofValue;
      for (ArrayRef<unsigned> factors :
           rule.operands[use.getOperandNumber()].dims)
        llvm::append_range(ofValue, factors);
      for (auto [operand, tensor] :
           llvm::zip_equal(user->getOperands(), rule.operands))
        if (auto constraint = operand.getDefiningOp<ShardingConstraintOp>())
          add(constraint, &tensor, ofValue);
      for (auto [result, tensor] :
           llvm::zip_equal(user->getResults(), rule.results)) {
        if (hasOneInput(user))
          reached.insert(result);
        else
          for (Operation *next : result.getUsers())
            if (auto constraint = dyn_cast<ShardingConstraintOp>(next))
              add(constraint, &tensor, ofValue);
      }
    }
  return axes;
}

void mlir::dist::findStoredParameters(const PlacementGraph &graph,
                                      Placements &placements) {
  // Axes over which annotations shard inputs, and parameters that may be
  // stored over them.
  SmallVector<AxisRefAttr> inputAxes;
  SmallVector<unsigned> parameters;
  bool isPropagated = false;
  for (auto [index, value] : llvm::enumerate(graph.getValues())) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument) {
      isPropagated |= value.getDefiningOp()->hasAttr(kShardingsAttr);
      continue;
    }
    auto function =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    if (!function)
      continue;
    unsigned number = argument.getArgNumber();
    // It is neither fed nor used by the model.
    if (function.getArgAttr(number, kStateAttr))
      continue;
    if (!function.getArgAttr(number, kParameterAttr)) {
      if (graph.isBackward(index))
        continue;
      for (const Placements::DimState &state : placements.getDims(index))
        llvm::append_range(inputAxes, state.sharding.getAllAxes());
      continue;
    }
    // An earlier run has decided.
    if (auto axes = function.getArgAttrOfType<ArrayAttr>(number, kStoredAttr)) {
      isPropagated = true;
      placements.setStoredAxes(index, getAxisRefs(axes));
    }
    parameters.push_back(index);
  }
  if (isPropagated)
    return;
  for (unsigned index : parameters) {
    SmallVector<AxisRefAttr, 1> axes;
    for (const Placements::DimState &state : placements.getDims(index))
      for (AxisRefAttr axis : state.sharding.getAllAxes())
        if (anyOverlap(axis, inputAxes))
          axes.push_back(axis);
    if (!axes.empty()) {
      SmallVector<AxisRefAttr> used = findAxesOfUse(graph.getValues()[index]);
      llvm::erase_if(axes,
                     [&](AxisRefAttr axis) { return anyOverlap(axis, used); });
      if (!axes.empty())
        placements.setStoredAxes(index, axes);
    }
    for (unsigned dim = 0, end = placements.getDims(index).size(); dim < end;
         ++dim)
      if (!placements.getShardingForUse(index, dim).isReplicated())
        placements.setSplitParameter(index);
  }
}
