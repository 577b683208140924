//===- AdjointMatch.cpp - The adjoint of attention in linalg --------------===//

#include "passes/attention/AdjointMatch.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

/// The op that fills in padding of the tensor with zero; null if none does.
static linalg::GenericOp getFill(Value tensor) {
  auto fill = tensor.getDefiningOp<linalg::GenericOp>();
  if (!fill || !fill->hasAttr(kPaddingAttr) || fill.getNumDpsInputs() != 1 ||
      !llvm::all_of(fill.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return {};
  auto select = fill.getBody()
                    ->getTerminator()
                    ->getOperand(0)
                    .getDefiningOp<arith::SelectOp>();
  if (!select || select.getTrueValue() != fill.getBody()->getArgument(0) ||
      !matchPattern(select.getFalseValue(), m_AnyZeroFloat()))
    return {};
  return fill;
}

/// Which elements it leaves as they are, in its body.
static Value getKept(linalg::GenericOp fill) {
  return fill.getBody()
      ->getTerminator()
      ->getOperand(0)
      .getDefiningOp<arith::SelectOp>()
      .getCondition();
}

/// The dimension whose index tells which elements are kept; empty if there are
/// several.
static std::optional<int64_t> getPaddedDim(Value kept) {
  std::optional<int64_t> dim;
  SmallVector<Value> pending = {kept};
  Block *body = kept.getParentBlock();
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (value.getParentBlock() != body)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      if (dim && *dim != static_cast<int64_t>(index.getDim()))
        return {};
      dim = index.getDim();
    }
    llvm::append_range(pending, op->getOperands());
  }
  return dim;
}

/// Whether two ops fill padding of their dimensions in the same way.
static bool isSameKept(Value a, Value b) {
  Operation *ofA = a.getDefiningOp(), *ofB = b.getDefiningOp();
  if (a == b ||
      (ofA && ofB && isa<linalg::IndexOp>(ofA) && isa<linalg::IndexOp>(ofB)))
    return true;
  if (!ofA || !ofB || ofA->getName() != ofB->getName() ||
      ofA->getNumOperands() != ofB->getNumOperands() ||
      ofA->getRawDictionaryAttrs() != ofB->getRawDictionaryAttrs() ||
      ofA->getPropertiesAsAttribute() != ofB->getPropertiesAsAttribute() ||
      !isMemoryEffectFree(ofA) || ofA->getNumRegions() > 0)
    return false;
  for (auto [x, y] : llvm::zip_equal(ofA->getOperands(), ofB->getOperands()))
    if (!isSameKept(x, y))
      return false;
  return true;
}

/// Whether each operand has a dimension of the result that the other lacks: no
/// sum of products of elements along rows.
static bool isOfMatrices(const Product &product) {
  return llvm::is_contained(product.kinds, LoopKind::M) &&
         llvm::is_contained(product.kinds, LoopKind::N);
}

/// All that depends on the scores. Results of products do not count, nor those
/// of ops that are not analyzed.
void AdjointMatch::findEnds() {
  Operation *last = attention.getLastOp();
  SmallVector<Value> pending;
  auto add = [&](Value value) {
    if (dependent.insert(value).second)
      pending.push_back(value);
  };
  add(attention.getScoresOp()->getResult(0));
  SetVector<Operation *> found;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (user == last || user->getBlock() != last->getBlock())
        continue;
      if (isLeader(use))
        continue;
      if (isa<OptimizationBarrierOp, FollowOp>(user)) {
        add(user->getResult(use.getOperandNumber()));
        continue;
      }
      auto linalgOp = dyn_cast<linalg::LinalgOp>(user);
      FailureOr<Product> product =
          linalgOp ? matchProduct(linalgOp) : FailureOr<Product>();
      if (succeeded(product) && isOfMatrices(*product))
        found.insert(user);
      else if ((linalgOp && linalgOp.hasPureTensorSemantics()) ||
               isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(user))
        llvm::for_each(user->getResults(), add);
    }
  }
  for (Operation *op : found) {
    End end{*matchProduct(cast<linalg::LinalgOp>(op))};
    auto isOfScores = [&](unsigned operand) {
      return dependent.contains(op->getOperand(operand));
    };
    // Nobody's destination, either.
    if (isOfScores(0) == isOfScores(1) || isOfScores(2))
      continue;
    end.scoreOperand = isOfScores(1);
    for (unsigned operand : {0u, 1u}) {
      linalg::GenericOp fill = getFill(op->getOperand(operand));
      end.operands[operand] =
          fill ? fill.getInputs()[0] : op->getOperand(operand);
    }
    ends.push_back(end);
  }
}

