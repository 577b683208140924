//===- ReshardInserter.cpp - Where values lie while reshards are inserted -===//

#include "passes/spmd/ReshardInserter.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

std::string ReshardInserter::getCauseText(unsigned cause) const {
  return cause < analysis.getCauses().size() ? analysis.getCauses()[cause]
                                             : std::string();
}

//===----------------------------------------------------------------------===//
// Placements of values
//===----------------------------------------------------------------------===//

ShardingAttr ReshardInserter::getPlacement(Value value) {
  unsigned index = analysis.getIndex(value);
  if (index == kNone)
    return newPlacements.lookup(value);
  return placements[index] ? placements[index] : analysis.getSharding(index);
}

ShardingAttr ReshardInserter::getTarget(Value value) {
  unsigned index = analysis.getIndex(value);
  return index == kNone ? ShardingAttr() : analysis.getSharding(index);
}

/// The placement that the only result of an op was given.
static ShardingAttr getPlacementOf(Operation *op) {
  return cast<ShardingAttr>(op->getAttrOfType<ArrayAttr>(kShardingsAttr)[0]);
}

void ReshardInserter::setShardings(Operation *op,
                                   ArrayRef<Attribute> shardings) {
  op->setDiscardableAttr(shardingsName, ArrayAttr::get(context, shardings));
}

Value ReshardInserter::makeFree(Value value, ShardingAttr wanted) {
  // Pending is free as well: partition makes all but the first device neutral.
  Value &version = versions[{value, wanted}];
  if (version)
    return version;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  // The op itself serves its first user.
  if (!op->hasAttr(shardingsName)) {
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

void ReshardInserter::sliceWholeConstants(FunctionOpInterface function) {
  llvm::MapVector<Attribute, SmallVector<Operation *, 2>> constants;
  function.getFunctionBody().walk([&](Operation *op) {
    ElementsAttr elements;
    if (op->hasTrait<OpTrait::ConstantLike>() && op->hasAttr(shardingsName) &&
        matchPattern(op, m_Constant(&elements)) &&
        !isa<SplatElementsAttr>(elements))
      constants[elements].push_back(op);
  });
  for (auto &[elements, ops] : constants) {
    auto isWhole = [](Operation *op) {
      return getPlacementOf(op).isReplicated();
    };
    auto *found = llvm::find_if(ops, isWhole);
    if (found == ops.end())
      continue;
    Operation *whole = *found;
    Block &body = function.getFunctionBody().front();
    whole->moveBefore(&body, body.begin());
    llvm::SmallDenseMap<Attribute, Value> slices;
    for (Operation *op : ops) {
      if (isWhole(op))
        continue;
      Value &slice = slices[getPlacementOf(op)];
      OpBuilder builder(context);
      builder.setInsertionPointAfter(whole);
      if (!slice)
        slice = makeReshard(builder, op->getLoc(), whole->getResult(0),
                            getPlacementOf(whole), getPlacementOf(op),
                            "slice of a constant that is needed whole", {});
      op->getResult(0).replaceAllUsesWith(slice);
      op->erase();
    }
  }
}

Value ReshardInserter::makeReshard(OpBuilder &builder, Location loc,
                                   Value value, ShardingAttr from,
                                   ShardingAttr to, StringRef cause,
                                   Attribute scope) {
  auto reshard = ReshardOp::create(builder, loc, value.getType(), value, from,
                                   to, builder.getStringAttr(cause));
  setShardings(reshard, to);
  if (scope)
    reshard->setAttr(kScopeAttr, scope);
  setPlacement(reshard, to);
  copies[getOriginal(value)].push_back(reshard);
  return reshard;
}

Value ReshardInserter::getOriginal(Value value) const {
  while (auto reshard = value.getDefiningOp<ReshardOp>()) {
    if (synced.contains(value))
      break;
    value = reshard.getOperand();
  }
  return value;
}

Value ReshardInserter::getNearest(Value value, ShardingAttr wanted) {
  Value original = getOriginal(value);
  auto known = copies.find(original);
  if (known == copies.end() || getPlacement(original) == wanted)
    return original;
  int64_t bytes = getTensorBytes(value.getType());
  auto getDistance = [&](Value copy) {
    ShardingAttr from = getPlacement(copy);
    ArrayRef<AxisRefAttr> pending = from.getPartialAxes();
    if (from.getPartialKind() == wanted.getPartialKind() &&
        pending == wanted.getPartialAxes())
      pending = {};
    return getMoveCost(bytes, from.getDims(), pending, wanted.getDims());
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

Value ReshardInserter::getAs(Value value, ShardingAttr wanted, Operation *user,
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
  // What completes a reduction belongs to the module that left it pending.
  Attribute scope = user->getAttr(kScopeAttr);
  if (Operation *source = value.getDefiningOp(); source && from.isPartial())
    if (Attribute theirs = source->getAttr(kScopeAttr))
      scope = theirs;
  return makeReshard(builder, user->getLoc(), value, from, wanted, cause(),
                     scope);
}
