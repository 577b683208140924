//===- TensorUses.cpp - When tensors are read -----------------------------===//

#include "lowering/buffers/TensorUses.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::bufferization;

TensorUses::TensorUses(func::FuncOp function, AnalysisState &state)
    : state(state) {
  int64_t now = 0;
  // Between the regions' first and last op lies all that they contain.
  auto numberNested = [&](Operation *op, auto &&self) -> void {
    int64_t begin = now++;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          self(&inner, self);
    intervals[op] = {begin, now - 1};
  };
  numberNested(function, numberNested);
}

/// A loop that does nothing yields its initial values.
static bool mayDoNothing(LoopLikeOpInterface loop) {
  auto lower = loop.getLoopLowerBounds(), upper = loop.getLoopUpperBounds();
  if (!lower || !upper)
    return true;
  return llvm::any_of(llvm::zip_equal(*lower, *upper), [](auto bounds) {
    auto from = getConstantIntValue(std::get<0>(bounds)),
         to = getConstantIntValue(std::get<1>(bounds));
    return !from || !to || *from >= *to;
  });
}

bool TensorUses::reads(OpOperand &use) {
  auto loop = dyn_cast<LoopLikeOpInterface>(use.getOwner());
  BlockArgument carried = loop && !mayDoNothing(loop)
                              ? loop.getTiedLoopRegionIterArg(&use)
                              : BlockArgument();
  return carried ? isRead(carried) : state.bufferizesToMemoryRead(use);
}

/// Whether an op reads the value, or a view of it. Answers are kept: upstream
/// asks twice about each loop within a loop, and of all within it again.
bool TensorUses::isRead(Value value) {
  auto [known, isNew] = read.try_emplace(value, false);
  if (!isNew)
    return known->second;
  llvm::SetVector<Value> views;
  views.insert(value);
  for (size_t i = 0; i < views.size(); ++i)
    for (OpOperand &use : views[i].getUses()) {
      if (reads(use))
        return read[value] = true;
      if (state.bufferizesToMemoryWrite(use))
        continue;
      for (const AliasingValue &alias : state.getAliasingValues(use))
        views.insert(alias.value);
    }
  return false;
}

bool TensorUses::needsContents(OpOperand &use) {
  if (reads(use) || isa<BranchOpInterface>(use.getOwner()))
    return true;
  return !state.bufferizesToMemoryWrite(use) &&
         state.getAliasingValues(use).getNumAliases() > 0;
}

/// Whether ops of the region may run again, with values from outside unchanged.
bool TensorUses::repeats(Region &region) {
  if (!region.hasOneBlock())
    return true;
  auto op = state.getOptions().dynCastBufferizableOp(region.getParentOp());
  return !op || op.isRepetitiveRegion(region.getRegionNumber());
}

int64_t TensorUses::getPosition(Operation *user, Region *home) {
  int64_t position = intervals.lookup(user).begin;
  for (Region *region = user->getParentRegion(); region != home;
       region = region->getParentRegion())
    if (repeats(*region))
      position = intervals.lookup(region->getParentOp()).end;
  return position;
}

int64_t TensorUses::getLastUse(Value value, Operation *except) {
  int64_t last = -1;
  Region *home = value.getParentRegion();
  for (OpOperand &use : value.getUses())
    if (use.getOwner() != except && needsContents(use))
      last = std::max(last, getPosition(use.getOwner(), home));
  // Blocks may come in any order, and again.
  if (last >= 0 && !home->hasOneBlock())
    last = intervals.lookup(home->getParentOp()).end;
  return last;
}