FailureOr<AffineMap> AdjointMatch::getPlaces(Value tensor) {
  if (tensor == attention.getWeights())
    return attention.getWeightsMap();
  auto type = cast<RankedTensorType>(tensor.getType());
  MLIRContext *context = tensor.getContext();
  ElementsOf own(context, type.getRank());
  own.get(tensor, AffineMap::getMultiDimIdentityMap(type.getRank(), context));
  const ElementsOf::Leaf *score =
      attention.getElements().getLeaf(attention.getScore());
  SmallVector<AffineExpr> places(type.getRank(),
                                 getAffineConstantExpr(0, context));
  std::optional<AffineMap> ofScore = own.findLeaf(score->tensor);
  if (!ofScore)
    return failure();
  for (auto [mine, place] :
       llvm::zip_equal(ofScore->getResults(), score->map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(mine))
      places[dim.getPosition()] = place;
  for (auto [place, size] : llvm::zip_equal(places, type.getShape()))
    if (!isa<AffineDimExpr>(place) && size != 1)
      return failure();
  return AffineMap::get(attention.getElements().getNumDims(), 0, places,
                        context);
}

FailureOr<SmallVector<AffineExpr>>
AdjointMatch::getLoops(const End &end, AffineMap places, unsigned rest) {
  SmallVector<AffineExpr> loops(end.product.kinds.size());
  AffineMap map = end.product.maps[end.scoreOperand];
  for (auto [expr, place] :
       llvm::zip_equal(map.getResults(), fromLoops(places).getResults()))
    loops[cast<AffineDimExpr>(expr).getPosition()] = place;
  if (llvm::count(loops, AffineExpr()) != 1)
    return failure();
  *llvm::find(loops, AffineExpr()) = getAffineDimExpr(rest, map.getContext());
  return loops;
}

LogicalResult AdjointMatch::matchPadding(const End &end,
                                         ArrayRef<AffineExpr> loops) {
  AffineExpr query =
      getAffineDimExpr(attention.getNumDims() - 4, end.op()->getContext());
  for (unsigned operand : {0u, 1u}) {
    linalg::GenericOp fill = getFill(end.op()->getOperand(operand));
    if (!fill) {
      if (queryMask)
        return failure();
      continue;
    }
    Value kept = getKept(fill);
    std::optional<int64_t> dim = getPaddedDim(kept);
    AffineMap map = toDims(end.product.maps[operand], loops);
    bool isFirst = operand == 0 && &end == &*ofKey;
    if (!dim || map.getResult(*dim) != query ||
        (queryMask ? !isSameKept(queryMask, kept) : !isFirst))
      return failure();
    queryMask = kept;
  }
  return success();
}

/// The cotangent of values: weights times that of the result.
LogicalResult AdjointMatch::matchWeightsEnd(End &end) {
  unsigned other = 1 - end.scoreOperand;
  FailureOr<SmallVector<AffineExpr>> loops =
      getLoops(end, attention.getWeightsMap(), attention.getNumDims() - 1);
  if (failed(loops) || ofValue || !isSame(end.getOther(), cotangent) ||
      toDims(end.product.maps[other], *loops) != cotangentMap)
    return success(); // something else
  end.out = toDims(end.product.out(), *loops);
  ofValue = end;
  return matchPadding(*ofValue, *loops);
}

/// The cotangent of queries or keys: that of scores, `element`, times the
/// others.
LogicalResult AdjointMatch::matchScoresEnd(End &end, AffineMap places,
                                           Value element) {
  unsigned other = 1 - end.scoreOperand;
  FailureOr<SmallVector<AffineExpr>> loops =
      getLoops(end, places, attention.getNumDims() - 2);
  if (failed(loops))
    return success(); // something else
  Value with = end.getOther();
  AffineMap map = toDims(end.product.maps[other], *loops);
  end.out = toDims(end.product.out(), *loops);
  SmallVector<AffineMap> maps = attention.getInputMaps();
  bool isOfQuery =
      !ofQuery && isSame(with, attention.getKey()) && map == maps[1];
  if (!isOfQuery &&
      (ofKey || !isSame(with, attention.getQuery()) || map != maps[0]))
    return success(); // something else
  // One cotangent for both.
  if (scoreCotangent && element != scoreCotangent)
    return failure();
  scoreCotangent = element;
  if (isOfQuery) {
    ofQuery = end;
    return success(!getFill(end.op()->getOperand(0)) &&
                   !getFill(end.op()->getOperand(1)));
  }
  ofKey = end;
  return matchPadding(*ofKey, *loops);
}

/// A result's map with the dimensions of another, each once.
static bool hasDimsOf(AffineMap map, AffineMap other) {
  llvm::SmallDenseSet<AffineExpr> wanted;
  for (AffineExpr expr : other.getResults())
    if (isa<AffineDimExpr>(expr))
      wanted.insert(expr);
  llvm::SmallDenseSet<AffineExpr> found(map.getResults().begin(),
                                        map.getResults().end());
  return map.getNumResults() == wanted.size() && found == wanted;
}

LogicalResult AdjointMatch::matchEnds() {
  SmallVector<End> ofWeights;
  for (End &end : ends) {
    Value tensor = end.getScoreOperand();
    FailureOr<AffineMap> places = getPlaces(tensor);
    if (failed(places))
      continue;
    Value element = attention.getElements().get(tensor, *places);
    if (element == attention.getWeight())
      ofWeights.push_back(end);
    else if (failed(matchScoresEnd(end, *places, element)))
      return failure();
  }
  if (!ofQuery || !ofKey || failed(matchOfScores()))
    return failure();
  // The cotangent is known by now.
  for (End &end : ofWeights)
    if (failed(matchWeightsEnd(end)))
      return failure();
  SmallVector<AffineMap> maps = attention.getInputMaps();
  return success(ofValue && hasDimsOf(ofQuery->out, maps[0]) &&
                 hasDimsOf(ofKey->out, maps[1]) &&
                 hasDimsOf(ofValue->out, maps[2]) &&
                 hasDimsOf(cotangentMap, attention.getResultMap()));
}

/// The cotangents of the weights: the product of the result's cotangent and the
/// values.
LogicalResult AdjointMatch::matchOfWeights(const ElementsOf::Leaf &leaf) {
  auto op = leaf.tensor.getDefiningOp<linalg::LinalgOp>();
  FailureOr<Product> found = op ? matchProduct(op) : FailureOr<Product>();
  if (failed(found))
    return failure();
  SmallVector<AffineExpr> loops(found->kinds.size());
  llvm::SmallDenseSet<AffineExpr> seen;
  for (auto [expr, place] : llvm::zip_equal(found->out().getResults(),
                                            fromLoops(leaf.map).getResults())) {
    if (isa<AffineDimExpr>(place) && !seen.insert(place).second)
      return failure();
    loops[cast<AffineDimExpr>(expr).getPosition()] = place;
  }
  int summed = found->onlyLoop(LoopKind::K);
  if (summed < 0)
    return failure();
  loops[summed] = getAffineDimExpr(attention.getNumDims() - 1, op.getContext());
  for (unsigned operand : {0u, 1u}) {
    if (!isSame(op->getOperand(operand), attention.getValue()) ||
        toDims(found->maps[operand], loops) != attention.getInputMaps()[2])
      continue;
    cotangent = op->getOperand(1 - operand);
    cotangentMap = toDims(found->maps[1 - operand], loops);
    return success();
  }
  return failure();
}

/// A value where the weight is a number, if it is 0 elsewhere.
Value AdjointMatch::getOfNumber(Value value) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  return select && isNanTest(select.getCondition(), attention.getQuotient()) &&
                 matchPattern(select.getTrueValue(), m_AnyZeroFloat())
             ? select.getFalseValue()
             : Value();
}

