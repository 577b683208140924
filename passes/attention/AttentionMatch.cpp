//===- AttentionMatch.cpp - Softmax between contractions ------------------===//

#include "passes/attention/AttentionMatch.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

/// If a leaf is the sums, or the largest elements, along the keys: one of those
/// elements; null for other leaves.
Value AttentionMatch::getReduced(const ElementsOf::Leaf *leaf, bool isMaximum) {
  auto op = leaf ? leaf->tensor.getDefiningOp<linalg::GenericOp>()
                 : linalg::GenericOp();
  if (!op || op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 1 ||
      !op.hasPureTensorSemantics() || leaf->map.isFunctionOfDim(keyLoop))
    return {};
  Value start = getFilled(op.getDpsInits()[0]);
  Block &body = *op.getBlock();
  Operation *combine = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!start || !combine || combine->getBlock() != &body)
    return {};
  // Where upstream's softmax ignores NaN, the row is NaN all the same: in its
  // sum.
  bool isLargest = (isa<arith::MaximumFOp>(combine) &&
                    matchPattern(start, m_NegInfFloat())) ||
                   (isa<arith::MaxNumFOp>(combine) &&
                    (matchPattern(start, m_NaNFloat()) ||
                     matchPattern(start, m_NegInfFloat())));
  bool isSum =
      isa<arith::AddFOp>(combine) && matchPattern(start, m_AnyZeroFloat());
  BlockArgument out = body.getArguments().back();
  if ((isMaximum ? !isLargest : !isSum) || !out.hasOneUse() ||
      !llvm::is_contained(combine->getOperands(), out))
    return {};
  Value term = combine->getOperand(combine->getOperand(0) == out ? 1 : 0);
  AffineMap outMap = op.getIndexingMapsArray().back();
  if (!outMap.isProjectedPermutation() ||
      outMap.getNumResults() + 1 != op.getNumLoops())
    return {};
  SmallVector<AffineExpr> loops(op.getNumLoops(),
                                getAffineDimExpr(keyLoop, op.getContext()));
  for (auto [expr, place] :
       llvm::zip_equal(outMap.getResults(), leaf->map.getResults()))
    loops[cast<AffineDimExpr>(expr).getPosition()] = place;
  reductions.push_back(op);
  return elements.getTerm(op, loops, term);
}

Value mlir::dist::withoutRounding(Value value) {
  auto isNarrow = [](Value number) {
    return number.getType().isBF16() || number.getType().isF16();
  };
  while (true) {
    Operation *op = value.getDefiningOp();
    if (!(isa_and_present<arith::TruncFOp>(op) && isNarrow(value)) &&
        !(isa_and_present<arith::ExtFOp>(op) && isNarrow(op->getOperand(0))))
      return value;
    value = op->getOperand(0);
  }
}

bool mlir::dist::isNanTest(Value isNan, Value value) {
  auto compare = isNan.getDefiningOp<arith::CmpFOp>();
  return compare && compare.getLhs() == compare.getRhs() &&
         withoutRounding(compare.getLhs()) == withoutRounding(value) &&
         (compare.getPredicate() == arith::CmpFPredicate::UNO ||
          compare.getPredicate() == arith::CmpFPredicate::UNE);
}

/// The replacement of zero if it equals `number`: the value that `guarded` is
/// otherwise; null if it is no such selection.
template <typename Matcher>
static Value getUnlessEqual(Value guarded, Matcher number, Value &compared) {
  auto select = guarded.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                        : arith::CmpFOp();
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OEQ ||
      !matchPattern(compare.getRhs(), number) ||
      !matchPattern(select.getTrueValue(), m_AnyZeroFloat()))
    return {};
  compared = compare.getLhs();
  return select.getFalseValue();
}

/// All values of its block that `root` depends on, and those that they begin
/// with.
static DenseSet<Value> getSlice(Value root) {
  DenseSet<Value> slice;
  SmallVector<Value> pending = {root};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (value.getDefiningOp<arith::ConstantOp>() ||
        isa<IndexType>(value.getType()) || !slice.insert(value).second)
      continue;
    Operation *maker = value.getDefiningOp();
    if (maker && maker->getBlock() == root.getParentBlock())
      llvm::append_range(pending, maker->getOperands());
  }
  return slice;
}

/// Whether some number is part of both; places may be.
static bool shareNumbers(Value a, Value b) {
  DenseSet<Value> ofB = getSlice(b);
  return llvm::any_of(getSlice(a), [&](Value one) {
    return isa<FloatType>(one.getType()) && ofB.contains(one);
  });
}

