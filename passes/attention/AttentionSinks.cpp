//===- AttentionSinks.cpp - Denominators with another term ----------------===//
//
// What is computed of rows of scores, and is not the attention's: a sink's part
// of the denominator, and its gradient.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/attention/AdjointMatch.h"
#include "passes/attention/AttentionMatch.h"
#include <limits>

using namespace mlir;
using namespace mlir::dist;

/// The results o, m and l of the op are of its keys alone. With what weights
/// have in place of m and l, b and d:
///
///   l' = l exp(m - b), o' = o l' / d
///
/// In a row whose keys are all masked, l' is zero.
AttentionMatch::Rows AttentionMatch::getRows(AttentionOp op) {
  if (rows.means)
    return rows;
  OpBuilder b(product.op);
  Location loc = op.getLoc();
  MLIRContext *context = b.getContext();
  AffineMap order = getRowsMap();
  unsigned count = order.getNumResults();
  // From the op's dimensions to loops over rows.
  SmallVector<AffineExpr> loops(getNumDims(),
                                getAffineConstantExpr(0, context));
  for (auto [number, expr] : llvm::enumerate(order.getResults()))
    loops[cast<AffineDimExpr>(expr).getPosition()] =
        getAffineDimExpr(number, context);
  SmallVector<Value> inputs = {op.getResult(1), op.getResult(2)}, read;
  AffineMap all = b.getMultiDimIdentityMap(count);
  SmallVector<AffineMap> maps = {all, all};
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> pending = {base, denominator};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second || value == largestLeaf || value == sumLeaf)
      continue;
    if (const ElementsOf::Leaf *leaf = elements.getLeaf(value)) {
      read.push_back(value);
      inputs.push_back(leaf->tensor);
      maps.push_back(
          toDims(leaf->map, dims).replaceDimsAndSymbols(loops, {}, count, 0));
      continue;
    }
    Operation *maker = value.getDefiningOp();
    if (maker && maker->getBlock() == elements.getIndex(0).getParentBlock())
      llvm::append_range(pending, maker->getOperands());
  }
  auto type = cast<RankedTensorType>(op.getResult(1).getType());
  Type element = type.getElementType();
  SmallVector<Value> inits(
      4, tensor::EmptyOp::create(b, loc, type.getShape(), element));
  auto made = createParallelLoops(
      b, loc, inputs, maps, inits,
      [&](OpBuilder &b, Location loc, ValueRange args) -> SmallVector<Value> {
        IRMapping mapping;
        mapping.map(largestLeaf, args[0]);
        for (auto [leaf, arg] : llvm::zip(read, args.drop_front(2)))
          mapping.map(leaf, arg);
        for (auto [loop, dim] : llvm::enumerate(dims))
          if (auto place = dyn_cast<AffineDimExpr>(
                  loops[cast<AffineDimExpr>(dim).getPosition()]))
            mapping.map(elements.getIndex(loop),
                        linalg::IndexOp::create(b, loc, place.getPosition()));
        Value base = cloneScalars(b, this->base, mapping);
        auto constant = [&](double number) -> Value {
          return arith::ConstantOp::create(b, loc,
                                           b.getFloatAttr(element, number));
        };
        Value isNone = arith::CmpFOp::create(
            b, loc, arith::CmpFPredicate::OEQ, args[0],
            constant(-std::numeric_limits<double>::infinity()));
        Value less = arith::SubFOp::create(b, loc, args[0], base);
        Value power = math::ExpOp::create(b, loc, less);
        Value scaled = arith::MulFOp::create(b, loc, args[1], power);
        Value sum =
            arith::SelectOp::create(b, loc, isNone, constant(0), scaled);
        mapping.map(sumLeaf, sum);
        Value denominator = cloneScalars(b, this->denominator, mapping);
        Value part = arith::DivFOp::create(b, loc, sum, denominator);
        return {base, denominator, sum, part};
      });
  Value means = op.getResult(0);
  AffineMap ofMeans = b.getMultiDimIdentityMap(
      cast<RankedTensorType>(means.getType()).getRank());
  Attribute scope = op->getAttr(kScopeAttr);
  means = dist::mapElements(
      b, loc, {means, made.getResult(3)}, element,
      [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
        Value zero =
            arith::ConstantOp::create(b, loc, b.getFloatAttr(element, 0));
        Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                             args[1], zero);
        Value product = arith::MulFOp::create(b, loc, args[0], args[1]);
        return arith::SelectOp::create(b, loc, isNone, zero, product);
      },
      scope, {ofMeans, ofMeans.dropResult(getValuePlace())});
  if (scope)
    made->setAttr(kScopeAttr, scope);
  sumsOfRows = made.getResult(2);
  return rows = {means, made.getResult(0), made.getResult(1)};
}

bool AttentionMatch::isOfRows(Value tensor, ArrayRef<Value> others,
                              const DenseSet<Value> &dependent) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!hasSink() || !type)
    return false;
  SmallVector<Value> known = {elements.getLeaf(largestLeaf)->tensor,
                              elements.getLeaf(sumLeaf)->tensor};
  llvm::append_range(known, others);
  ElementsOf own(tensor.getContext(), type.getRank());
  own.get(tensor, AffineMap::getMultiDimIdentityMap(type.getRank(),
                                                    tensor.getContext()));
  return llvm::all_of(own.getLeaves(), [&](const auto &leaf) {
    return llvm::is_contained(known, leaf.second.tensor) ||
           !dependent.contains(leaf.second.tensor);
  });
}