/// p (dp - sum of dp p). If NaN counts as 0, the product is selected only where
/// the weight is a number, and so is dp.
LogicalResult AdjointMatch::matchXCotangent(Value product) {
  if (attention.isNanZero())
    product = getOfNumber(product);
  auto multiply = product.getDefiningOp<arith::MulFOp>();
  Value quotient = attention.getQuotient();
  ElementsOf &elements = attention.getElements();
  for (bool isFirst : {true, false}) {
    Value weight = isFirst ? multiply.getLhs() : multiply.getRhs();
    auto less = (isFirst ? multiply.getRhs() : multiply.getLhs())
                    .getDefiningOp<arith::SubFOp>();
    if (weight != quotient || !less)
      continue;
    Value ofWeight = less.getLhs();
    Value summed = attention.getSummed(less.getRhs());
    auto term =
        summed ? summed.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    if (!term || !((term.getLhs() == ofWeight && term.getRhs() == quotient) ||
                   (term.getLhs() == quotient && term.getRhs() == ofWeight)))
      continue;
    if (attention.isNanZero())
      ofWeight = getOfNumber(withoutRounding(ofWeight));
    if (ofWeight)
      ofWeight = attention.stripFactor(withoutRounding(ofWeight));
    if (ofWeight)
      ofWeight = withoutRounding(ofWeight);
    const ElementsOf::Leaf *leaf =
        ofWeight ? elements.getLeaf(ofWeight) : nullptr;
    if (leaf && succeeded(matchOfWeights(*leaf))) {
      sumOfWeights = less.getRhs();
      return success();
    }
  }
  return failure();
}

