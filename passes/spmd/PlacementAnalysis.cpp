//===- PlacementAnalysis.cpp - Values and nodes of a module ---------------===//

#include "passes/spmd/PlacementAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/PlacementMesh.h"
#include "passes/spmd/PlacementText.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::isFreeValue(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<tensor::EmptyOp, tensor::SplatOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return true;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return isa_and_nonnull<tensor::EmptyOp>(
        fill.getDpsInitOperand(0)->get().getDefiningOp());
  return false;
}

//===----------------------------------------------------------------------===//
// Values and nodes
//===----------------------------------------------------------------------===//

void PlacementAnalysis::addValue(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || isFreeValue(value))
    return;
  indices[value] = values.size();
  values.push_back(value);
  pinned.push_back(false);
  DimState none;
  none.sharding = layout->none();
  dims.resize(dims.size() + type.getRank(), none);
  firstDim.push_back(dims.size());
}

void PlacementAnalysis::addNode(Operation *op, const ShardingRule *rule,
                                ArrayRef<unsigned> tensors, uint8_t level) {
  nodes.push_back({op, rule, static_cast<unsigned>(links.size()), level});
  links.insert(links.end(), tensors.begin(), tensors.end());
}

void PlacementAnalysis::addEdge(Operation *op, ArrayRef<Value> group) {
  SmallVector<unsigned, 4> tensors;
  for (Value value : group)
    tensors.push_back(getIndex(value));
  auto type = cast<RankedTensorType>(group.front().getType());
  std::unique_ptr<ShardingRule> &rule = edgeRules[{type, group.size()}];
  if (!rule) {
    rule = std::make_unique<ShardingRule>();
    TensorRule tensor;
    for (int64_t size : type.getShape())
      tensor.dims.push_back({rule->addFactor(size)});
    rule->operands.assign(group.size(), tensor);
  }
  addNode(op, rule.get(), tensors, 0);
}

/// Whether the op has regions that are no part of the program, but compute an
/// element of its result.
static bool hasScalarBody(Operation *op) {
  return isa<linalg::LinalgOp, tensor::GenerateOp, tensor::PadOp>(op);
}

/// Blocks that branch to each other would each need placements of their own,
/// and reshards where they meet.
static LogicalResult refuseBlocks(Operation *op) {
  for (Region &region : op->getRegions()) {
    if (region.empty() || region.hasOneBlock())
      continue;
    bool hasTensors =
        isa<FunctionOpInterface>(op) ||
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
    for (Block &block : region) {
      hasTensors |=
          llvm::any_of(block.getArgumentTypes(), llvm::IsaPred<TensorType>);
      block.walk([&](Operation *nested) {
        hasTensors |=
            llvm::any_of(nested->getOperandTypes(),
                         llvm::IsaPred<TensorType>) ||
            llvm::any_of(nested->getResultTypes(), llvm::IsaPred<TensorType>);
      });
    }
    if (hasTensors)
      return op->emitOpError()
             << "has " << region.getBlocks().size()
             << " blocks, between which tensors cannot be placed; use scf for "
             << "control flow (--lift-cf-to-scf makes it)";
  }
  return success();
}

/// Visits ops outermost first, without the bodies of linalg ops.
static void walkOps(Operation *root, function_ref<void(Operation *)> visit) {
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    visit(op);
    return hasScalarBody(op) || isa<ScheduleOp>(op) ? WalkResult::skip()
                                                    : WalkResult::advance();
  });
}