Value AttentionMatch::placeRows(OpBuilder &b, Value rows, Value leaf) {
  const ElementsOf::Leaf &place = *elements.getLeaf(leaf);
  auto type = cast<RankedTensorType>(place.tensor.getType());
  AffineMap wanted = toDims(place.map, dims);
  // Where each dimension of the rows is in the leaf.
  SmallVector<AffineExpr> from;
  for (AffineExpr expr : getRowsMap().getResults()) {
    std::optional<unsigned> at = wanted.getResultPosition(expr);
    from.push_back(at ? getAffineDimExpr(*at, b.getContext())
                      : getAffineConstantExpr(0, b.getContext()));
  }
  Value init = tensor::EmptyOp::create(b, rows.getLoc(), type.getShape(),
                                       type.getElementType());
  auto made = createParallelLoops(
      b, rows.getLoc(), rows,
      {AffineMap::get(type.getRank(), 0, from, b.getContext())}, init,
      [](OpBuilder &, Location, ValueRange args) -> SmallVector<Value> {
        return {args[0]};
      });
  if (Attribute scope = product.op->getAttr(kScopeAttr))
    made->setAttr(kScopeAttr, scope);
  return made.getResult(0);
}

void AttentionMatch::replaceRows(AttentionOp op,
                                 SmallVectorImpl<Operation *> &replaced) {
  (void)getRows(op);
  OpBuilder b(product.op);
  Value largest = placeRows(b, op.getResult(1), largestLeaf),
        sums = placeRows(b, sumsOfRows, sumLeaf);
  Operation *last = sums.getDefiningOp();
  Value oldLargest = elements.getLeaf(largestLeaf)->tensor,
        oldSums = elements.getLeaf(sumLeaf)->tensor;
  oldLargest.replaceAllUsesWith(largest);
  oldSums.replaceAllUsesWith(sums);
  replaced.append({oldLargest.getDefiningOp(), oldSums.getDefiningOp()});
  // What reads them comes after them.
  SmallVector<Operation *> pending = {largest.getDefiningOp(), last}, moved;
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val()->getUsers())
      if (user->getBlock() == last->getBlock() && user->isBeforeInBlock(last) &&
          seen.insert(user).second) {
        moved.push_back(user);
        pending.push_back(user);
      }
  llvm::sort(moved,
             [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *user : moved) {
    user->moveAfter(last);
    last = user;
  }
}

bool AdjointMatch::isOfRows(Value value) {
  return attention.hasSink() &&
         attention.isOfRows(
             value, attention.getElements().getLeaf(sumOfWeights)->tensor,
             dependent);
}

/// The sums are those of results times their cotangents.
void AdjointMatch::replaceRows(AttentionOp forward, Value back,
                               SmallVectorImpl<Operation *> &replaced) {
  OpBuilder b(first);
  Location loc = first->getLoc();
  MLIRContext *context = b.getContext();
  AffineMap order = attention.getRowsMap();
  unsigned count = order.getNumResults();
  SmallVector<AffineExpr> loops(attention.getNumDims(),
                                getAffineDimExpr(count, context));
  for (auto [number, expr] : llvm::enumerate(order.getResults()))
    loops[cast<AffineDimExpr>(expr).getPosition()] =
        getAffineDimExpr(number, context);
  auto toLoops = [&](AffineMap map) {
    return map.replaceDimsAndSymbols(loops, {}, count + 1, 0);
  };
  Value means = attention.getRows(forward).means;
  auto type = cast<RankedTensorType>(forward.getResult(1).getType());
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  Value init = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  SmallVector<utils::IteratorType> kinds(count, utils::IteratorType::parallel);
  kinds.push_back(utils::IteratorType::reduction);
  auto sums = linalg::GenericOp::create(
      b, loc, type, ValueRange{means, back}, init,
      ArrayRef<AffineMap>{toLoops(attention.getResultMap()),
                          toLoops(cotangentMap),
                          AffineMap::getMultiDimIdentityMap(count + 1, context)
                              .dropResult(count)},
      kinds, [](OpBuilder &b, Location loc, ValueRange args) {
        Value product = arith::MulFOp::create(b, loc, args[0], args[1]);
        Value sum = arith::AddFOp::create(b, loc, args[2], product);
        linalg::YieldOp::create(b, loc, sum);
      });
  Value placed = attention.placeRows(b, sums.getResult(0), sumOfWeights);
  for (Operation *op : {sums.getOperation(), placed.getDefiningOp()})
    for (StringRef name : {StringRef(kScopeAttr), StringRef(kBackwardAttr)})
      if (Attribute attr = ofQuery->op()->getAttr(name))
        op->setAttr(name, attr);
  Value old = attention.getElements().getLeaf(sumOfWeights)->tensor;
  old.replaceAllUsesWith(placed);
  replaced.push_back(old.getDefiningOp());
  attention.replaceRows(forward, replaced);
}
