//===- PlacedValues.cpp - Values while reshards are inserted --------------===//

#include "passes/spmd/graph/PlacedValues.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

/// `bytes` of a tensor, with padding. A dimension of `size` is sharded as
/// `dim`. Counted is what pads it beyond what pads it as `other`. For example,
/// a dimension of one element grows by the number of devices.
static int64_t pad(const MeshLayout &layout, int64_t bytes, int64_t size,
                   DimShardingAttr dim, DimShardingAttr other) {
  if (ShapedType::isDynamic(size) || size == 0)
    return bytes;
  auto getPadded = [&](DimShardingAttr sharding) {
    return sharding == layout.none() ? size
                                     : layout.localSize(sharding, size) *
                                           layout.size(sharding.getAllAxes());
  };
  int64_t padded = getPadded(dim), least = getPadded(other);
  if (padded <= least)
    return bytes;
  // A bound as for the bytes of a tensor: sums of some stay numbers.
  return std::min(static_cast<double>(bytes) * padded / least, 0x1p56);
}

int64_t mlir::dist::getMoveCost(const MeshLayout &layout, RankedTensorType type,
                                int64_t bytes, ArrayRef<DimShardingAttr> from,
                                ArrayRef<AxisRefAttr> partial,
                                ArrayRef<DimShardingAttr> to) {
  int64_t cost = 0;
  SmallVector<AxisRefAttr, 4> goal;
  for (DimShardingAttr dim : to)
    if (dim != layout.none())
      llvm::append_range(goal, dim.getAllAxes());
  // Parts of an axis may go to different places: the one that sends most
  // counts.
  auto getMost = [&](AxisRefAttr axis, function_ref<int64_t(AxisRefAttr)> get) {
    SmallVector<AxisRefAttr> parts{axis};
    layout.refine(parts, goal);
    int64_t most = 0;
    for (AxisRefAttr part : parts)
      most = std::max(most, get(part));
    return most;
  };
  // With the padding of the dimension that gets the axis, if any does.
  auto padWhereSharded = [&](int64_t some,
                             AxisRefAttr axis) -> std::optional<int64_t> {
    for (auto [size, before, after] :
         llvm::zip_equal(type.getShape(), from, to))
      if (after != layout.none() && anyOverlap(axis, after.getAllAxes()))
        return pad(layout, some, size, after, before);
    return std::nullopt;
  };
  for (auto [size, before, after] :
       llvm::zip_equal(type.getShape(), from, to)) {
    if (before == after || layout.isPrefix(before, after))
      continue;
    int64_t gathered = pad(layout, bytes, size, before, after);
    SmallVector<AxisRefAttr> kept = after.getAllAxes();
    bool sameDims = before.getSubDims().size() == after.getSubDims().size();
    for (AxisRefAttr axis : before.getAllAxes())
      cost += getMost(axis, [&](AxisRefAttr part) {
        if (anyOverlap(part, kept))
          return sameDims ? 0 : gathered;
        std::optional<int64_t> moved = padWhereSharded(gathered, part);
        return moved ? std::min(*moved / 8, gathered) : gathered;
      });
  }
  // A sum is scattered, or completed everywhere and sliced.
  for (AxisRefAttr axis : partial)
    cost += getMost(axis, [&](AxisRefAttr part) {
      return std::min(padWhereSharded(bytes, part).value_or(2 * bytes),
                      2 * bytes);
    });
  return cost;
}

ShardingAttr PlacedValues::place(ArrayRef<DimShardingAttr> dims,
                                 ReductionKind kind,
                                 ArrayRef<AxisRefAttr> partial) const {
  // Equal placements are one attribute.
  if (partial.empty())
    kind = ReductionKind::Sum;
  return ShardingAttr::get(context, layout.getName(), dims, kind, partial);
}

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

Value PlacedValues::makeFree(Value value, ShardingAttr wanted) {
  // Pending is free as well: partition makes all but the first device neutral.
  Value &version = versions[{value, wanted}];
  if (version)
    return version;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  // The op itself serves its first user.
  if (!hasShardings(op)) {
    setShardings(op, wanted);
    if (auto fill = dyn_cast<linalg::FillOp>(op)) {
      Value made = makeFree(fill.getDpsInitOperand(0)->get(), wanted);
      fill.getDpsInitOperand(0)->set(made);
    }
    setPlacement(value, wanted);
    return versions[{value, wanted}] = value;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Value made = makeFree(fill.getDpsInitOperand(0)->get(), wanted);
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op);
    cast<linalg::FillOp>(copy).getDpsInitOperand(0)->set(made);
    // The copy of the empty tensor must come first.
    setShardings(copy, wanted);
    setPlacement(copy->getResult(0), wanted);
    return versions[{value, wanted}] = copy->getResult(0);
  }
  Operation *copy = builder.clone(*op);
  setShardings(copy, wanted);
  setPlacement(copy->getResult(0), wanted);
  return versions[{value, wanted}] = copy->getResult(0);
}

Value PlacedValues::makeReshard(OpBuilder &builder, Location loc, Value value,
                                ShardingAttr from, ShardingAttr to,
                                StringRef cause, Attribute scope) {
  auto reshard = ReshardOp::create(builder, loc, value.getType(), value, from,
                                   to, builder.getStringAttr(cause));
  setShardings(reshard, to);
  if (scope)
    reshard->setAttr(kScopeAttr, scope);
  setPlacement(reshard, to);
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
  // It may stand for a sync.
  setSynced(reshard.getResult());
}