LogicalResult PlacementAnalysis::addOps(Operation *module) {
  bool isRefused = false;
  walkOps(module, [&](Operation *op) {
    if (!isRefused && !hasScalarBody(op))
      isRefused = failed(refuseBlocks(op));
    for (Value result : op->getResults())
      addValue(result);
    for (Region &region : op->getRegions()) {
      if (hasScalarBody(op))
        break;
      for (Block &block : region)
        for (Value argument : block.getArguments())
          addValue(argument);
    }
  });
  if (isRefused)
    return failure();
  SymbolTableCollection symbols;
  SmallVector<unsigned, 8> tensors;
  walkOps(module, [&](Operation *op) {
    if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
      RegionBranchInverseSuccessorMapping mapping;
      branch.getSuccessorInputOperandMapping(mapping);
      // In order of the inputs, not of the map.
      auto add = [&](Value input) {
        auto found = mapping.find(input);
        if (found == mapping.end() || getIndex(input) == kNone)
          return;
        SmallVector<Value, 4> group{input};
        for (OpOperand *operand : found->second)
          if (operand->get().getType() == input.getType())
            group.push_back(operand->get());
        addEdge(op, group);
      };
      for (Region &region : op->getRegions())
        for (Value argument : region.getArguments())
          add(argument);
      for (Value result : op->getResults())
        add(result);
      return;
    }
    if (auto call = dyn_cast<CallOpInterface>(op)) {
      auto callee = dyn_cast_or_null<FunctionOpInterface>(
          call.resolveCallableInTable(&symbols));
      if (!callee || callee.isExternal())
        return;
      for (auto [operand, argument] :
           llvm::zip_equal(call.getArgOperands(), callee.getArguments()))
        if (getIndex(argument) != kNone &&
            operand.getType() == argument.getType())
          addEdge(op, {operand, argument});
      for (Block &block : callee.getFunctionBody())
        if (block.mightHaveTerminator())
          for (auto [yielded, result] : llvm::zip(
                   block.getTerminator()->getOperands(), op->getResults()))
            if (getIndex(result) != kNone)
              addEdge(op, {yielded, result});
      return;
    }
    if (auto constraint = dyn_cast<ShardingConstraintOp>(op)) {
      if (getIndex(constraint.getOperand()) != kNone)
        addEdge(op, {constraint.getOperand(), constraint.getResult()});
      return;
    }
    if (op->hasTrait<OpTrait::IsTerminator>() || isa<ScheduleOp, MeshOp>(op) ||
        isa<FunctionOpInterface>(op))
      return;
    tensors.clear();
    bool any = false;
    for (Value operand : op->getOperands()) {
      tensors.push_back(
          isa<RankedTensorType>(operand.getType()) ? getIndex(operand) : kNone);
      any |= tensors.back() != kNone;
    }
    for (Value result : op->getResults()) {
      tensors.push_back(
          isa<RankedTensorType>(result.getType()) ? getIndex(result) : kNone);
      any |= tensors.back() != kNone;
    }
    if (!any)
      return;
    const ShardingRule *rule = getRule(op);
    bool hasReduction = llvm::any_of(rule->factors, [](const Factor &factor) {
      return factor.kind == FactorKind::Reduction;
    });
    addNode(op, rule, tensors, rule->isContraction ? 1 : hasReduction ? 2 : 0);
  });
  rules.forgetSizes();
  return success();
}

void PlacementAnalysis::buildUses() {
  firstUse.assign(values.size() + 1, 0);
  for (const Node &node : nodes)
    for (unsigned value : getLinks(node))
      if (value != kNone)
        ++firstUse[value + 1];
  for (size_t i = 1; i < firstUse.size(); ++i)
    firstUse[i] += firstUse[i - 1];
  uses.resize(firstUse.back());
  std::vector<unsigned> next(firstUse.begin(), firstUse.end() - 1);
  for (auto [index, node] : llvm::enumerate(nodes))
    for (unsigned value : getLinks(node))
      if (value != kNone)
        uses[next[value]++] = index;
}

//===----------------------------------------------------------------------===//
// The user's word
//===----------------------------------------------------------------------===//

static LogicalResult refusePending(ShardingAttr sharding, Operation *at) {
  if (!sharding || !sharding.isPartial())
    return success();
  return at->emitOpError() << "is placed as " << sharding
                           << ", but pending reductions arise from ops; "
                           << "a placement that asks for one cannot be used";
}

LogicalResult PlacementAnalysis::seedValue(unsigned value,
                                           ShardingAttr sharding,
                                           unsigned cause, Operation *at) {
  if (failed(refusePending(sharding, at)))
    return failure();
  auto type = cast<RankedTensorType>(values[value].getType());
  for (auto [index, state] : llvm::enumerate(getDims(value))) {
    DimShardingAttr dim = sharding.getDims()[index];
    DimShardingAttr wanted = layout->canonical(dim, type.getDimSize(index));
    if (state.sharding != layout->none() && wanted != state.sharding &&
        !layout->isPrefix(wanted, state.sharding))
      return at->emitOpError()
             << "asks for " << printDim(wanted) << " on dimension " << index
             << " of a value that " << causes[state.cause] << " places as "
             << printDim(state.sharding);
    if (wanted != layout->none()) {
      state.sharding = wanted;
      state.cause = cause;
    }
    state.isClosed |= !dim.getIsOpen();
  }
  return success();
}