/// Takes constants and selections of zero off: those whose condition has
/// nothing to do with the value.
std::pair<AttentionMatch::Factor, Value>
AttentionMatch::splitFactor(Value value) {
  Factor factor;
  while (true) {
    APFloat number(0.0);
    if (auto multiply = value.getDefiningOp<arith::MulFOp>()) {
      bool isLast = matchPattern(multiply.getRhs(), m_ConstantFloat(&number));
      if ((!isLast &&
           !matchPattern(multiply.getLhs(), m_ConstantFloat(&number))) ||
          !number.isFinite())
        break;
      value = isLast ? multiply.getLhs() : multiply.getRhs();
    } else if (auto divide = value.getDefiningOp<arith::DivFOp>();
               divide &&
               matchPattern(divide.getRhs(), m_ConstantFloat(&number)) &&
               number.isFiniteNonZero()) {
      number = APFloat(number.getSemantics(), 1) / number;
      value = divide.getLhs();
    } else if (auto select = value.getDefiningOp<arith::SelectOp>()) {
      if (!matchPattern(select.getFalseValue(), m_AnyZeroFloat()))
        break;
      Value condition = select.getCondition(), kept = select.getTrueValue();
      if (shareNumbers(condition, kept))
        break;
      factor.conditions.push_back(condition);
      value = kept;
      continue;
    } else {
      break;
    }
    bool loses;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    factor.number *= number.convertToDouble();
  }
  return {factor, value};
}

Value AttentionMatch::stripFactor(Value value) {
  if (!factor)
    return value;
  auto [found, rest] = splitFactor(value);
  if (found.number != factor->number || found.conditions != factor->conditions)
    return {};
  return rest;
}

Value AttentionMatch::cloneKept(OpBuilder &b, IRMapping &mapping) {
  Value kept;
  for (Value condition : factor->conditions) {
    Value made = cloneScalars(b, condition, mapping);
    kept = kept ? arith::AndIOp::create(b, made.getLoc(), kept, made) : made;
  }
  return kept;
}

/// The reduction of `term` along the keys, of the values that `root` is
/// computed from. Null if one of these depends on the key.
Value AttentionMatch::findReduced(Value root, Value term, bool isMaximum) {
  Value found;
  SmallVector<Value> pending = {root};
  llvm::SmallDenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (const ElementsOf::Leaf *leaf = elements.getLeaf(value)) {
      if (leaf->map.isFunctionOfDim(keyLoop))
        return {};
      if (!found && getReduced(leaf, isMaximum) == term)
        found = value;
      continue;
    }
    if (value == elements.getIndex(keyLoop))
      return {};
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == elements.getIndex(0).getParentBlock())
      llvm::append_range(pending, op->getOperands());
  }
  return found;
}

/// A row in which all keys are at -inf has no maximum. Its exponentials are
/// then of these minus zero, and quotients by a sum of zero are zero.
LogicalResult AttentionMatch::matchWeights(bool withFactors) {
  weight = elements.get(getWeights(), getWeightsMap());
  Value sum, largest, weight = this->weight;
  if (withFactors) {
    auto [found, rest] = splitFactor(weight);
    if (rest != weight)
      factor = found;
    weight = rest;
  }
  weight = withoutRounding(weight);
  if (Value some = getUnlessEqual(weight, m_AnyZeroFloat(), sum)) {
    weight = some;
  } else if (auto select = weight.getDefiningOp<arith::SelectOp>()) {
    if (!isNanTest(select.getCondition(), select.getFalseValue()) ||
        !matchPattern(select.getTrueValue(), m_AnyZeroFloat()))
      return failure();
    weight = withoutRounding(select.getFalseValue());
    nanIsZero = true;
  }
  this->quotient = weight;
  auto quotient = weight.getDefiningOp<arith::DivFOp>();
  if (quotient &&
      quotient.getType() != getElementTypeOrSelf(product.op.getDpsInits()[0]))
    return failure();
  auto power =
      quotient ? quotient.getLhs().getDefiningOp<math::ExpOp>() : math::ExpOp();
  auto difference = power ? power.getOperand().getDefiningOp<arith::SubFOp>()
                          : arith::SubFOp();
  if (!difference)
    return failure();
  x = difference.getLhs();
  base = difference.getRhs();
  if (Value some = getUnlessEqual(base, m_NegInfFloat(), largest)) {
    if (some != largest)
      return failure();
    base = largest;
  }
  denominator = quotient.getRhs();
  largestLeaf = findReduced(base, x, /*isMaximum=*/true);
  sumLeaf = findReduced(denominator, power.getResult(), /*isMaximum=*/false);
  if ((sum && sum != denominator) || !largestLeaf || !sumLeaf)
    return failure();
  // Either guard alone leaves such a row NaN.
  noneIsZero = sum && largest;
  // A sink is a key of its own.
  return success(
      !hasSink() ||
      (!noneIsZero && !nanIsZero && base.getType() == x.getType() &&
       denominator.getType() == x.getType() &&
       x.getType() == getElementTypeOrSelf(product.op.getDpsInits()[0])));
}

