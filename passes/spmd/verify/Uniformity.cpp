//===- Uniformity.cpp - What all devices of a group agree on --------------===//
//
// A forward data-flow analysis: along which axes each value may differ between
// devices. It is repeated until nothing changes, because of loops and calls.
// Differences only grow, so that takes few rounds.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/verify/Uniformity.h"
#include "dialects/dist/IR/Collectives.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/graph/PlacementText.h"
#include "passes/spmd/verify/AxisDifferences.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
class Uniformity {
public:
  Uniformity(ModuleOp module, const MeshLayout &layout);
  /// Finds along what values differ.
  void run();
  /// Checks what run() has found.
  LogicalResult verify();
  bool isUniform(Value value, ArrayRef<AxisRefAttr> axes) {
    return !differences.isWithin(get(value), axes);
  }

private:
  /// What a region's code runs under.
  struct Control {
    Difference differs;
    Operation *source = nullptr;
  };

  Difference of(ShardingAttr sharding);
  Difference get(Value value) const { return differing.lookup(value); }
  void add(Value value, const Difference &axes) {
    if (llvm::any_of(axes, [](unsigned number) { return number != 0; }))
      changed |= differences.add(differing[value], axes);
  }
  Difference getOfOperands(Operation *op);

  void visitAll();
  void visitBlock(Block &block, const Control &control);
  void visitOp(Operation *op, const Control &control);
  void visitBranch(RegionBranchOpInterface branch, const Control &control);
  void visitCall(CallOpInterface call, const Control &control);
  Difference getOfResult(Operation *op);
  Difference getOfPermuted(CollectivePermuteOp op, const Difference &operand);
  void check(Operation *op, ArrayRef<AxisRefAttr> group, const Control &control,
             Operation *inside);
  /// A collective, or a call of one, and the axes of its groups.
  struct Group {
    SmallVector<AxisRefAttr> axes;
    Operation *source;
  };
  /// The collectives that a function runs, each kind of group once.
  ArrayRef<Group> getGroups(FunctionOpInterface function);
  FunctionOpInterface getCallee(CallOpInterface call) {
    auto callee = dyn_cast_or_null<FunctionOpInterface>(
        call.resolveCallableInTable(&symbols));
    return callee && !callee.isExternal() ? callee : FunctionOpInterface();
  }

  ModuleOp module;
  AxisDifferences differences;
  /// Parts of axes, for messages.
  SmallVector<AxisRefAttr> parts;
  llvm::DenseMap<Value, Difference> differing;
  /// Results of functions.
  llvm::DenseMap<std::pair<Operation *, unsigned>, Difference> returned;
  llvm::DenseMap<Operation *, std::unique_ptr<SmallVector<Group>>> groups;
  SymbolTableCollection symbols;
  bool changed = false, isChecking = false, isRefused = false;
};
} // namespace

