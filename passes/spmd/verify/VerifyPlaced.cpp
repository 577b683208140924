//===- VerifyPlaced.cpp - Checks a module of level 2 ----------------------===//
//
// Every value has a placement. Every op's placements come from one sharding of
// its factors. Reductions are pending only where ops commute with them. Values
// that flow to one place have the same placement there. Reads only the IR and
// the rules, and nothing of how placements were found. Linear in the number of
// ops.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/spmd/graph/OpPlacement.h"
#include "passes/spmd/graph/PlacedProgram.h"
#include "passes/spmd/graph/PlacementText.h"
#include "passes/spmd/graph/RuleCache.h"
#include "passes/spmd/verify/Passes.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
class PlacedVerifier {
public:
  explicit PlacedVerifier(const MeshLayout &layout)
      : layout(layout), program(layout) {}

  LogicalResult verify(FunctionOpInterface function);

private:
  LogicalResult verifyBlock(Block &block);
  LogicalResult verifyOp(Operation *op);
  LogicalResult verifyGeneral(Operation *op);
  LogicalResult verifyCaptures(Operation *op);
  LogicalResult verifyReshard(ReshardOp reshard);
  LogicalResult verifyManual(ManualReshardOp manual);
  LogicalResult verifyHalo(SyncOp sync);
  LogicalResult verifyReturn(Operation *op, FunctionOpInterface function);
  LogicalResult verifyBranch(RegionBranchOpInterface branch);
  LogicalResult verifyCall(CallOpInterface call);
  LogicalResult verifyWhole(Operation *op, Value value, unsigned operand);

  /// Null for what is no ranked tensor.
  ShardingAttr get(Value value) const {
    if (!isa<RankedTensorType>(value.getType()))
      return {};
    return program.getPlacement(value);
  }
  const MeshLayout &layout;
  PlacedProgram program;
  RuleCache rules;
  SymbolTableCollection symbols;
  ExclusiveSums exclusive;
};
} // namespace

//===----------------------------------------------------------------------===//
// Ops in general
//===----------------------------------------------------------------------===//

LogicalResult PlacedVerifier::verifyWhole(Operation *op, Value value,
                                          unsigned operand) {
  ShardingAttr now = get(value);
  if (!now || now.isReplicated())
    return success();
  return op->emitOpError() << "operand " << operand << " is placed as " << now
                           << ", but is needed whole here";
}

LogicalResult PlacedVerifier::verifyCaptures(Operation *op) {
  LogicalResult result = success();
  visitUsedValuesDefinedAbove(op->getRegions(), [&](OpOperand *operand) {
    if (succeeded(result) && isa<RankedTensorType>(operand->get().getType()))
      result = verifyWhole(operand->getOwner(), operand->get(),
                           operand->getOperandNumber());
  });
  return result;
}

LogicalResult PlacedVerifier::verifyGeneral(Operation *op) {
  SmallVector<ShardingAttr, 6> shardings;
  for (Value operand : op->getOperands())
    shardings.push_back(get(operand));
  for (Value result : op->getResults())
    shardings.push_back(get(result));
  const ShardingRule &rule = *rules.get(op);
  if (failed(verifyOpPlacement(op, rule, layout, shardings, exclusive)))
    return failure();
  exclusive.visit(op, rule, [&](Value value) { return get(value); });
  return verifyCaptures(op);
}

LogicalResult PlacedVerifier::verifyReshard(ReshardOp reshard) {
  ShardingAttr now = get(reshard.getOperand());
  if (now != reshard.getSource())
    return reshard.emitOpError() << "starts from " << reshard.getSource()
                                 << ", but its operand is placed as " << now;
  if (get(reshard.getResult()) != reshard.getSharding())
    return reshard.emitOpError()
           << "ends at " << reshard.getSharding() << ", but its result is "
           << "placed as " << get(reshard.getResult());
  if (now.isPartial() &&
      now.getPartialAxes() == reshard.getSharding().getPartialAxes())
    exclusive.copy(reshard.getOperand(), reshard.getResult());
  return success();
}

/// It moves nothing to another place: rows of neighbours' blocks come beside
/// the device's own.
LogicalResult PlacedVerifier::verifyHalo(SyncOp sync) {
  ShardingAttr now = get(sync.getOperand()), made = get(sync.getResult());
  if (now != made)
    return sync.emitOpError() << "its operand is placed as " << now
                              << ", but its result as " << made;
  SmallVector<AxisRefAttr> has = now.getDims()[*sync.getDim()].getAllAxes();
  SmallVector<AxisRefAttr> asked = getAxisRefs(sync.getAxes());
  llvm::erase_if(asked,
                 [&](AxisRefAttr axis) { return layout.size(axis) == 1; });
  SmallVector<AxisRefAttr> theirs(has);
  layout.refine(has, asked);
  layout.refine(asked, theirs);
  if (has == asked && !now.isPartial())
    return success();
  return sync.emitOpError() << "'halo' over " << printAxes(asked)
                            << " needs a complete value whose dimension "
                            << *sync.getDim() << " is sharded over just them, "
                            << "but it is placed as " << now;
}