void AttentionMatch::keepQueryLoop() {
  Builder builder(product.op.getContext());
  product.op->setAttr(kQueryLoopAttr, builder.getI64IntegerAttr(queryLoop));
}

/// The contraction that has made the leaf, if it is of queries and keys.
LogicalResult AttentionMatch::matchScores(const ElementsOf::Leaf &leaf) {
  auto op = leaf.tensor.getDefiningOp<linalg::LinalgOp>();
  FailureOr<Product> found = op ? matchProduct(op) : FailureOr<Product>();
  if (failed(found) || !leaf.map.isFunctionOfDim(keyLoop))
    return failure();
  MLIRContext *context = op.getContext();
  SmallVector<AffineExpr> loops(found->kinds.size());
  llvm::SmallDenseSet<AffineExpr> seen;
  for (auto [expr, place] :
       llvm::zip_equal(found->out().getResults(), leaf.map.getResults())) {
    if (isa<AffineDimExpr>(place) && !seen.insert(place).second)
      return failure();
    loops[cast<AffineDimExpr>(expr).getPosition()] = place;
  }
  int key =
      llvm::find(loops, getAffineDimExpr(keyLoop, context)) - loops.begin();
  featureLoop = found->onlyLoop(LoopKind::K);
  if (featureLoop < 0 ||
      (found->kinds[key] != LoopKind::M && found->kinds[key] != LoopKind::N))
    return failure();
  keyOperand = found->kinds[key] == LoopKind::M ? 0 : 1;
  // Queries: a dimension that neither values nor keys have; the one that was
  // recorded, or the longest.
  auto kept = product.op->getAttrOfType<IntegerAttr>(kQueryLoopAttr);
  LoopKind queries = weightsOperand == 0 ? LoopKind::M : LoopKind::N;
  LoopKind inScores = keyOperand == 0 ? LoopKind::N : LoopKind::M;
  SmallVector<int64_t> sizes = product.op.getStaticLoopRanges();
  queryLoop = -1;
  for (auto [loop, place] : llvm::enumerate(loops)) {
    auto dim = dyn_cast_or_null<AffineDimExpr>(place);
    if (found->kinds[loop] != inScores || !dim ||
        product.kinds[dim.getPosition()] != queries)
      continue;
    int candidate = dim.getPosition();
    if (kept ? candidate == kept.getInt()
             : queryLoop < 0 || sizes[candidate] > sizes[queryLoop])
      queryLoop = candidate;
  }
  if (queryLoop < 0)
    return failure();
  scores = *found;
  scoreLoops = std::move(loops);
  return success();
}

LogicalResult AttentionMatch::matchDims(int64_t minScores) {
  MLIRContext *context = product.op.getContext();
  SmallVector<int64_t> sizes = product.op.getStaticLoopRanges();
  dims.assign(sizes.size(), {});
  unsigned batches = 0;
  int64_t count = 1;
  for (int loop = 0; loop < static_cast<int>(sizes.size()); ++loop) {
    if (loop != valueLoop)
      count *= sizes[loop];
    if (loop != queryLoop && loop != keyLoop && loop != valueLoop)
      dims[loop] = getAffineDimExpr(batches++, context);
  }
  dims[queryLoop] = getAffineDimExpr(batches, context);
  dims[keyLoop] = getAffineDimExpr(batches + 1, context);
  dims[valueLoop] = getAffineDimExpr(batches + 3, context);
  return success(count >= minScores);
}

/// Whether only this attention needs the scores and values computed from them.
bool AttentionMatch::isOnlyUsedHere() {
  DenseSet<Operation *> own(elements.getOps().begin(), elements.getOps().end());
  own.insert(reductions.begin(), reductions.end());
  SmallVector<Operation *> pending = {scores.op};
  DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    for (Operation *user : op->getUsers()) {
      if (user == product.op || !seen.insert(user).second)
        continue;
      if (!own.contains(user))
        return false;
      pending.push_back(user);
    }
  }
  return true;
}