LogicalResult AdjointMatch::matchOfScores() {
  ElementsOf &elements = attention.getElements();
  Block *from = elements.getIndex(0).getParentBlock();
  SmallVector<Value> pending = {scoreCotangent};
  llvm::SmallDenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second || value == attention.getScore() ||
        llvm::is_contained(attention.getLeaves(), value))
      continue;
    if (const ElementsOf::Leaf *leaf = elements.getLeaf(value)) {
      if (dependent.contains(leaf->tensor))
        return failure();
      leaves.push_back(value);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != from)
      continue;
    Value product = attention.isNanZero() ? getOfNumber(value) : value;
    auto multiply =
        product ? product.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    if (multiply &&
        llvm::is_contained(multiply->getOperands(), attention.getQuotient())) {
      if (xCotangent || failed(matchXCotangent(value)))
        return failure();
      xCotangent = value;
      continue;
    }
    llvm::append_range(pending, op->getOperands());
  }
  return success(xCotangent != nullptr);
}

LogicalResult AdjointMatch::match() {
  if (attention.isNoneZero())
    return failure();
  findEnds();
  if (failed(matchEnds()))
    return failure();
  findNeeded();
  if (!isTerm(scoreCotangent) || failed(matchTotals()))
    return failure();
  // The operands of the op exist before the first product.
  if (!attention.getLastOp()->isBeforeInBlock(first) || !isThere(cotangent))
    return failure();
  for (Value leaf : leaves)
    if (!isThere(attention.getElements().getLeaf(leaf)->tensor))
      return failure();
  if (queryMask) {
    // The values that decide it, too.
    SmallVector<Value> pending = {queryMask};
    while (!pending.empty()) {
      Operation *maker = pending.pop_back_val().getDefiningOp();
      // Perhaps before the loop that this is in.
      Operation *here =
          maker ? maker->getBlock()->findAncestorOpInBlock(*first) : nullptr;
      if (!maker || (here && maker->isBeforeInBlock(here)))
        continue;
      if (maker->getBlock() != queryMask.getParentBlock())
        return failure();
      llvm::append_range(pending, maker->getOperands());
    }
  }
  return success();
}