LogicalResult PlacementAnalysis::seed(Operation *module) {
  auto addCause = [&](std::string text) {
    causes.push_back(std::move(text));
    return static_cast<unsigned>(causes.size() - 1);
  };
  WalkResult result = module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      if (function.isExternal())
        return WalkResult::skip();
      for (BlockArgument argument : function.getArguments()) {
        unsigned number = argument.getArgNumber();
        auto sharding =
            function.getArgAttrOfType<ShardingAttr>(number, kShardingAttr);
        unsigned value = getIndex(argument);
        if (!sharding || value == kNone)
          continue;
        std::string name = "argument " + std::to_string(number);
        for (StringRef attr : {kParameterAttr, kInputAttr})
          if (auto given = function.getArgAttrOfType<StringAttr>(number, attr))
            name = (attr == kParameterAttr ? "parameter '" : "input '") +
                   given.str() + "'";
        std::string at = describeLocation(argument.getLoc());
        std::string text =
            "the sharding of " + name + (at.empty() ? "" : " (" + at + ")");
        if (auto cause =
                function.getArgAttrOfType<StringAttr>(number, kCauseAttr))
          text = cause.str();
        if (failed(seedValue(value, sharding, addCause(std::move(text)), op)))
          return WalkResult::interrupt();
      }
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (failed(refusePending(
                function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr),
                op)))
          return WalkResult::interrupt();
      return WalkResult::advance();
    }
    // What --dist-propagate wrote in an earlier run.
    if (auto shardings = op->getAttrOfType<ArrayAttr>(kShardingsAttr))
      for (auto [result, attr] : llvm::zip_equal(op->getResults(), shardings)) {
        auto sharding = dyn_cast<ShardingAttr>(attr);
        unsigned value = getIndex(result);
        if (!sharding || value == kNone)
          continue;
        ArrayRef<int64_t> shape =
            cast<RankedTensorType>(result.getType()).getShape();
        for (auto [state, dim, size] :
             llvm::zip_equal(getDims(value), sharding.getDims(), shape))
          state.sharding = layout->canonical(dim, size);
      }
    if (auto constraint = dyn_cast<ShardingConstraintOp>(op)) {
      std::string text =
          constraint.getCause()
              ? constraint.getCause()->str()
              : "the constraint at " + describeLocation(op->getLoc());
      unsigned cause = addCause(std::move(text));
      unsigned value = getIndex(constraint.getResult());
      if (failed(seedValue(value, constraint.getSharding(), cause, op)))
        return WalkResult::interrupt();
      pinned[value] = true;
      unsigned operand = getIndex(constraint.getOperand());
      if (operand != kNone)
        pinned[operand] = true;
    }
    return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                     : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  findStoredParameters();
  return success();
}

ShardingAttr PlacementAnalysis::getSharding(unsigned value) const {
  if (value < settled.size() && settled[value])
    return settled[value];
  SmallVector<DimShardingAttr, 4> out;
  for (const DimState &state : getDims(value))
    out.push_back(state.sharding);
  auto sharding = ShardingAttr::get(layout->getContext(), layout->getName(),
                                    out, ReductionKind::Sum, {});
  if (value < settled.size())
    settled[value] = sharding;
  return sharding;
}

PlacementAnalysis::PlacementAnalysis(Operation *module) {
  // All shardings must speak of one mesh.
  FlatSymbolRefAttr mesh;
  auto see = [&](Operation *at, FlatSymbolRefAttr name) {
    if (!name || failed(status))
      return;
    if (mesh && mesh != name)
      status = at->emitOpError()
               << "is placed on mesh " << name << ", but others are on " << mesh
               << "; one mesh a module is supported";
    mesh = name;
  };
  module->walk([&](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      if (isOfOneDevice(function) && succeeded(status))
        status = op->emitOpError()
                 << "is the program of one device already ('" << kGlobalTypeAttr
                 << "'): it cannot be placed again";
      for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
        if (auto s = function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr))
          see(op, s.getMesh());
      for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
        if (auto s =
                function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr))
          see(op, s.getMesh());
    } else if (auto constraint = dyn_cast<ShardingConstraintOp>(op)) {
      see(op, constraint.getSharding().getMesh());
    } else if (auto sync = dyn_cast<SyncOp>(op)) {
      if (sync.getMeshAttr() && sync.getOperand())
        see(op, sync.getMeshAttr());
    }
  });
  if (failed(status))
    return;
  Block &body = module->getRegion(0).front();
  if (body.empty())
    return;
  MeshOp meshOp = lookupMesh(&body.front(), mesh);
  if (!meshOp) {
    bool hasSync = module
                       ->walk([&](SyncOp sync) {
                         return sync.getOperand() ? WalkResult::interrupt()
                                                  : WalkResult::advance();
                       })
                       .wasInterrupted();
    if (mesh || hasSync)
      status = module->emitOpError()
               << "has no dist.mesh that its placements could be on";
    return;
  }
  layout = std::make_unique<MeshLayout>(meshOp);
  status = addOps(module);
  if (failed(status))
    return;
  buildUses();
  isPending.assign(nodes.size(), false);
  status = seed(module);
}
