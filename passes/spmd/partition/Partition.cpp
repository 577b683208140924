//===- Partition.cpp - The program of one device --------------------------===//
//
// Every op is made local where it stands, through the sharding rule interface;
// every dist.reshard becomes collectives. Linear in the number of ops.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/halos/HoistHalos.h"
#include "passes/halos/WindowLowering.h"
#include "passes/spmd/graph/PlacementText.h"
#include "passes/spmd/graph/Windows.h"
#include "passes/spmd/partition/Passes.h"
#include "passes/spmd/partition/RandomStreams.h"
#include "passes/spmd/reshard/ReshardLowering.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
class Partitioner {
public:
  Partitioner(const MeshLayout &layout, Machine machine)
      : layout(layout), planner(layout, std::move(machine)),
        builder(layout.getContext()),
        shardingsName(StringAttr::get(layout.getContext(), kShardingsAttr)),
        windows(layout, planner, builder, wholes, synced), streams(layout) {}

  LogicalResult visitFunction(FunctionOpInterface function);
  /// Moves exchanges to where they send least, and checks those that syncs
  /// asked for; once all ops of the function are local.
  LogicalResult finishHalos(FunctionOpInterface function);
  const RandomStreams &getStreams() const { return streams; }

private:
  LogicalResult visitBlock(Block &block);
  LogicalResult visitOp(Operation *op);
  LogicalResult makeLocal(Operation *op, const LocalView &view);
  LogicalResult visitReshard(ReshardOp reshard);
  LogicalResult visitManual(ManualReshardOp manual);
  void visitHalo(SyncOp sync);
  LogicalResult visitConstant(Operation *op, ShardingAttr sharding);
  LogicalResult visitBranch(RegionBranchOpInterface branch);
  void setWhole(Value value, ShardingAttr sharding) {
    wholes[value] = {cast<RankedTensorType>(value.getType()), sharding};
  }

  const MeshLayout &layout;
  ReshardPlanner planner;
  OpBuilder builder;
  StringAttr shardingsName;
  WholeValues wholes;
  SyncedHalos synced;
  LocalWindows windows;
  RandomStreams streams;
  /// Ways of which it was said that there may be cheaper ones.
  llvm::SmallPtrSet<const ReshardRoute *, 4> reported;
};
} // namespace

LogicalResult Partitioner::visitReshard(ReshardOp reshard) {
  builder.setInsertionPoint(reshard);
  auto global = cast<RankedTensorType>(reshard.getType());
  FailureOr<Value> local = lowerReshard(
      builder, reshard.getLoc(), layout, planner, reshard.getOperand(), global,
      reshard.getSource(), reshard.getSharding(), reshard.getCauseAttr(),
      reshard->getAttr(kScopeAttr));
  if (failed(local))
    return reshard.emitOpError() << "has no sequence of collectives";
  const ReshardRoute *route =
      planner.get(global, reshard.getSource(), reshard.getSharding());
  if (route && !route->isCheapest && reported.insert(route).second)
    reshard.emitRemark()
        << "from " << reshard.getSource() << " to " << reshard.getSharding()
        << " too many axes move to try all ways; there may be a cheaper one";
  reshard.getResult().replaceAllUsesWith(*local);
  if (*local != reshard.getOperand() || !wholes.count(*local))
    wholes[*local] = {global, reshard.getSharding()};
  reshard.erase();
  return success();
}