void AttentionMatch::findLeaves(Value root, bool isOfScores,
                                llvm::SmallDenseSet<Value> &seen) {
  SmallVector<Value> pending = {root};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (const ElementsOf::Leaf *leaf = elements.getLeaf(value)) {
      if (isOfScores && !score && succeeded(matchScores(*leaf)))
        score = value;
      else
        leaves.push_back(value);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == elements.getIndex(0).getParentBlock())
      llvm::append_range(pending, op->getOperands());
  }
}

LogicalResult AttentionMatch::match(int64_t minScores, bool withFactors) {
  keyLoop = product.onlyLoop(LoopKind::K);
  valueLoop = product.onlyLoop(weightsOperand == 0 ? LoopKind::N : LoopKind::M);
  if (keyLoop < 0 || valueLoop < 0 || !mayBeMadeOf<math::ExpOp>(getWeights()) ||
      failed(matchWeights(withFactors)))
    return failure();
  llvm::SmallDenseSet<Value> seen;
  findLeaves(x, /*isOfScores=*/true, seen);
  if (!score)
    return failure();
  // One of them can be widened to the other's type.
  Type ofQuery = getElementTypeOrSelf(getQuery()),
       ofValue = getElementTypeOrSelf(getValue());
  if (ofQuery != ofValue &&
      ofQuery.getIntOrFloatBitWidth() == ofValue.getIntOrFloatBitWidth())
    return failure();
  if (factor)
    for (Value condition : factor->conditions) {
      if (getSlice(condition).contains(score))
        return failure();
      findLeaves(condition, /*isOfScores=*/false, seen);
    }
  return matchDims(minScores);
}

SmallVector<AffineMap> AttentionMatch::getInputMaps() {
  unsigned batches = getNumDims() - 4;
  SmallVector<AffineExpr> scoreExprs;
  for (AffineExpr place : scoreLoops)
    scoreExprs.push_back(place ? place.replaceDims(dims) : place);
  scoreExprs[featureLoop] =
      getAffineDimExpr(batches + 2, product.op.getContext());
  SmallVector<AffineMap> maps = {
      toDims(scores.maps[1 - keyOperand], scoreExprs),
      toDims(scores.maps[keyOperand], scoreExprs),
      toDims(product.maps[1 - weightsOperand], dims)};
  for (Value leaf : leaves)
    maps.push_back(toDims(elements.getLeaf(leaf)->map, dims));
  return maps;
}

void AttentionMatch::mapIndices(Block &body, unsigned firstArgument,
                                IRMapping &mapping) {
  for (unsigned dim = 0; dim < getNumDims() - 2; ++dim) {
    auto it = llvm::find(dims, getAffineDimExpr(dim, product.op.getContext()));
    mapping.map(elements.getIndex(it - dims.begin()),
                body.getArgument(firstArgument + dim));
  }
}

Value AttentionMatch::cloneScalars(OpBuilder &b, Value root,
                                   IRMapping &mapping) {
  // In their order.
  Block *from = elements.getIndex(0).getParentBlock();
  DenseSet<Operation *> needed;
  SmallVector<Value> pending = {root};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *inner = value.getDefiningOp();
    if (inner && inner->getBlock() == from && !mapping.contains(value) &&
        needed.insert(inner).second)
      llvm::append_range(pending, inner->getOperands());
  }
  for (Operation &inner : *from)
    if (needed.contains(&inner))
      b.clone(inner, mapping);
  return mapping.lookupOrDefault(root);
}

Value AttentionMatch::widen(OpBuilder &b, Value operand, Value other) {
  Type wide = getElementTypeOrSelf(operand);
  for (Value one : {getQuery(), getValue(), other ? other : operand})
    if (Type type = getElementTypeOrSelf(one);
        type.getIntOrFloatBitWidth() > wide.getIntOrFloatBitWidth())
      wide = type;
  auto type = cast<RankedTensorType>(operand.getType());
  if (type.getElementType() == wide)
    return operand;
  return mapElements(b, operand, wide, [&](OpBuilder &b, Value element) {
    return arith::ExtFOp::create(b, element.getLoc(), wide, element);
  });
}

