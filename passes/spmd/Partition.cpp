//===- Partition.cpp - The program of one device --------------------------===//
//
// Every op is made local where it stands, through the sharding rule interface;
// every dist.reshard becomes collectives. Linear in the number of ops.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/FunctionAttrs.h"
#include "dialects/dist/IR/Program.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Passes.h"
#include "passes/spmd/HoistHalos.h"
#include "passes/spmd/PlacementText.h"
#include "passes/spmd/ReshardLowering.h"
#include "passes/spmd/WindowLowering.h"
#include "passes/spmd/Windows.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// What a value was before it became local.
struct Whole {
  RankedTensorType type;
  ShardingAttr sharding;
};

class Partitioner {
public:
  explicit Partitioner(const MeshLayout &layout)
      : layout(layout), planner(layout), builder(layout.getContext()),
        shardingsName(StringAttr::get(layout.getContext(), kShardingsAttr)) {}

  LogicalResult visitFunction(FunctionOpInterface function);

private:
  LogicalResult visitBlock(Block &block);
  LogicalResult visitOp(Operation *op);
  LogicalResult visitReshard(ReshardOp reshard);
  LogicalResult visitManual(ManualReshardOp manual);
  LogicalResult visitConstant(Operation *op, ShardingAttr sharding);
  LogicalResult visitBranch(RegionBranchOpInterface branch);
  ShardingRule getWholeRule(Operation *op);
  LogicalResult bringWindows(Operation *op, const LocalView &view,
                             const ShardingRule &rule);
  FailureOr<bool> visitPad(tensor::PadOp pad, const LocalView &view,
                           const ShardingRule &rule);
  void setWhole(Value value, ShardingAttr sharding) {
    wholes[value] = {cast<RankedTensorType>(value.getType()), sharding};
  }

  const MeshLayout &layout;
  ReshardPlanner planner;
  OpBuilder builder;
  StringAttr shardingsName;
  llvm::DenseMap<Value, Whole> wholes;
  /// Pads of sharded dimensions whose users fill in what they add, not local
  /// yet: what they pad.
  llvm::DenseMap<Operation *, Whole> openPads;
  /// What windows of a value have been brought before: to which block, with
  /// what filled in, and where it is. Ops that read alike share it.
  struct Brought {
    Block *block;
    Attribute fill;
    SmallVector<WindowRead> reads;
    Value ready;
  };
  llvm::DenseMap<Value, SmallVector<Brought, 1>> brought;
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

/// The rule of an op some of whose operands are local already.
ShardingRule Partitioner::getWholeRule(Operation *op) {
  SmallVector<std::pair<Value, Type>> local;
  for (Value operand : op->getOperands())
    if (auto known = wholes.find(operand); known != wholes.end()) {
      local.push_back({operand, operand.getType()});
      operand.setType(known->second.type);
    }
  ShardingRule rule = getShardingRule(op);
  for (auto [operand, type] : llvm::reverse(local))
    operand.setType(type);
  return rule;
}

/// The value of what a pad adds, where it is no part of its body.
static Value getFill(OpBuilder &builder, tensor::PadOp pad) {
  Value fill = pad.getConstantPaddingValue();
  if (Operation *made = fill.getDefiningOp(); made && pad->isAncestor(made))
    return builder.clone(*made)->getResult(0);
  return fill;
}

/// Who asked for what an op's windows take, and which windows.
static std::string describeWindows(Operation *op, unsigned operand) {
  auto cause = op->getAttrOfType<StringAttr>(kCauseAttr);
  return (cause ? cause.str() + ": " : std::string()) +
         (isa<tensor::PadOp>(op) ? "moves rows on for " + describeOp(op)
                                 : "brings neighbours' rows of operand " +
                                       std::to_string(operand) + ", which " +
                                       describeOp(op) + " reads in windows");
}

/// Brings what the op reads in windows of sharded operands.
LogicalResult Partitioner::bringWindows(Operation *op, const LocalView &view,
                                        const ShardingRule &rule) {
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    const TensorRule &tensor = rule.operands[number];
    auto pad = operand.get().getDefiningOp<tensor::PadOp>();
    auto open = pad ? openPads.find(pad) : openPads.end();
    bool isOpen = open != openPads.end();
    auto isRead = [&](const Window &window) {
      return view.operands[number].getDims()[window.dim] != layout.none();
    };
    if (!isOpen && llvm::none_of(tensor.windows, isRead))
      continue;
    WindowSource source{operand.get(),
                        cast<RankedTensorType>(view.operandTypes[number]),
                        view.operands[number]};
    Value fill;
    if (isOpen) {
      source = {pad.getSource(), open->second.type, open->second.sharding};
      fill = getFill(builder, pad);
    }
    SmallVector<WindowRead> reads;
    for (int64_t dim = 0; dim < source.whole.getRank(); ++dim) {
      const Window *window = tensor.getWindow(dim);
      WindowRead read{{static_cast<unsigned>(dim)}, 0};
      if (isOpen) {
        read.low = pad.getStaticLow()[dim];
        read.high = pad.getStaticHigh()[dim];
      }
      if (window && isRead(*window)) {
        read.window = *window;
        read.window.offset -= read.low;
        read.iterations = rule.factors[tensor.dims[dim][0]].size;
        reads.push_back(read);
      } else if (read.low != 0 || read.high != 0) {
        reads.push_back(read);
      }
    }
    Attribute filler;
    FailureOr<Value> ready = failure();
    bool isComparable = !fill || matchPattern(fill, m_Constant(&filler));
    SmallVector<Brought, 1> &before = brought[source.local];
    for (const Brought &other : before)
      if (isComparable && other.block == op->getBlock() &&
          other.fill == filler && other.reads == reads)
        ready = other.ready;
    if (failed(ready)) {
      Value local = source.local;
      ready = readWindows(builder, op->getLoc(), layout, planner, source, reads,
                          fill, describeWindows(op, number),
                          op->getAttr(kScopeAttr));
      if (failed(ready))
        return op->emitOpError() << "reads windows of operand " << number
                                 << ", which has no sequence of collectives";
      // Of what is as it was the next one makes no more either.
      if (isComparable && *ready != local)
        before.push_back({op->getBlock(), filler, std::move(reads), *ready});
    }
    operand.set(*ready);
    if (isOpen && pad->use_empty()) {
      openPads.erase(pad);
      pad->erase();
    }
  }
  return success();
}

