//===- Aliases.cpp - Which buffers may share memory -----------------------===//

#include "lowering/buffers/Aliases.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Overlap.h"
#include "lowering/bounds/Bounds.h"
#include "lowering/buffers/Passes.h"
#include "mlir/Dialect/Bufferization/IR/BufferViewFlowOpInterface.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace mlir::dist;

static bool isBuffer(Value value) {
  return isa<BaseMemRefType>(value.getType());
}

bool mlir::dist::isView(Operation *op) {
  return isa<memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
             memref::CastOp, memref::ReinterpretCastOp>(op);
}

Value mlir::dist::getViewRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool mlir::dist::visitTouchedBuffers(Operation *op,
                                     llvm::function_ref<void(Value)> visit) {
  bool namesAll = true;
  op->walk([&](Operation *inner) {
    // An allocation makes memory that contains nothing else, and a fence
    // touches no memory.
    if (isa<ViewLikeOpInterface, memref::AllocOp, FenceOp>(inner))
      return;
    auto effects = dyn_cast<MemoryEffectOpInterface>(inner);
    if (!effects) {
      // A branch or a loop touches what its ops touch.
      if (inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
        return;
      namesAll = false;
    } else {
      SmallVector<MemoryEffects::EffectInstance> instances;
      effects.getEffects(instances);
      if (instances.empty())
        return;
      for (const MemoryEffects::EffectInstance &instance : instances)
        namesAll &= bool(instance.getValue());
    }
    for (Value operand : inner->getOperands())
      if (isBuffer(operand))
        visit(operand);
  });
  return namesAll;
}

bool mlir::dist::mayAlias(const Origins *a, const Origins *b) {
  if (a == b || !a || !b || !a->known || !b->known)
    return true;
  if (a->component != b->component)
    return false;
  if (!a->exact || !b->exact)
    return true;
  return llvm::any_of(
      a->ids, [&](unsigned id) { return llvm::is_contained(b->ids, id); });
}

//===----------------------------------------------------------------------===//
// BufferAliases
//===----------------------------------------------------------------------===//

BufferAliases::BufferAliases(func::FuncOp function) {
  // Arguments of blocks before what is in them, results after it.
  function->walk([&](Operation *op, const WalkStage &stage) {
    auto add = [&](Value value) {
      if (isBuffer(value) && indices.try_emplace(value, buffers.size()).second)
        buffers.push_back(value);
    };
    if (stage.isBeforeAllRegions())
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Value argument : block.getArguments())
            add(argument);
    if (stage.isAfterAllRegions())
      for (Value result : op->getResults())
        add(result);
  });
  handedOnAs.resize(buffers.size());
  origins.resize(buffers.size());
  followFlow(function);
  findOrigins(function);
  spreadOrigins();
}

/// Whether upstream's analysis knows the sources of the op's results.
static bool hasKnownFlow(Operation *op) {
  return isa<bufferization::BufferViewFlowOpInterface, ViewLikeOpInterface,
             RegionBranchOpInterface, CallOpInterface, memref::AllocOp,
             memref::GetGlobalOp>(op);
}

void BufferAliases::followFlow(func::FuncOp function) {
  BufferViewFlowAnalysis flow(function);
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    SmallVector<unsigned, 1> &to = handedOnAs[index];
    auto found = flow.find(buffer);
    if (found != flow.end())
      for (Value other : found->second)
        if (isBuffer(other))
          to.push_back(getIndex(other));
    // The result of an unknown op may be any of its operands.
    for (Operation *user : buffer.getUsers())
      if (!hasKnownFlow(user))
        for (Value result : user->getResults())
          if (isBuffer(result))
            to.push_back(getIndex(result));
    llvm::sort(to);
    to.erase(llvm::unique(to), to.end());
  }
  // The source is unknown or missing.
  std::vector<bool> isReached(buffers.size(), false);
  for (ArrayRef<unsigned> to : handedOnAs)
    for (unsigned index : to)
      isReached[index] = true;
  for (auto [index, buffer] : llvm::enumerate(buffers))
    origins[index].known =
        isReached[index] && !flow.mayBeTerminalBuffer(buffer);
}

/// Allocations, globals and arguments are the origins of buffers.
void BufferAliases::findOrigins(func::FuncOp function) {
  unsigned numArguments = function.getNumArguments();
  unsigned firstResult = numArguments;
  auto module = function->getParentOfType<ModuleOp>();
  auto numResults =
      module ? module->getAttrOfType<IntegerAttr>(kNumResultsAttr) : nullptr;
  if (numResults && function.isPublic() &&
      numResults.getValue().ule(numArguments))
    firstResult -= numResults.getInt();

  unsigned next = 0;
  const unsigned arguments = next++;
  DenseMap<Attribute, unsigned> globals;
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    std::optional<unsigned> id;
    if (auto argument = dyn_cast<BlockArgument>(buffer)) {
      if (argument.getOwner()->getParentOp() == function &&
          argument.getOwner()->isEntryBlock()) {
        unsigned number = argument.getArgNumber();
        bool isShared =
            number < firstResult && !function.getArgAttr(number, kUpdatedAttr);
        id = isShared ? arguments : next++;
      }
    } else if (auto global = buffer.getDefiningOp<memref::GetGlobalOp>()) {
      auto [known, isNew] = globals.try_emplace(global.getNameAttr(), next);
      next += isNew;
      id = known->second;
    } else if (isa<memref::AllocOp, memref::AllocaOp>(buffer.getDefiningOp())) {
      id = next++;
    }
    if (!id)
      continue;
    origins[index].known = true;
    origins[index].ids = {*id};
  }

  llvm::IntEqClasses components(buffers.size() + next);
  for (auto [index, origin] : llvm::enumerate(origins)) {
    for (unsigned id : origin.ids)
      components.join(index, buffers.size() + id);
    for (unsigned to : handedOnAs[index])
      components.join(index, to);
  }
  for (auto [index, origin] : llvm::enumerate(origins))
    origin.component = components.findLeader(index);
}

/// Adds the origins of `from` to those of `to`; returns whether these are more.
static bool merge(const Origins &from, Origins &to) {
  bool changed = false;
  if (to.known && !from.known) {
    to.known = false;
    changed = true;
  }
  if (!to.exact)
    return changed;
  if (!from.exact) {
    to.exact = false;
    return true;
  }
  for (unsigned id : from.ids) {
    auto *position = llvm::lower_bound(to.ids, id);
    if (position != to.ids.end() && *position == id)
      continue;
    to.ids.insert(position, id);
    changed = true;
  }
  if (to.ids.size() > kMostOrigins)
    to.exact = false;
  return changed;
}

void BufferAliases::spreadOrigins() {
  // Once, except around loops.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [index, to] : llvm::enumerate(handedOnAs))
      for (unsigned other : to)
        // Forwards is seen in this round.
        changed |= merge(origins[index], origins[other]) && other <= index;
  }
  for (Origins &origin : origins)
    if (origin.exact && origin.ids.empty())
      origin.known = false;
}

const Origins *BufferAliases::getOrigins(Value buffer) const {
  auto found = indices.find(buffer);
  return found == indices.end() ? nullptr : &origins[found->second];
}

bool BufferAliases::mayAlias(Value a, Value b) const {
  return mlir::dist::mayAlias(getOrigins(a), getOrigins(b));
}