Value AdjointMatch::cloneIsQuery(OpBuilder &b, Value index) {
  IRMapping mapping;
  Block *body = queryMask.getParentBlock();
  auto clone = [&](auto &&clone, Value value) -> Value {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (value.getParentBlock() != body)
      return value;
    if (isa<linalg::IndexOp>(op)) {
      mapping.map(value, index);
      return index;
    }
    for (Value operand : op->getOperands())
      clone(clone, operand);
    b.clone(*op, mapping);
    return mapping.lookup(value);
  };
  return clone(clone, queryMask);
}

Value AdjointMatch::fillPadding(OpBuilder &b, Value tensor, AffineMap map,
                                double number) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Location loc = tensor.getLoc();
  unsigned dim = *map.getResultPosition(
      getAffineDimExpr(attention.getNumDims() - 4, b.getContext()));
  Type element = type.getElementType();
  return mapElements(
      b, loc, tensor, element,
      [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
        Value kept = cloneIsQuery(b, linalg::IndexOp::create(b, loc, dim));
        Value filler = arith::ConstantOp::create(
            b, loc, b.getFloatAttr(element, number));
        return arith::SelectOp::create(b, loc, kept, args[0], filler);
      });
}

/// The tensor with dimensions of one element where the map's results are not
/// dimensions.
static Value addUnitDims(OpBuilder &b, Value tensor, Type type, AffineMap map) {
  if (tensor.getType() == type)
    return tensor;
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  SmallVector<ReassociationIndices> groups(rank);
  int64_t group = -1;
  for (auto [dim, place] : llvm::enumerate(map.getResults())) {
    group += isa<AffineDimExpr>(place);
    if (rank > 0)
      groups[std::max<int64_t>(group, 0)].push_back(dim);
  }
  return tensor::ExpandShapeOp::create(b, tensor.getLoc(), type, tensor,
                                       groups);
}