/// Its region is the program of one device already: only what flows in and out
/// of it is placed.
LogicalResult PlacedVerifier::verifyManual(ManualReshardOp manual) {
  if (ShardingAttr now = get(manual.getOperand()); now != manual.getSource())
    return manual.emitOpError() << "takes " << manual.getSource()
                                << ", but its operand is placed as " << now;
  if (ShardingAttr now = get(manual.getResult()); now != manual.getSharding())
    return manual.emitOpError() << "makes " << manual.getSharding()
                                << ", but its result is placed as " << now;
  auto whole = cast<RankedTensorType>(manual.getType());
  Block &body = manual.getBody().front();
  for (auto [what, type, sharding] :
       {std::tuple<StringRef, Type, ShardingAttr>(
            "takes", body.getArgument(0).getType(), manual.getSource()),
        {"yields", body.getTerminator()->getOperand(0).getType(),
         manual.getSharding()}})
    if (RankedTensorType local = layout.localType(whole, sharding);
        local != type)
      return manual.emitOpError()
             << "its region " << what << " " << type << ", but of " << whole
             << " placed as " << sharding << " a device holds " << local;
  return success();
}

//===----------------------------------------------------------------------===//
// What flows to one place
//===----------------------------------------------------------------------===//

LogicalResult PlacedVerifier::verifyBranch(RegionBranchOpInterface branch) {
  RegionBranchSuccessorMapping targets;
  branch.getSuccessorOperandInputMapping(targets);
  // Sums of which all devices add as many.
  auto loop = dyn_cast<LoopLikeOpInterface>(branch.getOperation());
  bool carriesPending = loop && loop.getYieldedValuesMutable();
  auto getInputs = [&](OpOperand &operand) -> ArrayRef<Value> {
    auto found = targets.find(&operand);
    return found == targets.end() ? ArrayRef<Value>() : found->second;
  };
  auto check = [&](OpOperand &operand) -> LogicalResult {
    ShardingAttr now = get(operand.get());
    if (!now)
      return success();
    ArrayRef<Value> inputs = getInputs(operand);
    if (inputs.empty())
      return verifyWhole(operand.getOwner(), operand.get(),
                         operand.getOperandNumber());
    for (Value input : inputs) {
      ShardingAttr there = get(input);
      if (there && there != now)
        return operand.getOwner()->emitOpError()
               << "operand " << operand.getOperandNumber() << " is placed as "
               << now << ", but flows to where " << there << " is";
    }
    if (now.isPartial() && !carriesPending)
      return operand.getOwner()->emitOpError()
             << "operand " << operand.getOperandNumber() << " is placed as "
             << now << ", but what flows into or out of a region must be "
             << "complete";
    return success();
  };
  // What is known on entry says how region arguments are placed.
  SmallVector<OpOperand *> terminators;
  for (Region &region : branch->getRegions())
    for (Block &block : region)
      if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
        for (OpOperand &operand : block.back().getOpOperands())
          terminators.push_back(&operand);
  program.readInputs(targets, branch);
  for (Region &region : branch->getRegions()) {
    for (Block &block : region)
      if (failed(verifyBlock(block)))
        return failure();
    // What a region yields may enter the next one.
    for (Block &block : region)
      if (!block.empty())
        program.readInputs(targets, &block.back());
  }
  for (OpOperand &operand : branch->getOpOperands())
    if (failed(check(operand)))
      return failure();
  for (OpOperand *operand : terminators)
    if (failed(check(*operand)))
      return failure();
  return success();
}

LogicalResult PlacedVerifier::verifyCall(CallOpInterface call) {
  auto callee = dyn_cast_or_null<FunctionOpInterface>(
      call.resolveCallableInTable(&symbols));
  if (!callee || callee.isExternal()) {
    for (OpOperand &operand : call->getOpOperands())
      if (failed(verifyWhole(call, operand.get(), operand.getOperandNumber())))
        return failure();
    return success();
  }
  for (auto [index, operand] : llvm::enumerate(call.getArgOperands())) {
    auto wanted = callee.getArgAttrOfType<ShardingAttr>(index, kShardingAttr);
    if (ShardingAttr now = get(operand); now && now != wanted)
      return call->emitOpError()
             << "argument " << index << " is placed as " << now << ", but @"
             << callee.getName() << " takes it as " << wanted;
  }
  for (OpResult result : call->getResults()) {
    unsigned number = result.getResultNumber();
    auto made = callee.getResultAttrOfType<ShardingAttr>(number, kShardingAttr);
    if (ShardingAttr now = get(result); now && now != made)
      return call->emitOpError()
             << "result " << number << " is placed as " << now << ", but @"
             << callee.getName() << " returns it as " << made;
  }
  return success();
}