/// Its region's ops take its place, and say as collectives why they are here.
LogicalResult Partitioner::visitManual(ManualReshardOp manual) {
  auto whole = cast<RankedTensorType>(manual.getType());
  Block &body = manual.getBody().front();
  Operation *yield = body.getTerminator();
  Value made = yield->getOperand(0);
  if (manual.getOperand().getType() != body.getArgument(0).getType() ||
      made.getType() != layout.localType(whole, manual.getSharding()))
    return manual.emitOpError() << "its region is not of the types that a "
                                << "device holds: run --dist-verify-placed";
  Attribute scope = manual->getAttr(kScopeAttr);
  for (Operation &op : body)
    op.walk([&](Operation *nested) {
      if (scope && !nested->hasAttr(kScopeAttr) &&
          isa<CollectiveOpInterface>(nested))
        nested->setAttr(kScopeAttr, scope);
      auto collective = dyn_cast<CollectiveOpInterface>(nested);
      if (collective && !collective.getCauseAttr() && manual.getCauseAttr())
        nested->setAttr("cause", manual.getCauseAttr());
    });
  body.getArgument(0).replaceAllUsesWith(manual.getOperand());
  if (made == body.getArgument(0))
    made = manual.getOperand();
  manual->getBlock()->getOperations().splice(manual->getIterator(),
                                             body.getOperations(), body.begin(),
                                             yield->getIterator());
  manual.getResult().replaceAllUsesWith(made);
  wholes[made] = {whole, manual.getSharding()};
  manual.erase();
  return success();
}

/// It stays, as a copy of the device's own part, until it is known what reads
/// the rows that it brings.
void Partitioner::visitHalo(SyncOp sync) {
  Whole whole = wholes[sync.getOperand()];
  int64_t dim = *sync.getDim(), size = whole.type.getDimSize(dim);
  // Blocks that are even say it themselves.
  if (Blocks(layout, whole.sharding.getDims()[dim], size).isEven())
    size = ShapedType::kDynamic;
  synced.exchange(builder, sync, size);
  sync->removeDiscardableAttr(shardingsName);
  wholes[sync.getResult()] = whole;
}

LogicalResult Partitioner::finishHalos(FunctionOpInterface function) {
  if (failed(hoistHalos(function, synced)))
    return failure();
  sinkHalos(function);
  return synced.finish();
}

LogicalResult Partitioner::visitBranch(RegionBranchOpInterface branch) {
  RegionBranchInverseSuccessorMapping mapping;
  branch.getSuccessorInputOperandMapping(mapping);
  for (Region &region : branch->getRegions()) {
    for (Value argument : region.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type)
        continue;
      ShardingAttr sharding;
      for (OpOperand *operand : mapping[argument]) {
        auto known = wholes.find(operand->get());
        if (known != wholes.end())
          sharding = known->second.sharding;
      }
      if (!sharding)
        return branch->emitOpError()
               << "passes a tensor to region " << region.getRegionNumber()
               << " whose placement is not known";
      setWhole(argument, sharding);
      argument.setType(layout.localType(type, sharding));
    }
    for (Block &block : region)
      if (failed(visitBlock(block)))
        return failure();
  }
  return success();
}

/// A uniform constant is made in the size of the part; of any other the device
/// holds its part of the data.
LogicalResult Partitioner::visitConstant(Operation *op, ShardingAttr sharding) {
  ElementsAttr elements;
  if (!matchPattern(op, m_Constant(&elements)))
    return op->emitOpError()
           << "is a constant without elements, placed as " << sharding;
  RankedTensorType type = layout.localType(
      cast<RankedTensorType>(op->getResult(0).getType()), sharding);
  builder.setInsertionPoint(op);
  Operation *local;
  if (auto splat = dyn_cast<SplatElementsAttr>(elements))
    local = arith::ConstantOp::create(builder, op->getLoc(),
                                      splat.resizeSplat(type));
  else
    local = LocalConstantOp::create(builder, op->getLoc(), type, elements,
                                    sharding);
  if (Attribute scope = op->getAttr(kScopeAttr))
    local->setAttr(kScopeAttr, scope);
  Whole whole = wholes[op->getResult(0)];
  wholes.erase(op->getResult(0));
  wholes[local->getResult(0)] = whole;
  op->replaceAllUsesWith(local);
  op->erase();
  return success();
}