void AdjointMatch::replace(AttentionOp forward,
                           SmallVectorImpl<Operation *> &replaced) {
  OpBuilder b(first);
  Location loc = ofQuery->op().getLoc();
  ElementsOf &elements = attention.getElements();
  // Both regions read all further operands.
  SmallVector<Value> all = llvm::to_vector(attention.getLeaves());
  llvm::append_range(all, leaves);
  SmallVector<AffineMap> maps = attention.getInputMaps();
  for (Value leaf : leaves)
    maps.push_back(fromLoops(elements.getLeaf(leaf)->map));
  SmallVector<Value> extras;
  for (Value leaf : all)
    extras.push_back(elements.getLeaf(leaf)->tensor);
  llvm::append_range(maps,
                     ArrayRef{attention.getResultMap(), attention.getRowsMap(),
                              attention.getRowsMap(), cotangentMap,
                              ofQuery->out, ofKey->out, ofValue->out});
  SmallVector<Type> types;
  SmallVector<Value> inits;
  const End *inOrder[] = {&*ofQuery, &*ofKey, &*ofValue};
  for (const End *end : inOrder) {
    auto type = cast<RankedTensorType>(end->op()->getResult(0).getType());
    types.push_back(type);
    inits.push_back(tensor::EmptyOp::create(b, loc, type.getShape(),
                                            type.getElementType()));
  }
  for (const Total &total : totals) {
    auto type = cast<RankedTensorType>(total.value.getType());
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> places;
    for (auto [place, size] :
         llvm::zip_equal(total.map.getResults(), type.getShape()))
      if (isa<AffineDimExpr>(place)) {
        places.push_back(place);
        shape.push_back(size);
      }
    maps.push_back(
        AffineMap::get(attention.getNumDims(), 0, places, b.getContext()));
    Type element = forward.getScoreType();
    types.push_back(RankedTensorType::get(shape, element));
    inits.push_back(tensor::EmptyOp::create(b, loc, shape, element));
  }
  Value query = attention.getQuery(), means = forward.getResult(0),
        largest = forward.getResult(1), sums = forward.getResult(2),
        back = attention.scale(b, cotangent);
  if (attention.hasSink()) {
    AttentionMatch::Rows rows = attention.getRows(forward);
    means = rows.means;
    largest = rows.base;
    sums = rows.denominators;
  }
  // Products are of one type.
  auto widen = [&](Value operand) {
    return attention.widen(b, operand, cotangent);
  };
  query = widen(query);
  back = widen(back);
  if (queryMask) {
    // Queries that are padding may be anything, and have no part in sums.
    query = fillPadding(b, query, maps[0], 0);
    largest = fillPadding(b, largest, attention.getRowsMap(), 0);
    sums = fillPadding(b, sums, attention.getRowsMap(), 1);
    back = fillPadding(b, back, cotangentMap, 0);
  }
  auto op = AttentionAdjointOp::create(
      b, loc, types, query, widen(attention.getKey()),
      widen(attention.getValue()), extras, means, largest, sums, back, inits,
      b.getAffineMapArrayAttr(maps), attention.isNanZero(),
      forward.getWindowAttr());
  for (StringRef name : {StringRef(kScopeAttr), StringRef(kBackwardAttr)})
    if (Attribute attr = ofQuery->op()->getAttr(name))
      op->setAttr(name, attr);

  auto write = [&](Region &region, ArrayRef<Value> roots,
                   ArrayRef<Value> perScore, double ofPadding) {
    OpBuilder::InsertionGuard guard(b);
    Block *body = b.createBlock(&region);
    IRMapping mapping;
    for (Value value : perScore)
      mapping.map(value, body->addArgument(op.getScoreType(), loc));
    for (Value leaf : all)
      mapping.map(leaf, body->addArgument(leaf.getType(), loc));
    unsigned indices = body->getNumArguments();
    for (unsigned dim = 0; dim < attention.getNumDims() - 2; ++dim)
      body->addArgument(b.getIndexType(), loc);
    attention.mapIndices(*body, indices, mapping);
    SmallVector<Value> yielded;
    for (Value root : roots) {
      Value made = attention.cloneScalars(b, root, mapping);
      if (made.getType() != op.getScoreType())
        made = arith::ExtFOp::create(b, loc, op.getScoreType(), made);
      yielded.push_back(made);
    }
    if (queryMask) {
      Value kept =
          cloneIsQuery(b, body->getArgument(indices + op.getQueryDim()));
      Value filler = arith::ConstantOp::create(
          b, loc, b.getFloatAttr(op.getScoreType(), ofPadding));
      for (Value &value : yielded)
        value = arith::SelectOp::create(b, loc, kept, value, filler);
    }
    bool drops = attention.dropsWeights() && &region == &op.getBody();
    AttentionYieldOp::create(b, loc, yielded.front(),
                             drops ? attention.cloneKept(b, mapping) : Value(),
                             ArrayRef(yielded).drop_front());
  };
  write(op.getBody(), attention.getX(), attention.getScore(),
        -std::numeric_limits<double>::infinity());
  SmallVector<Value> roots = {scoreCotangent};
  for (const Total &total : totals)
    roots.push_back(total.term);
  write(op.getAdjoint(), roots, {attention.getScore(), xCotangent}, 0);
  for (auto [number, end] : llvm::enumerate(inOrder)) {
    end->op()->getResult(0).replaceAllUsesWith(op->getResult(number));
    replaced.push_back(end->op());
  }
  if (attention.hasSink())
    replaceRows(forward, attention.scale(b, cotangent), replaced);
  for (auto [number, total] : llvm::enumerate(totals)) {
    auto type = cast<RankedTensorType>(total.value.getType());
    Value made = addUnitDims(
        b, attention.round(b, op->getResult(3 + number), type.getElementType()),
        type, total.map);
    bool isSum = !needed.contains(total.value.getDefiningOp());
    total.value.replaceUsesWithIf(
        made, [&](OpOperand &use) { return isSum || isOutside(use); });
    if (isSum)
      replaced.push_back(total.value.getDefiningOp());
  }
}