Uniformity::Uniformity(ModuleOp module, const MeshLayout &layout)
    : module(module), differences(layout) {
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

Difference Uniformity::of(ShardingAttr sharding) {
  SmallVector<AxisRefAttr> axes(sharding.getPartialAxes());
  for (DimShardingAttr dim : sharding.getDims())
    llvm::append_range(axes, dim.getAllAxes());
  return differences.of(axes);
}

/// Also of what the regions of an op that computes a result read.
Difference Uniformity::getOfOperands(Operation *op) {
  Difference all;
  auto addOperands = [&](Operation *nested) {
    for (Value operand : nested->getOperands())
      differences.add(all, get(operand));
    if (auto index = dyn_cast<AxisIndexOp>(nested))
      differences.add(all, differences.of(getAxisRefs(index.getAxes())));
  };
  addOperands(op);
  for (Region &region : op->getRegions())
    region.walk(addOperands);
  return all;
}

/// Whether parts of an axis that go elsewhere overlap others.
static bool isCut(ArrayRef<AxisRefAttr> from, ArrayRef<AxisRefAttr> to) {
  return llvm::any_of(from, [&](AxisRefAttr axis) {
    return anyOverlap(axis, to) && !llvm::is_contained(to, axis);
  });
}

/// The axes of both lists, whole where their parts overlap.
static SmallVector<AxisRefAttr> unite(ArrayRef<AxisRefAttr> from,
                                      ArrayRef<AxisRefAttr> to) {
  llvm::SetVector<AxisRefAttr> all;
  bool cut = isCut(from, to);
  for (ArrayRef<AxisRefAttr> axes : {from, to})
    for (AxisRefAttr axis : axes)
      all.insert(cut ? AxisRefAttr::get(axis.getContext(), axis.getName(), 1, 0)
                     : axis);
  return SmallVector<AxisRefAttr>(all.getArrayRef());
}

/// Blocks move from devices along some axes to devices along others. A device's
/// coordinates along the latter tell which block it gets. Its coordinates along
/// the axes that blocks left are those that they had along the axes that only
/// they came to.
Difference Uniformity::getOfPermuted(CollectivePermuteOp op,
                                     const Difference &operand) {
  SmallVector<AxisRefAttr> from = getAxisRefs(op.getAxes()),
                           to = getAxisRefs(op.getToAxes()),
                           all = unite(from, to);
  SmallVector<AxisRefAttr> come(to);
  llvm::erase_if(
      come, [&](AxisRefAttr axis) { return llvm::is_contained(from, axis); });
  bool changesAll = isCut(from, to) || differences.isWithin(operand, come);
  return differences.join(differences.combine(operand, all),
                          differences.of(changesAll ? all : to));
}

Difference Uniformity::getOfResult(Operation *op) {
  // Local parts are of one size on all devices.
  if (isa<tensor::DimOp, tensor::RankOp>(op))
    return {};
  if (auto constant = dyn_cast<LocalConstantOp>(op))
    return of(constant.getSharding());
  Difference operands = getOfOperands(op);
  if (auto permute = dyn_cast<CollectivePermuteOp>(op))
    return getOfPermuted(permute, operands);
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective)
    return operands;
  SmallVector<AxisRefAttr> axes = getAxisRefs(collective.getAxes());
  if (!isa<AllSliceOp>(op))
    operands = differences.combine(operands, axes);
  if (isa<AllReduceOp, AllGatherOp, BroadcastOp>(op))
    return operands;
  return differences.join(operands, differences.of(axes));
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void Uniformity::check(Operation *op, ArrayRef<AxisRefAttr> group,
                       const Control &control, Operation *inside) {
  if (!isChecking || isRefused || !differences.isWithin(control.differs, group))
    return;
  isRefused = true;
  SmallVector<AxisRefAttr> axes;
  for (AxisRefAttr part : parts)
    if (anyOverlap(part, group) && differences.isWithin(control.differs, part))
      axes.push_back(part);
  InFlightDiagnostic error =
      op->emitOpError()
      << "runs under a condition that differs between devices along "
      << printAxes(axes.empty() ? group : ArrayRef<AxisRefAttr>(axes))
      << ", which are of one group: all must issue the same collectives";
  error.attachNote(control.source->getLoc())
      << "the condition is that of '" << control.source->getName() << "'";
  if (inside)
    error.attachNote(inside->getLoc()) << "the collective is here";
}

/// The axes of the devices that must issue it together; empty for a slice.
static SmallVector<AxisRefAttr> getGroup(CollectiveOpInterface collective) {
  if (isa<AllSliceOp>(collective))
    return {};
  SmallVector<AxisRefAttr> axes = getAxisRefs(collective.getAxes());
  if (auto permute = dyn_cast<CollectivePermuteOp>(*collective))
    return unite(axes, getAxisRefs(permute.getToAxes()));
  return axes;
}

ArrayRef<Uniformity::Group>
Uniformity::getGroups(FunctionOpInterface function) {
  auto [entry, isNew] = groups.try_emplace(function);
  if (!isNew) // null within the function itself
    return entry->second ? ArrayRef<Group>(*entry->second) : ArrayRef<Group>();
  auto found = std::make_unique<SmallVector<Group>>();
  auto note = [&](ArrayRef<AxisRefAttr> axes, Operation *source) {
    if (!axes.empty() && llvm::none_of(*found, [&](const Group &known) {
          return ArrayRef<AxisRefAttr>(known.axes) == axes;
        }))
      found->push_back({SmallVector<AxisRefAttr>(axes), source});
  };
  function->walk([&](Operation *op) {
    if (auto call = dyn_cast<CallOpInterface>(op)) {
      if (FunctionOpInterface callee = getCallee(call))
        for (const Group &group : getGroups(callee))
          note(group.axes, group.source);
    } else if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
      note(getGroup(collective), op);
    }
  });
  return *(groups[function] = std::move(found));
}

