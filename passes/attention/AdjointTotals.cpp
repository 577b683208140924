//===- AdjointTotals.cpp - What else is made of scores' cotangents --------===//
//
// The attention and the three products of its adjoint read values that are made
// of the scores. Other ops may read these, too. They get them from the op: as
// sums if they only sum them, else as a tensor.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/attention/AdjointMatch.h"

using namespace mlir;
using namespace mlir::dist;

bool AdjointMatch::isOutside(OpOperand &use) {
  Operation *user = use.getOwner();
  return !isLeader(use) && user != attention.getLastOp() &&
         user != ofQuery->op() && user != ofKey->op() &&
         user != ofValue->op() && !needed.contains(user) &&
         !isOpTriviallyDead(user);
}

void AdjointMatch::findNeeded() {
  SmallVector<Value> pending = {attention.getWeights()};
  first = ofQuery->op();
  for (const End *end : {&*ofQuery, &*ofKey, &*ofValue}) {
    pending.push_back(end->op()->getOperand(end->scoreOperand));
    if (end->op()->isBeforeInBlock(first))
      first = end->op();
  }
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (dependent.contains(value) && needed.insert(value.getDefiningOp()))
      llvm::append_range(pending, value.getDefiningOp()->getOperands());
  }
  for (Operation *op : needed)
    for (OpOperand &use : op->getUses()) {
      if (isOfRows(use.get()))
        continue;
      Operation *user =
          first->getBlock()->findAncestorOpInBlock(*use.getOwner());
      if (dependent.contains(use.get()) && isOutside(use) &&
          user->isBeforeInBlock(first))
        first = user;
    }
}

bool AdjointMatch::isThere(Value value) {
  Operation *maker = value.getDefiningOp();
  return !maker || maker->getBlock() != first->getBlock() ||
         maker->isBeforeInBlock(first);
}

bool AdjointMatch::isTerm(Value scalar) {
  ElementsOf &elements = attention.getElements();
  Block *from = elements.getIndex(0).getParentBlock();
  SmallVector<Value> pending = {scalar}, found;
  llvm::SmallDenseSet<Value> seen;
  bool isXCotangent = false;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    isXCotangent |= value == xCotangent;
    if (!seen.insert(value).second || value == xCotangent ||
        value == attention.getScore() ||
        llvm::is_contained(attention.getLeaves(), value) ||
        llvm::is_contained(leaves, value))
      continue;
    if (const ElementsOf::Leaf *leaf = elements.getLeaf(value)) {
      // Uses of another attention's scores are not analyzed here.
      Operation *maker = leaf->tensor.getDefiningOp();
      if (dependent.contains(leaf->tensor) || !isThere(leaf->tensor) ||
          (maker && maker->hasAttr(kBackwardAttr)))
        return false;
      found.push_back(value);
      continue;
    }
    if (value.getParentBlock() != from) {
      if (!isThere(value))
        return false;
      continue;
    }
    if (Operation *op = value.getDefiningOp())
      llvm::append_range(pending, op->getOperands());
  }
  if (isXCotangent)
    llvm::append_range(leaves, found);
  return isXCotangent;
}

bool AdjointMatch::areAll(ArrayRef<AffineExpr> places) {
  llvm::SmallDenseSet<AffineExpr> seen;
  for (AffineExpr place : places)
    if (isa<AffineDimExpr>(place) && !seen.insert(place).second)
      return false;
  linalg::LinalgOp last = attention.getLastOp();
  SmallVector<int64_t> sizes = last.getStaticLoopRanges();
  for (auto [loop, dim] : llvm::enumerate(attention.getDims()))
    if (cast<AffineDimExpr>(dim).getPosition() < attention.getNumDims() - 2 &&
        sizes[loop] != 1 &&
        !seen.contains(getAffineDimExpr(loop, last.getContext())))
      return false;
  return true;
}