AttentionOp AttentionMatch::write(bool forAdjoint) {
  linalg::LinalgOp last = product.op;
  OpBuilder b(last);
  Location loc = last.getLoc();
  SmallVector<AffineMap> maps = getInputMaps();
  SmallVector<Value> extras;
  for (Value leaf : leaves)
    extras.push_back(elements.getLeaf(leaf)->tensor);
  maps.push_back(getResultMap());
  auto type = cast<RankedTensorType>(last->getResult(0).getType());
  SmallVector<Type> types{type};
  // Rows without keys show in the logarithms of their sums.
  int numOfRows = forAdjoint || hasSink() ? 2 : noneIsZero;
  for (int ofRows = numOfRows; ofRows > 0; --ofRows) {
    maps.push_back(getRowsMap());
    types.push_back(RankedTensorType::Builder(type).dropDim(getValuePlace()));
  }
  SmallVector<Value> inits;
  for (Type made : types)
    inits.push_back(
        tensor::EmptyOp::create(b, loc, cast<RankedTensorType>(made).getShape(),
                                type.getElementType()));
  auto op = AttentionOp::create(b, loc, types, widen(b, getQuery()),
                                widen(b, getKey()), widen(b, getValue()),
                                extras, inits, b.getAffineMapArrayAttr(maps),
                                nanIsZero, /*window=*/nullptr);
  if (Attribute scope = last->getAttr(kScopeAttr))
    op->setAttr(kScopeAttr, scope);

  Block *body = b.createBlock(&op.getBody());
  IRMapping mapping;
  mapping.map(score, body->addArgument(op.getScoreType(), loc));
  for (Value leaf : leaves)
    mapping.map(leaf, body->addArgument(leaf.getType(), loc));
  for (unsigned dim = 0; dim < getNumDims() - 2; ++dim)
    body->addArgument(b.getIndexType(), loc);
  mapIndices(*body, 1 + leaves.size(), mapping);
  Value ofScore = cloneScalars(b, x, mapping);
  Value kept = dropsWeights() ? cloneKept(b, mapping) : Value();
  AttentionYieldOp::create(b, loc, ofScore, kept, ValueRange());
  return op;
}

/// Zeros in the rows that have no keys, by the logarithms of their sums.
Value AttentionMatch::clearRows(AttentionOp op) {
  Value means = op.getResult(0), logarithms = op.getResult(1);
  OpBuilder b(product.op);
  auto type = cast<RankedTensorType>(means.getType());
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  auto element = cast<FloatType>(type.getElementType());
  return dist::mapElements(
      b, op.getLoc(), {means, logarithms}, element,
      [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
        auto constant = [&](const APFloat &number) -> Value {
          return arith::ConstantOp::create(b, loc,
                                           b.getFloatAttr(element, number));
        };
        const llvm::fltSemantics &semantics = element.getFloatSemantics();
        Value none = arith::CmpFOp::create(
            b, loc, arith::CmpFPredicate::OEQ, args[1],
            constant(APFloat::getInf(semantics, /*Negative=*/true)));
        return arith::SelectOp::create(
            b, loc, none, constant(APFloat::getZero(semantics)), args[0]);
      },
      op->getAttr(kScopeAttr), {all, all.dropResult(getValuePlace())});
}

Value AttentionMatch::mapElements(
    OpBuilder &b, Value tensor, Type made,
    function_ref<Value(OpBuilder &, Value)> body) {
  return dist::mapElements(
      b, product.op.getLoc(), tensor, made,
      [&](OpBuilder &b, Location, ValueRange args) { return body(b, args[0]); },
      product.op->getAttr(kScopeAttr));
}

Value AttentionMatch::round(OpBuilder &b, Value tensor, Type narrow) {
  if (getElementTypeOrSelf(tensor) == narrow)
    return tensor;
  return mapElements(b, tensor, narrow, [&](OpBuilder &b, Value element) {
    return arith::TruncFOp::create(b, element.getLoc(), narrow, element);
  });
}

Value AttentionMatch::scale(OpBuilder &b, Value tensor) {
  if (!factor || factor->number == 1)
    return tensor;
  Type type = getElementTypeOrSelf(tensor);
  return mapElements(b, tensor, type, [&](OpBuilder &b, Value element) {
    Location loc = element.getLoc();
    Value number =
        arith::ConstantOp::create(b, loc, b.getFloatAttr(type, factor->number));
    return arith::MulFOp::create(b, loc, element, number);
  });
}

void AttentionMatch::replaceWith(AttentionOp op) {
  OpBuilder b(product.op);
  Value means = noneIsZero  ? clearRows(op)
                : hasSink() ? getRows(op).means
                            : op.getResult(0);
  product.op->getResult(0).replaceAllUsesWith(scale(b, means));
}