/// Ops that read in windows fill in what a pad adds; for all others its rows
/// move on. Whether it was seen to.
FailureOr<bool> Partitioner::visitPad(tensor::PadOp pad, const LocalView &view,
                                      const ShardingRule &rule) {
  auto isRead = [&](const Window &window) {
    return view.operands[0].getDims()[window.dim] != layout.none();
  };
  if (llvm::none_of(rule.operands[0].windows, isRead))
    return false;
  Whole whole = wholes[pad.getResult()];
  SmallVector<OpOperand *> others;
  bool isFilled = false;
  for (OpOperand &use : pad.getResult().getUses())
    if (mayReadWindows(use.getOwner()) &&
        fillsPad(use, getWholeRule(use.getOwner()), pad, whole.sharding))
      isFilled = true;
    else
      others.push_back(&use);
  if (!others.empty()) {
    SmallVector<WindowRead> reads;
    for (int64_t dim = 0; dim < whole.type.getRank(); ++dim) {
      WindowRead read{{static_cast<unsigned>(dim)},
                      whole.type.getDimSize(dim),
                      pad.getStaticLow()[dim],
                      pad.getStaticHigh()[dim]};
      if (const Window *window = rule.operands[0].getWindow(dim))
        read.window = *window;
      if (read.low != 0 || read.high != 0)
        reads.push_back(read);
    }
    FailureOr<Value> padded = readWindows(
        builder, pad.getLoc(), layout, planner,
        {pad.getSource(), cast<RankedTensorType>(view.operandTypes[0]),
         view.operands[0]},
        reads, getFill(builder, pad), describeWindows(pad, 0),
        pad->getAttr(kScopeAttr));
    if (failed(padded))
      return pad->emitOpError() << "has no sequence of collectives";
    wholes[*padded] = whole;
    for (OpOperand *use : others)
      use->set(*padded);
  }
  if (isFilled)
    openPads[pad] = {cast<RankedTensorType>(view.operandTypes[0]),
                     view.operands[0]};
  else
    pad->erase();
  return true;
}

LogicalResult Partitioner::visitOp(Operation *op) {
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return visitReshard(reshard);
  if (auto manual = dyn_cast<ManualReshardOp>(op))
    return visitManual(manual);
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
  if (isLocal)
    return success();

  if (op->hasTrait<OpTrait::ConstantLike>())
    return visitConstant(op, results[0]);
  // Ops may put others in their place: whoever uses the results sees which.
  SmallVector<std::pair<OpOperand *, Whole>, 2> firstUses;
  for (Value result : op->getResults())
    if (!result.use_empty() && wholes.count(result))
      firstUses.push_back({&*result.use_begin(), wholes[result]});
  LocalView view{layout, operands, results, operandTypes};
  builder.setInsertionPoint(op);
  if (mayReadWindows(op)) {
    ShardingRule rule = getWholeRule(op);
    if (auto pad = dyn_cast<tensor::PadOp>(op)) {
      FailureOr<bool> isDone = visitPad(pad, view, rule);
      if (failed(isDone) || *isDone)
        return isDone;
    } else if (failed(bringWindows(op, view, rule))) {
      return failure();
    }
    op->removeDiscardableAttr(kCauseAttr);
    builder.setInsertionPoint(op);
  }
  LogicalResult done = success();
  if (auto iface = dyn_cast<ShardingRuleOpInterface>(op))
    done = iface.makeLocal(builder, view);
  else
    done = setLocalResultTypes(op, view);
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
#include "passes/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct PartitionPass : mlir::dist::impl::PartitionPassBase<PartitionPass> {
  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return;
    MeshLayout layout(*mesh);
    Partitioner partitioner(layout);
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      if (failed(partitioner.visitFunction(function)))
        return signalPassFailure();
      hoistHalos(function);
    }
  }
};
} // namespace
