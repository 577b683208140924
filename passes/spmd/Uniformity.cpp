//===- Uniformity.cpp - What all devices of a group agree on --------------===//
//
// A forward data-flow analysis: of each value the parts of mesh axes along
// which it may differ from device to device. Repeated until nothing changes,
// which loops and calls need; sets only grow, so that takes few rounds.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/Uniformity.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/PlacementText.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Parts of axes, by number.
using AxisSet = llvm::BitVector;

class Uniformity {
public:
  Uniformity(ModuleOp module, const MeshLayout &layout);
  LogicalResult verify();

private:
  /// What a region's code runs under.
  struct Control {
    AxisSet differs;
    Operation *source = nullptr;
  };

  AxisSet none() const { return AxisSet(parts.size()); }
  /// All parts that overlap `axes`, but for those of one device.
  AxisSet covering(ArrayRef<AxisRefAttr> axes) const;
  AxisSet covering(ShardingAttr sharding) const;
  /// The parts that make up `axes`.
  AxisSet within(ArrayRef<AxisRefAttr> axes) const;

  AxisSet get(Value value) const {
    auto found = differing.find(value);
    return found == differing.end() ? none() : found->second;
  }
  void add(Value value, const AxisSet &axes);
  AxisSet getOfOperands(Operation *op) const;

  void visitBlock(Block &block, const Control &control);
  void visitOp(Operation *op, const Control &control);
  void visitBranch(RegionBranchOpInterface branch, const Control &control);
  void visitCall(CallOpInterface call, const Control &control);
  AxisSet getResultSet(Operation *op) const;
  void check(Operation *op, const AxisSet &group, const Control &control,
             Operation *inside);
  /// Axes of the collectives that a function runs, and one of them.
  std::pair<AxisSet, Operation *> getGroups(FunctionOpInterface function);
  FunctionOpInterface getCallee(CallOpInterface call) {
    auto callee = dyn_cast_or_null<FunctionOpInterface>(
        call.resolveCallableInTable(&symbols));
    return callee && !callee.isExternal() ? callee : FunctionOpInterface();
  }

  ModuleOp module;
  const MeshLayout &layout;
  SmallVector<AxisRefAttr> parts;
  llvm::DenseMap<Value, AxisSet> differing;
  /// Results of functions.
  llvm::DenseMap<std::pair<Operation *, unsigned>, AxisSet> returned;
  llvm::DenseMap<Operation *, std::pair<AxisSet, Operation *>> groups;
  SymbolTableCollection symbols;
  bool changed = false, isChecking = false, isRefused = false;
};
} // namespace

Uniformity::Uniformity(ModuleOp module, const MeshLayout &layout)
    : module(module), layout(layout) {
  llvm::SetVector<AxisRefAttr> named;
  auto note = [&](ArrayRef<AxisRefAttr> axes) {
    named.insert(axes.begin(), axes.end());
  };
  auto noteSharding = [&](ShardingAttr sharding) {
    for (DimShardingAttr dim : sharding.getDims())
      note(dim.getAllAxes());
  };
  module.walk([&](Operation *op) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      note(getAxisRefs(collective.getAxes()));
    if (auto permute = dyn_cast<CollectivePermuteOp>(op))
      note(getAxisRefs(permute.getToAxes()));
    if (auto index = dyn_cast<AxisIndexOp>(op))
      note(getAxisRefs(index.getAxes()));
    if (auto constant = dyn_cast<LocalConstantOp>(op))
      noteSharding(constant.getSharding());
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
        if (auto s = function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr))
          noteSharding(s);
  });
  SmallVector<AxisRefAttr> cut(named.getArrayRef());
  layout.refine(cut, named.getArrayRef());
  llvm::SetVector<AxisRefAttr> unique(cut.begin(), cut.end());
  parts.assign(unique.begin(), unique.end());
}

AxisSet Uniformity::covering(ArrayRef<AxisRefAttr> axes) const {
  AxisSet set = none();
  for (auto [index, part] : llvm::enumerate(parts))
    if (layout.size(part) > 1 && anyOverlap(part, axes))
      set.set(index);
  return set;
}

AxisSet Uniformity::covering(ShardingAttr sharding) const {
  SmallVector<AxisRefAttr> axes(sharding.getPartialAxes());
  for (DimShardingAttr dim : sharding.getDims())
    llvm::append_range(axes, dim.getAllAxes());
  return covering(axes);
}

