//===- PlacedValues.cpp - Values while reshards are inserted --------------===//

#include "passes/spmd/graph/PlacedValues.h"

using namespace mlir;
using namespace mlir::dist;

ShardingAttr PlacedValues::getPlacement(Value value) const {
  unsigned index = graph.getIndex(value);
  if (index == kNone)
    return newPlacements.lookup(value);
  return placements[index] ? placements[index] : targets.getSharding(index);
}

ShardingAttr PlacedValues::getTarget(Value value) const {
  unsigned index = graph.getIndex(value);
  return index == kNone ? ShardingAttr() : targets.getSharding(index);
}

bool PlacedValues::isScattered(ShardingAttr from, ShardingAttr to) const {
  if (!from || !to || !from.isPartial())
    return false;
  for (auto [before, after] : llvm::zip_equal(from.getDims(), to.getDims())) {
    if (before == after)
      continue;
    if (!layout.isPrefix(before, after))
      return false;
    SmallVector<AxisRefAttr> kept = before.getAllAxes();
    for (AxisRefAttr axis : after.getAllAxes())
      if (!llvm::is_contained(kept, axis) &&
          !llvm::is_contained(from.getPartialAxes(), axis))
        return false;
  }
  return true;
}

ShardingAttr PlacedValues::getCompleted(Value value) const {
  ShardingAttr now = getPlacement(value), target = getTarget(value);
  return now != target && isScattered(now, target) ? target : now;
}

Value PlacedValues::makeReshard(OpBuilder &builder, Location loc, Value value,
                                ShardingAttr from, ShardingAttr to,
                                StringRef cause, Attribute scope) {
  Value reshard =
      PlacedOps::makeReshard(builder, loc, value, from, to, cause, scope);
  copies[getOriginal(value)].push_back(reshard);
  return reshard;
}

Value PlacedValues::getOriginal(Value value) const {
  while (auto reshard = value.getDefiningOp<ReshardOp>()) {
    if (synced.contains(value))
      break;
    value = reshard.getOperand();
  }
  return value;
}

int64_t PlacedValues::getCostFromCopies(Value value, int64_t bytes,
                                        ArrayRef<DimShardingAttr> dims) const {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t least =
      getMoveCost(layout, type, bytes, getCompleted(value).getDims(), {}, dims);
  auto found = copies.find(getOriginal(value));
  if (found != copies.end() && !synced.contains(value))
    for (Value copy : found->second)
      if (ShardingAttr from = getPlacement(copy); !from.isPartial())
        least = std::min(
            least, getMoveCost(layout, type, bytes, from.getDims(), {}, dims));
  return least;
}

Value PlacedValues::getNearest(Value value, ShardingAttr wanted) const {
  Value original = getOriginal(value);
  auto known = copies.find(original);
  if (known == copies.end() || getPlacement(original) == wanted)
    return original;
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes = getTensorBytes(type);
  auto getDistance = [&](Value copy) {
    ShardingAttr from = getPlacement(copy);
    ArrayRef<AxisRefAttr> pending = from.getPartialAxes();
    if (from.getPartialKind() == wanted.getPartialKind() &&
        pending == wanted.getPartialAxes())
      pending = {};
    return getMoveCost(layout, type, bytes, from.getDims(), pending,
                       wanted.getDims());
  };
  Value nearest = original;
  int64_t least = getDistance(original);
  for (Value copy : known->second) {
    if (getPlacement(copy) == wanted)
      return copy;
    int64_t distance = getDistance(copy);
    if (distance < least) {
      nearest = copy;
      least = distance;
    }
  }
  return nearest;
}

Value PlacedValues::getAs(Value value, ShardingAttr wanted, Operation *user,
                          function_ref<std::string()> cause) {
  if (isFreeValue(value) && !wanted.isPartial())
    return makeFree(value, wanted);
  if (isFreeValue(value))
    value = makeFree(value, wanted.withoutPartial());
  if (getPlacement(value) == wanted)
    return value;
  value = getNearest(value, wanted);
  ShardingAttr from = getPlacement(value);
  if (from == wanted)
    return value;
  // In the block where the value is: later users see it, and loops do not
  // repeat it.
  Block *home = value.getParentBlock();
  OpBuilder builder(home->findAncestorOpInBlock(*user));
  Operation *source = value.getDefiningOp();
  // A gradient that is only returned need not be kept in parts until then.
  if (source && from.isPartial() && graph.isBackward(source) &&
      user->hasTrait<OpTrait::IsTerminator>())
    builder.setInsertionPointAfter(source);
  // An op that completes a reduction belongs to the module that left it
  // pending.
  Attribute scope = user->getAttr(kScopeAttr);
  if (source && from.isPartial())
    if (Attribute theirs = source->getAttr(kScopeAttr))
      scope = theirs;
  return makeReshard(builder, user->getLoc(), value, from, wanted, cause(),
                     scope);
}

void PlacedValues::adopt(ReshardOp reshard, ShardingAttr now) {
  reshard.setSourceAttr(now);
  setPlacement(reshard.getResult(), reshard.getSharding());
  setShardings(reshard, reshard.getSharding());
  copies[getOriginal(reshard.getOperand())].push_back(reshard);
  reshard->setAttr(kAskedForAttr, StringAttr::get(context, kAskedForReshard));
  // It may stand for a sync.
  setSynced(reshard.getResult());
}

void PlacedValues::writeAskedFor() const {
  for (const auto &values : {synced, constrained})
    for (Value value : values) {
      Operation *op = value.getDefiningOp();
      if (op && op->getNumResults() == 1 && !op->hasAttr(kAskedForAttr))
        op->setAttr(kAskedForAttr,
                    StringAttr::get(context, followed.contains(value)
                                                 ? kAskedForPlacement
                                                 : kAskedForCollective));
    }
}