/// Makes an op local whose operands are local, except those that it reads in
/// windows.
LogicalResult Partitioner::makeLocal(Operation *op, const LocalView &view) {
  builder.setInsertionPoint(op);
  ShardingRule rule;
  bool isWritten = false;
  if (mayReadWindows(op)) {
    rule = windows.getWholeRule(op);
    isWritten = llvm::any_of(rule.results, [](const TensorRule &tensor) {
      return !tensor.windows.empty();
    });
    if (auto pad = dyn_cast<tensor::PadOp>(op)) {
      FailureOr<bool> isDone = windows.visitPad(pad, view, rule);
      if (failed(isDone) || *isDone)
        return isDone;
    } else if (failed(windows.bring(op, view, rule))) {
      return failure();
    }
    // One that writes windows stays.
    if (isWritten)
      windows.makeRoom(cast<DestinationStyleOpInterface>(op), view, rule);
    else
      op->removeDiscardableAttr(kWindowCauseAttr);
    builder.setInsertionPoint(op);
  }
  LogicalResult done = success();
  if (auto iface = dyn_cast<ShardingRuleOpInterface>(op))
    done = iface.makeLocal(builder, view);
  else
    done = setLocalResultTypes(op, view);
  if (succeeded(done) && isWritten) {
    done = windows.sendHome(cast<DestinationStyleOpInterface>(op), view, rule);
    op->removeDiscardableAttr(kWindowCauseAttr);
  }
  return done;
}

LogicalResult Partitioner::visitOp(Operation *op) {
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return visitReshard(reshard);
  if (auto manual = dyn_cast<ManualReshardOp>(op))
    return visitManual(manual);
  if (auto sync = dyn_cast<SyncOp>(op);
      sync && sync.getKind() == SyncKind::Halo && sync.getOperand()) {
    visitHalo(sync);
    return success();
  }
  auto attr = op->getAttrOfType<ArrayAttr>(shardingsName);
  if (!attr &&
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
    return op->emitOpError() << "has no placement: run --dist-propagate and "
                             << "--dist-insert-reshards first";
  if (!attr && op->getNumRegions() == 0)
    return success();
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
    if (failed(visitBranch(branch)))
      return failure();
  } else if (!isa<linalg::LinalgOp>(op)) {
    // What runs whole on every device, inside of an op without a rule.
    for (Region &region : op->getRegions())
      region.walk([&](Operation *nested) {
        nested->removeDiscardableAttr(shardingsName);
      });
  }
  if (!attr)
    return success();

  SmallVector<ShardingAttr, 4> operands, results;
  SmallVector<Type, 4> operandTypes;
  bool isLocal = true; // nothing changes
  for (Value operand : op->getOperands()) {
    auto known = wholes.find(operand);
    bool isKnown = known != wholes.end();
    operands.push_back(isKnown ? known->second.sharding : ShardingAttr());
    operandTypes.push_back(isKnown ? Type(known->second.type)
                                   : operand.getType());
    // Also a tensor that keeps its size may be padding on some devices.
    isLocal &=
        !isKnown || known->second.sharding.withoutPartial().isReplicated();
  }
  for (auto [result, sharding] : llvm::zip_equal(op->getResults(), attr)) {
    results.push_back(dyn_cast<ShardingAttr>(sharding));
    if (!results.back())
      continue;
    setWhole(result, results.back());
    isLocal &= results.back().withoutPartial().isReplicated();
  }
  op->removeAttr(shardingsName);
  if (Value cropped = windows.takeCropped(op)) {
    // A copy: the table may move as it grows.
    auto whole = wholes.lookup(op->getResult(0));
    wholes[cropped] = whole;
    wholes.erase(op->getResult(0));
    op->replaceAllUsesWith(ValueRange(cropped));
    op->erase();
    return success();
  }
  LocalView view{layout, operands, results, operandTypes};
  bool draws = RandomStreams::hasStreams(op);
  if (draws && failed(streams.visit(cast<linalg::LinalgOp>(op),
                                    windows.getWholeRule(op), view)))
    return failure();
  if (isLocal) {
    if (draws)
      streams.finish(builder);
    return success();
  }

  if (op->hasTrait<OpTrait::ConstantLike>())
    return visitConstant(op, results[0]);
  // Ops may put others in their place: whoever uses the results sees which.
  SmallVector<std::pair<OpOperand *, Whole>, 2> firstUses;
  for (Value result : op->getResults())
    if (!result.use_empty() && wholes.count(result))
      firstUses.push_back({&*result.use_begin(), wholes[result]});
  LogicalResult done = makeLocal(op, view);
  if (draws && succeeded(done))
    streams.finish(builder);
  for (auto &[use, whole] : firstUses)
    wholes.try_emplace(use->get(), whole);
  return done;
}