LogicalResult PlacedVerifier::verifyReturn(Operation *op,
                                           FunctionOpInterface function) {
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    ShardingAttr now = get(operand.get());
    if (!now)
      continue;
    auto wanted =
        function.getResultAttrOfType<ShardingAttr>(number, kShardingAttr);
    if (now != wanted)
      return op->emitOpError()
             << "operand " << number << " is placed as " << now
             << ", but result " << number << " of the function as " << wanted;
    if (now.isPartial())
      return op->emitOpError()
             << "operand " << number << " is placed as " << now
             << ", but a function returns what is complete";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

LogicalResult PlacedVerifier::verifyOp(Operation *op) {
  auto sync = dyn_cast<SyncOp>(op);
  bool isHalo = sync && sync.getKind() == SyncKind::Halo;
  if (isa<ShardingConstraintOp, FollowOp, SyncOp>(op) && !isHalo)
    return op->emitOpError() << "is left over: --dist-insert-reshards puts "
                             << "reshards in its place";
  bool hasTensors =
      llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
  for (OpResult result : op->getResults()) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    hasTensors = true;
    ShardingAttr sharding = get(result);
    if (!sharding)
      return op->emitOpError()
             << "result " << result.getResultNumber() << " has no placement: '"
             << kShardingsAttr << "' is missing";
    if (sharding.getMesh() != layout.getName())
      return op->emitOpError()
             << "result " << result.getResultNumber() << " is placed as "
             << sharding << ", but the module is on mesh " << layout.getName();
  }
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return verifyReshard(reshard);
  if (auto manual = dyn_cast<ManualReshardOp>(op))
    return verifyManual(manual);
  if (isHalo)
    return verifyHalo(sync);
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    if (auto function = dyn_cast<FunctionOpInterface>(op->getParentOp()))
      return verifyReturn(op, function);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (failed(verifyBlock(block)))
          return failure();
    return success();
  }
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    return verifyBranch(branch);
  if (auto call = dyn_cast<CallOpInterface>(op))
    return verifyCall(call);
  // Data that is there on any device, as whatever part of it.
  if (op->hasTrait<OpTrait::ConstantLike>()) {
    ShardingAttr sharding = hasTensors ? get(op->getResult(0)) : ShardingAttr();
    if (sharding && sharding.isPartial())
      return op->emitOpError()
             << "is placed as " << sharding << ", but a constant is complete";
    return success();
  }
  return hasTensors ? verifyGeneral(op) : success();
}

LogicalResult PlacedVerifier::verifyBlock(Block &block) {
  for (Operation &op : block)
    if (failed(verifyOp(&op)))
      return failure();
  return success();
}

LogicalResult PlacedVerifier::verify(FunctionOpInterface function) {
  program.readArguments(function);
  for (BlockArgument argument : function.getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()))
      continue;
    unsigned number = argument.getArgNumber();
    if (function.getArgAttr(number, kGlobalTypeAttr))
      return function.emitOpError() << "is the program of one device ('"
                                    << kGlobalTypeAttr << "'), level 3";
    auto sharding =
        function.getArgAttrOfType<ShardingAttr>(number, kShardingAttr);
    if (!sharding)
      return function.emitOpError()
             << "argument " << number << " has no placement: '" << kShardingAttr
             << "' is missing";
    if (sharding.isPartial() || sharding.getMesh() != layout.getName())
      return function.emitOpError()
             << "argument " << number << " is placed as " << sharding
             << ", but must be complete and on mesh " << layout.getName();
  }
  for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
    if (isa<RankedTensorType>(type) &&
        !function.getResultAttrOfType<ShardingAttr>(number, kShardingAttr))
      return function.emitOpError()
             << "result " << number << " has no placement: '" << kShardingAttr
             << "' is missing";
  for (Block &block : function.getFunctionBody())
    if (failed(verifyBlock(block)))
      return failure();
  return success();
}

namespace mlir::dist {
#define GEN_PASS_DEF_VERIFYPLACEDPASS
#include "passes/spmd/verify/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct VerifyPlacedPass
    : mlir::dist::impl::VerifyPlacedPassBase<VerifyPlacedPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return; // nothing is placed
    MeshLayout layout(*mesh);
    PlacedVerifier verifier(layout);
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (!function.isExternal() && failed(verifier.verify(function)))
        return signalPassFailure();
  }
};
} // namespace