bool AdjointMatch::matchSum(Operation *op) {
  auto sum = dyn_cast<linalg::LinalgOp>(op);
  if (!sum || sum.getNumDpsInits() != 1 || sum.getNumReductionLoops() == 0 ||
      !sum.hasPureTensorSemantics() ||
      getElementTypeOrSelf(op->getResult(0)) !=
          getElementTypeOrSelf(attention.getQuery()))
    return false;
  Value start = getFilled(sum.getDpsInits()[0]);
  AffineMap out = sum.getIndexingMapsArray().back();
  if (!start || !matchPattern(start, m_AnyZeroFloat()) ||
      !out.isProjectedPermutation(/*allowZeroInResults=*/true))
    return false;
  // The position of each loop, from what depends on the scores.
  SmallVector<AffineExpr> loops(sum.getNumLoops());
  for (OpOperand *input : sum.getDpsInputOperands()) {
    if (!dependent.contains(input->get()))
      continue;
    FailureOr<AffineMap> places = getPlaces(input->get());
    if (failed(places))
      return false;
    for (auto [expr, place] :
         llvm::zip_equal(sum.getMatchingIndexingMap(input).getResults(),
                         places->getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        return false;
      AffineExpr &at = loops[dim.getPosition()];
      if (at && isa<AffineDimExpr>(at) && isa<AffineDimExpr>(place) &&
          at != place)
        return false;
      if (!at || isa<AffineDimExpr>(place))
        at = place;
    }
  }
  if (llvm::is_contained(loops, AffineExpr()) || !areAll(loops))
    return false;
  Value term = attention.getElements().getAdded(sum, loops);
  if (!term || !isTerm(term))
    return false;
  AffineMap places = out.replaceDimsAndSymbols(
      loops, {}, attention.getElements().getNumDims(), 0);
  sums[op] = {op->getResult(0), term, fromLoops(places)};
  return true;
}

bool AdjointMatch::endsInSums(Operation *op) {
  auto [it, isNew] = knownEnds.try_emplace(op, false);
  if (!isNew)
    return it->second;
  bool ends = op->getBlock() == first->getBlock() && op->getNumResults() == 1;
  if (ends && !matchSum(op))
    // Element by element.
    ends = dependent.contains(op->getResult(0)) && !op->use_empty() &&
           !isa<OptimizationBarrierOp>(op) &&
           succeeded(getPlaces(op->getResult(0))) &&
           llvm::all_of(op->getUsers(),
                        [&](Operation *user) { return endsInSums(user); });
  return knownEnds[op] = ends;
}

void AdjointMatch::addSums(Operation *op) {
  auto it = sums.find(op);
  if (it == sums.end()) {
    for (Operation *user : op->getUsers())
      addSums(user);
    return;
  }
  if (llvm::none_of(totals, [&](const Total &total) {
        return total.value == it->second.value;
      }))
    totals.push_back(it->second);
}

LogicalResult AdjointMatch::addTensor(Value tensor) {
  FailureOr<AffineMap> places = getPlaces(tensor);
  if (failed(places) || !areAll(places->getResults()) ||
      getElementTypeOrSelf(tensor.getType()) !=
          getElementTypeOrSelf(attention.getQuery().getType()))
    return failure();
  Value term = attention.getElements().get(tensor, *places);
  if (!isTerm(term))
    return failure();
  totals.push_back({tensor, term, fromLoops(*places)});
  return success();
}

LogicalResult AdjointMatch::matchTotals() {
  for (Operation *op : needed)
    for (Value value : op->getResults()) {
      if (!dependent.contains(value) || isOfRows(value))
        continue;
      bool isRead = false;
      for (OpOperand &use : value.getUses()) {
        if (!isOutside(use))
          continue;
        if (endsInSums(use.getOwner()))
          addSums(use.getOwner());
        else
          isRead = true;
      }
      if (isRead && failed(addTensor(value)))
        return failure();
    }
  return success();
}