LogicalResult Partitioner::visitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(visitOp(&op)))
      return failure();
  return success();
}

LogicalResult Partitioner::visitFunction(FunctionOpInterface function) {
  MLIRContext *context = function.getContext();
  Block &body = function.getFunctionBody().front();
  SmallVector<Type> arguments, results;
  // One attribute holds those of all arguments: it is built once.
  SmallVector<DictionaryAttr> attrs;
  function.getAllArgAttrs(attrs);
  attrs.resize(function.getNumArguments(), DictionaryAttr::get(context));
  for (BlockArgument argument : body.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto sharding =
        function.getArgAttrOfType<ShardingAttr>(number, kShardingAttr);
    if (auto type = dyn_cast<RankedTensorType>(argument.getType())) {
      if (!sharding)
        sharding =
            ShardingAttr::getReplicated(layout.getName(), type.getRank());
      setWhole(argument, sharding);
      NamedAttrList list(attrs[number] ? attrs[number]
                                       : DictionaryAttr::get(context));
      list.set(kGlobalTypeAttr, TypeAttr::get(type));
      list.set(kShardingAttr, sharding);
      list.erase(kStoredAttr);
      list.erase(kCauseAttr);
      attrs[number] = list.getDictionary(context);
      argument.setType(layout.localType(type, sharding));
    }
    arguments.push_back(argument.getType());
  }
  function.setAllArgAttrs(attrs);
  SmallVector<Type> globals(function.getResultTypes());
  if (failed(visitBlock(body)))
    return failure();
  Operation *terminator = body.getTerminator();
  for (Value value : terminator->getOperands())
    results.push_back(value.getType());
  updateResultAttrs(function, [&](unsigned number, NamedAttrList &list) {
    if (auto type = dyn_cast<RankedTensorType>(globals[number]))
      list.set(kGlobalTypeAttr, TypeAttr::get(type));
    list.erase(kCauseAttr);
  });
  function.setType(FunctionType::get(context, arguments, results));
  return success();
}

namespace mlir::dist {
#define GEN_PASS_DEF_PARTITIONPASS
#include "passes/spmd/partition/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct PartitionPass : mlir::dist::impl::PartitionPassBase<PartitionPass> {
  using PartitionPassBase::PartitionPassBase;

  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return;
    FailureOr<Machine> machine = Machine::getUnknown();
    if (!machineName.empty())
      machine = loadMachine(getOperation().getLoc(), "--dist-partition",
                            machineName, link);
    else if (!link.empty())
      machine = getOperation().emitError(
          "--dist-partition: a link without a machine: machine=NAME or "
          "machine=FILE.json, as of dist-report");
    if (failed(machine) || failed(checkDevices(*machine, *mesh)))
      return signalPassFailure();
    MeshLayout layout(*mesh);
    Partitioner partitioner(layout, std::move(*machine));
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      if (failed(partitioner.visitFunction(function)))
        return signalPassFailure();
      if (failed(partitioner.finishHalos(function)))
        return signalPassFailure();
    }
    partitioner.getStreams().record(*mesh);
  }
};
} // namespace