void Uniformity::visitCall(CallOpInterface call, const Control &control) {
  FunctionOpInterface callee = getCallee(call);
  if (!callee) {
    Difference set = getOfOperands(call);
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
  for (const Group &group : getGroups(callee))
    check(call, group.axes, control, group.source);
}

void Uniformity::visitBranch(RegionBranchOpInterface branch,
                             const Control &control) {
  RegionBranchSuccessorMapping targets;
  branch.getSuccessorOperandInputMapping(targets);
  // Operands that are not passed on decide where control goes, and how often.
  Control inside = control;
  auto flow = [&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Difference set = get(operand.get());
      auto found = targets.find(&operand);
      if (found != targets.end() && !found->second.empty()) {
        for (Value input : found->second)
          add(input, set);
        continue;
      }
      if (differences.add(inside.differs, set))
        inside.source = branch;
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
          Difference set = getOfOperands(last);
          if (last->getNumSuccessors() > 1 &&
              differences.add(inside.differs, set))
            inside.source = last;
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
      unsigned number = index;
      changed |= differences.add(returned[{function, number}], get(operand));
    }
    return;
  }
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    check(op, getGroup(collective), control, nullptr);
  Difference set = getOfResult(op);
  for (Value result : op->getResults())
    add(result, set);
  // Of other ops nobody knows when they run their regions.
  if (op->getNumRegions() == 0)
    return;
  Control inside = control;
  if (differences.add(inside.differs, set))
    inside.source = op;
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

void Uniformity::visitAll() {
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    Control control;
    // Between blocks of a function as between those of a region.
    for (Block &block : function.getFunctionBody()) {
      Operation *last = block.empty() ? nullptr : &block.back();
      if (!isa_and_nonnull<BranchOpInterface>(last))
        continue;
      Difference set = getOfOperands(last);
      for (Block *next : last->getSuccessors())
        for (Value argument : next->getArguments())
          add(argument, set);
      if (last->getNumSuccessors() > 1 && differences.add(control.differs, set))
        control.source = last;
    }
    for (Block &block : function.getFunctionBody())
      visitBlock(block, control);
  }
}

void Uniformity::run() {
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal())
      for (BlockArgument argument : function.getArguments())
        if (auto sharding = function.getArgAttrOfType<ShardingAttr>(
                argument.getArgNumber(), kShardingAttr))
          add(argument, of(sharding));
  do {
    changed = false;
    visitAll();
  } while (changed);
}

LogicalResult Uniformity::verify() {
  isChecking = true;
  visitAll();
  return success(!isRefused);
}

LogicalResult mlir::dist::verifyUniformControl(ModuleOp module,
                                               const MeshLayout &layout) {
  Uniformity uniformity(module, layout);
  uniformity.run();
  return uniformity.verify();
}

llvm::DenseSet<Value>
mlir::dist::findUniformValues(ModuleOp module, const MeshLayout &layout,
                              ArrayRef<AxisRefAttr> axes) {
  Uniformity uniformity(module, layout);
  uniformity.run();
  llvm::DenseSet<Value> uniform;
  auto note = [&](Value value) {
    if (uniformity.isUniform(value, axes))
      uniform.insert(value);
  };
  module.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), note);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), note);
  });
  return uniform;
}

bool mlir::dist::isEquallySpaced(const MeshLayout &layout,
                                 ArrayRef<AxisRefAttr> axes, int64_t size) {
  int64_t block = size;
  for (auto [level, axis] : llvm::enumerate(axes)) {
    if (level > 0 && block % layout.size(axis) != 0)
      return false;
    block = llvm::divideCeil(block, layout.size(axis));
  }
  return true;
}