AxisSet Uniformity::within(ArrayRef<AxisRefAttr> axes) const {
  SmallVector<AxisRefAttr> cut(axes);
  layout.refine(cut, parts);
  AxisSet set = none();
  for (auto [index, part] : llvm::enumerate(parts))
    if (llvm::is_contained(cut, part))
      set.set(index);
  return set;
}

void Uniformity::add(Value value, const AxisSet &axes) {
  if (axes.none())
    return;
  AxisSet &set = differing[value];
  set.resize(parts.size());
  if (!axes.test(set))
    return; // nothing new
  set |= axes;
  changed = true;
}

/// Also of what the regions of an op that computes a result read.
AxisSet Uniformity::getOfOperands(Operation *op) const {
  AxisSet set = none();
  auto addOperands = [&](Operation *nested) {
    for (Value operand : nested->getOperands())
      set |= get(operand);
    if (auto index = dyn_cast<AxisIndexOp>(nested))
      set |= covering(getAxisRefs(index.getAxes()));
  };
  addOperands(op);
  for (Region &region : op->getRegions())
    region.walk(addOperands);
  return set;
}

AxisSet Uniformity::getResultSet(Operation *op) const {
  // Local parts are of one size on all devices.
  if (isa<tensor::DimOp, tensor::RankOp>(op))
    return none();
  AxisSet set = getOfOperands(op);
  if (auto constant = dyn_cast<LocalConstantOp>(op))
    return covering(constant.getSharding());
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective)
    return set;
  SmallVector<AxisRefAttr> axes = getAxisRefs(collective.getAxes());
  if (isa<AllReduceOp, AllGatherOp, BroadcastOp>(op))
    return set.reset(within(axes));
  // Blocks move from devices along some axes to devices along others.
  if (auto permute = dyn_cast<CollectivePermuteOp>(op)) {
    set.reset(within(axes));
    axes = getAxisRefs(permute.getToAxes());
  }
  return set |= covering(axes);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void Uniformity::check(Operation *op, const AxisSet &group,
                       const Control &control, Operation *inside) {
  if (!isChecking || isRefused || !group.anyCommon(control.differs))
    return;
  isRefused = true;
  AxisSet common = group;
  common &= control.differs;
  SmallVector<AxisRefAttr> axes;
  for (unsigned index : common.set_bits())
    axes.push_back(parts[index]);
  InFlightDiagnostic error =
      op->emitOpError()
      << "runs under a condition that differs between devices along "
      << printAxes(axes) << ", which are of one group: all must issue the same "
      << "collectives";
  error.attachNote(control.source->getLoc())
      << "the condition is that of '" << control.source->getName() << "'";
  if (inside)
    error.attachNote(inside->getLoc()) << "the collective is here";
}

std::pair<AxisSet, Operation *>
Uniformity::getGroups(FunctionOpInterface function) {
  auto [entry, isNew] = groups.try_emplace(function, none(), nullptr);
  if (!isNew)
    return entry->second;
  std::pair<AxisSet, Operation *> found{none(), nullptr};
  function->walk([&](Operation *op) {
    AxisSet axes = none();
    Operation *source = op;
    if (auto call = dyn_cast<CallOpInterface>(op)) {
      if (FunctionOpInterface callee = getCallee(call))
        std::tie(axes, source) = getGroups(callee);
    } else if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
      if (!isa<AllSliceOp>(op))
        axes = covering(getAxisRefs(collective.getAxes()));
    }
    if (axes.any() && !found.second)
      found.second = source;
    found.first |= axes;
  });
  return groups[function] = found;
}

void Uniformity::visitCall(CallOpInterface call, const Control &control) {
  FunctionOpInterface callee = getCallee(call);
  if (!callee) {
    AxisSet set = getOfOperands(call);
    for (Value result : call->getResults())
      add(result, set);
    return;
  }
  for (auto [operand, argument] :
       llvm::zip_equal(call.getArgOperands(), callee.getArguments()))
    add(argument, get(operand));
  for (OpResult result : call->getResults())
    if (auto found = returned.find({callee, result.getResultNumber()});
        found != returned.end())
      add(result, found->second);
  if (!isChecking)
    return;
  auto [group, inside] = getGroups(callee);
  check(call, group, control, inside);
}

void Uniformity::visitBranch(RegionBranchOpInterface branch,
                             const Control &control) {
  RegionBranchSuccessorMapping targets;
  branch.getSuccessorOperandInputMapping(targets);
  // What is not passed on decides where it goes, and how often.
  Control inside = control;
  auto flow = [&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      AxisSet set = get(operand.get());
      auto found = targets.find(&operand);
      if (found != targets.end() && !found->second.empty()) {
        for (Value input : found->second)
          add(input, set);
        continue;
      }
      if (set.test(inside.differs)) {
        inside.differs |= set;
        inside.source = branch;
      }
    }
  };
  auto flowAll = [&] {
    flow(branch);
    for (Region &region : branch->getRegions())
      for (Block &block : region) {
        if (block.empty())
          continue;
        Operation *last = &block.back();
        if (auto jump = dyn_cast<BranchOpInterface>(last)) {
          // Between blocks of the region.
          AxisSet set = none();
          for (Value operand : last->getOperands())
            set |= get(operand);
          if (set.any() && last->getNumSuccessors() > 1) {
            inside.differs |= set;
            inside.source = last;
          }
          for (Block *next : last->getSuccessors())
            for (Value argument : next->getArguments())
              add(argument, set);
        } else if (last->hasTrait<OpTrait::IsTerminator>()) {
          flow(last);
        }
      }
  };
  flowAll();
  for (Region &region : branch->getRegions()) {
    for (Block &block : region) {
      for (Value argument : block.getArguments())
        add(argument, inside.differs);
      visitBlock(block, inside);
    }
    flowAll();
  }
  for (Value result : branch->getResults())
    add(result, inside.differs);
}

void Uniformity::visitOp(Operation *op, const Control &control) {
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    return visitBranch(branch, control);
  if (auto call = dyn_cast<CallOpInterface>(op))
    return visitCall(call, control);
  if (auto function = dyn_cast<FunctionOpInterface>(op->getParentOp());
      function && op->hasTrait<OpTrait::ReturnLike>()) {
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      AxisSet set = get(operand);
      AxisSet &known = returned[{function, static_cast<unsigned>(index)}];
      known.resize(parts.size());
      changed |= set.test(known);
      known |= set;
    }
    return;
  }
  if (auto collective = dyn_cast<CollectiveOpInterface>(op);
      collective && !isa<AllSliceOp>(op)) {
    SmallVector<AxisRefAttr> axes = getAxisRefs(collective.getAxes());
    if (auto permute = dyn_cast<CollectivePermuteOp>(op))
      llvm::append_range(axes, getAxisRefs(permute.getToAxes()));
    check(op, covering(axes), control, nullptr);
  }
  AxisSet set = getResultSet(op);
  for (Value result : op->getResults())
    add(result, set);
  // Of other ops nobody knows when they run their regions.
  if (op->getNumRegions() == 0)
    return;
  Control inside = control;
  if (set.any()) {
    inside.differs |= set;
    inside.source = op;
  }
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (Value argument : block.getArguments())
        add(argument, set);
      visitBlock(block, inside);
    }
}

void Uniformity::visitBlock(Block &block, const Control &control) {
  for (Operation &op : block)
    visitOp(&op, control);
}

LogicalResult Uniformity::verify() {
  auto visitAll = [&] {
    for (auto function : module.getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      Control control{none(), nullptr};
      // Between blocks of a function as between those of a region.
      for (Block &block : function.getFunctionBody()) {
        Operation *last = block.empty() ? nullptr : &block.back();
        if (!isa_and_nonnull<BranchOpInterface>(last))
          continue;
        AxisSet set = none();
        for (Value operand : last->getOperands())
          set |= get(operand);
        for (Block *next : last->getSuccessors())
          for (Value argument : next->getArguments())
            add(argument, set);
        if (last->getNumSuccessors() > 1 && set.any()) {
          control.differs |= set;
          control.source = last;
        }
      }
      for (Block &block : function.getFunctionBody())
        visitBlock(block, control);
    }
  };
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal())
      for (BlockArgument argument : function.getArguments())
        if (auto sharding = function.getArgAttrOfType<ShardingAttr>(
                argument.getArgNumber(), kShardingAttr))
          add(argument, covering(sharding));
  do {
    changed = false;
    visitAll();
  } while (changed);
  isChecking = true;
  visitAll();
  return success(!isRefused);
}

LogicalResult mlir::dist::verifyUniformControl(ModuleOp module,
                                               const MeshLayout &layout) {
  return Uniformity(module, layout).verify();
}
