//===- FormAttention.cpp - Softmax between contractions -------------------===//

#include "passes/attention/FormAttention.h"
#include "dialects/dist/Interfaces/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/attention/ElementOf.h"

using namespace mlir;
using namespace mlir::dist;

/// The scalar that the tensor is filled with; null if it is no fill.
static Value getFilled(Value tensor) {
  auto fill = tensor.getDefiningOp<linalg::FillOp>();
  return fill ? fill.getInputs()[0] : Value();
}

static bool isZeroFilled(Value tensor) {
  Value value = getFilled(tensor);
  return value && matchPattern(value, m_AnyZeroFloat());
}

/// Of what scores are: f32 or f64.
static bool isOfScores(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return type && type.hasStaticShape() &&
         (type.getElementType().isF32() || type.getElementType().isF64());
}

namespace {
/// What a loop of a contraction c += a * b runs over.
enum class LoopKind { Batch, M, N, K };

/// A contraction on a zero fill, of f32 or f64.
struct Product {
  linalg::LinalgOp op;
  SmallVector<LoopKind> kinds;
  SmallVector<AffineMap> maps;

  AffineMap out() const { return maps[2]; }
  /// The only loop of the kind; -1 if there is none, or several.
  int onlyLoop(LoopKind kind) const {
    return llvm::count(kinds, kind) == 1
               ? llvm::find(kinds, kind) - kinds.begin()
               : -1;
  }
};

/// Attention that a contraction is the end of.
class Attention {
public:
  Attention(Product product, unsigned weights)
      : product(std::move(product)), weightsOperand(weights),
        elements(this->product.op.getContext(), this->product.kinds.size()) {}

  LogicalResult match(int64_t minScores);
  /// Writes the op beside the contraction.
  AttentionOp write();
  void replaceWith(AttentionOp op);

private:
  Value clearRows(AttentionOp op);
  /// Where in the result the features of values are.
  int64_t getValuePlace() {
    return *product.out().getResultPosition(
        getAffineDimExpr(valueLoop, product.op.getContext()));
  }
  LogicalResult matchWeights();
  LogicalResult matchScores(const ElementsOf::Leaf &leaf);
  LogicalResult matchDims(int64_t minScores);
  Value getReduced(const ElementsOf::Leaf *leaf, bool isMaximum);
  bool isOnlyUsedHere();
  AffineMap toDims(AffineMap map, ArrayRef<AffineExpr> loops);

  Product product;
  unsigned weightsOperand;
  ElementsOf elements;
  /// Of the scores: what softmax is taken of, and what it is made of.
  Value x, score;
  bool nanIsZero = false;
  /// Whether means of no keys are zero.
  bool noneIsZero = false;
  SmallVector<Value> leaves; // but for the score
  Product scores;
  unsigned keyOperand = 0;
  /// For each loop of the scores, the product's loop or zero.
  SmallVector<AffineExpr> scoreLoops;
  int queryLoop = -1, keyLoop = -1, valueLoop = -1, featureLoop = -1;
  /// For each of the product's loops, the op's dimension.
  SmallVector<AffineExpr> dims;
  SmallVector<Operation *> reductions;
};
} // namespace

static FailureOr<Product> matchProduct(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op->getNumRegions() != 1 || !isMultiplyAdd(*op.getBlock()) ||
      !op.hasPureTensorSemantics() ||
      !llvm::all_of(op->getOperands(), isOfScores) ||
      !isZeroFilled(op.getDpsInits()[0]))
    return failure();
  Product product{op, {}, op.getIndexingMapsArray()};
  ArrayRef<AffineMap> maps = product.maps;
  if (!llvm::all_of(maps,
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return failure();
  for (unsigned loop = 0, end = op.getNumLoops(); loop < end; ++loop) {
    bool a = maps[0].isFunctionOfDim(loop), b = maps[1].isFunctionOfDim(loop),
         c = maps[2].isFunctionOfDim(loop);
    if (a + b + c < 2)
      return failure();
    product.kinds.push_back(!c   ? LoopKind::K
                            : !b ? LoopKind::M
                            : !a ? LoopKind::N
                                 : LoopKind::Batch);
  }
  if (!llvm::is_contained(product.kinds, LoopKind::K))
    return failure();
  return product;
}

/// What a leaf is the sums, or the largest elements, of along the keys: one of
/// those elements; null if it is something else.
Value Attention::getReduced(const ElementsOf::Leaf *leaf, bool isMaximum) {
  auto op = leaf ? leaf->tensor.getDefiningOp<linalg::GenericOp>()
                 : linalg::GenericOp();
  if (!op || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() != 1 || !op.hasPureTensorSemantics() ||
      leaf->map.isFunctionOfDim(keyLoop))
    return {};
  Value start = getFilled(op.getDpsInits()[0]);
  Block &body = *op.getBlock();
  if (!start || !llvm::hasNItems(body.without_terminator(), 1))
    return {};
  Operation &combine = body.front();
  // Where upstream's softmax ignores NaN, the row is NaN all the same: in its
  // sum.
  bool isLargest = (isa<arith::MaximumFOp>(combine) &&
                    matchPattern(start, m_NegInfFloat())) ||
                   (isa<arith::MaxNumFOp>(combine) &&
                    (matchPattern(start, m_NaNFloat()) ||
                     matchPattern(start, m_NegInfFloat())));
  bool isSum =
      isa<arith::AddFOp>(combine) && matchPattern(start, m_AnyZeroFloat());
  bool isKind = isMaximum ? isLargest : isSum;
  Value in = body.getArgument(0), out = body.getArgument(1);
  if (!isKind || body.getTerminator()->getOperand(0) != combine.getResult(0) ||
      !((combine.getOperand(0) == in && combine.getOperand(1) == out) ||
        (combine.getOperand(0) == out && combine.getOperand(1) == in)))
    return {};
  AffineMap inMap = op.getIndexingMapsArray()[0];
  AffineMap outMap = op.getIndexingMapsArray()[1];
  if (!inMap.isProjectedPermutation() || !outMap.isProjectedPermutation() ||
      outMap.getNumResults() + 1 != op.getNumLoops())
    return {};
  SmallVector<AffineExpr> loops(op.getNumLoops(),
                                getAffineDimExpr(keyLoop, op.getContext()));
  for (auto [expr, place] :
       llvm::zip_equal(outMap.getResults(), leaf->map.getResults()))
    loops[cast<AffineDimExpr>(expr).getPosition()] = place;
  reductions.push_back(op);
  return elements.get(
      op.getInputs()[0],
      inMap.replaceDimsAndSymbols(loops, {}, elements.getNumDims(), 0));
}

/// Whether `isNan` is a test of `value` for NaN.
static bool isNanTest(Value isNan, Value value) {
  auto compare = isNan.getDefiningOp<arith::CmpFOp>();
  return compare && compare.getLhs() == value && compare.getRhs() == value &&
         (compare.getPredicate() == arith::CmpFPredicate::UNO ||
          compare.getPredicate() == arith::CmpFPredicate::UNE);
}

/// What takes the place of zero where it equals `number`: the value that
/// `guarded` is otherwise; null if it is no such selection.
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

/// A row in which all keys are at -inf has none: exponentials are then of these
/// less zero, and quotients by a sum of zero are zero.
LogicalResult Attention::matchWeights() {
  Value weight = elements.get(product.op->getOperand(weightsOperand),
                              product.maps[weightsOperand]);
  Value sum, largest;
  if (Value some = getUnlessEqual(weight, m_AnyZeroFloat(), sum)) {
    weight = some;
  } else if (auto select = weight.getDefiningOp<arith::SelectOp>()) {
    if (!isNanTest(select.getCondition(), select.getFalseValue()) ||
        !matchPattern(select.getTrueValue(), m_AnyZeroFloat()))
      return failure();
    weight = select.getFalseValue();
    nanIsZero = true;
  }
  auto quotient = weight.getDefiningOp<arith::DivFOp>();
  auto power =
      quotient ? quotient.getLhs().getDefiningOp<math::ExpOp>() : math::ExpOp();
  auto difference = power ? power.getOperand().getDefiningOp<arith::SubFOp>()
                          : arith::SubFOp();
  if (!difference)
    return failure();
  x = difference.getLhs();
  Value base = difference.getRhs();
  if (Value some = getUnlessEqual(base, m_NegInfFloat(), largest)) {
    if (some != largest)
      return failure();
    base = largest;
  }
  if ((sum && sum != quotient.getRhs()) ||
      getReduced(elements.getLeaf(quotient.getRhs()), /*isMaximum=*/false) !=
          power.getResult() ||
      getReduced(elements.getLeaf(base), /*isMaximum=*/true) != x)
    return failure();
  // Either guard alone leaves such a row NaN.
  noneIsZero = sum && largest;
  return success();
}

/// The contraction that has made the leaf, if it is of queries and keys.
LogicalResult Attention::matchScores(const ElementsOf::Leaf &leaf) {
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
  // Queries: what the values do not have, and the keys do not; the longest.
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
    if (queryLoop < 0 || sizes[candidate] > sizes[queryLoop])
      queryLoop = candidate;
  }
  if (queryLoop < 0)
    return failure();
  scores = *found;
  scoreLoops = std::move(loops);
  return success();
}

AffineMap Attention::toDims(AffineMap map, ArrayRef<AffineExpr> loops) {
  return map.replaceDimsAndSymbols(loops, {}, product.kinds.size() + 1, 0);
}

LogicalResult Attention::matchDims(int64_t minScores) {
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

/// Whether nothing but this attention needs the scores, or what is made of
/// them.
bool Attention::isOnlyUsedHere() {
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

LogicalResult Attention::match(int64_t minScores) {
  keyLoop = product.onlyLoop(LoopKind::K);
  valueLoop = product.onlyLoop(weightsOperand == 0 ? LoopKind::N : LoopKind::M);
  if (keyLoop < 0 || valueLoop < 0 || failed(matchWeights()))
    return failure();
  // What x is made of.
  SmallVector<Value> pending = {x};
  llvm::SmallDenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (const ElementsOf::Leaf *leaf = elements.getLeaf(value)) {
      if (!score && succeeded(matchScores(*leaf)))
        score = value;
      else
        leaves.push_back(value);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == elements.getIndex(0).getParentBlock())
      llvm::append_range(pending, op->getOperands());
  }
  if (!score || failed(matchDims(minScores)))
    return failure();
  return success(isOnlyUsedHere());
}

AttentionOp Attention::write() {
  linalg::LinalgOp last = product.op;
  OpBuilder b(last);
  Location loc = last.getLoc();
  MLIRContext *context = b.getContext();
  unsigned batches = dims.size() - 3;
  SmallVector<AffineExpr> ofScores;
  for (AffineExpr place : scoreLoops)
    ofScores.push_back(place ? place.replaceDims(dims) : place);
  ofScores[featureLoop] = getAffineDimExpr(batches + 2, context);
  unsigned queryOperand = 1 - keyOperand, valueOperand = 1 - weightsOperand;
  SmallVector<AffineMap> maps = {toDims(scores.maps[queryOperand], ofScores),
                                 toDims(scores.maps[keyOperand], ofScores),
                                 toDims(product.maps[valueOperand], dims)};
  SmallVector<Value> extras;
  for (Value leaf : leaves) {
    extras.push_back(elements.getLeaf(leaf)->tensor);
    maps.push_back(toDims(elements.getLeaf(leaf)->map, dims));
  }
  maps.push_back(toDims(product.out(), dims));
  auto type = cast<RankedTensorType>(last->getResult(0).getType());
  SmallVector<Type> types{type};
  if (noneIsZero) {
    int64_t place = getValuePlace();
    maps.push_back(maps.back().dropResult(place));
    types.push_back(RankedTensorType::Builder(type).dropDim(place));
  }
  SmallVector<Value> inits;
  for (Type made : types)
    inits.push_back(
        tensor::EmptyOp::create(b, loc, cast<RankedTensorType>(made).getShape(),
                                type.getElementType()));
  auto op = AttentionOp::create(
      b, loc, types, scores.op->getOperand(queryOperand),
      scores.op->getOperand(keyOperand), last->getOperand(valueOperand), extras,
      inits, b.getAffineMapArrayAttr(maps), nanIsZero, /*window=*/nullptr);
  if (Attribute scope = last->getAttr(kScopeAttr))
    op->setAttr(kScopeAttr, scope);

  Block *body = b.createBlock(&op.getBody());
  IRMapping mapping;
  mapping.map(score, body->addArgument(op.getScoreType(), loc));
  for (Value leaf : leaves)
    mapping.map(leaf, body->addArgument(leaf.getType(), loc));
  for (unsigned dim = 0; dim < batches + 2; ++dim) {
    Value index = body->addArgument(b.getIndexType(), loc);
    auto it = llvm::find(dims, getAffineDimExpr(dim, context));
    mapping.map(elements.getIndex(it - dims.begin()), index);
  }
  // What x is made of, in its order.
  Block *from = elements.getIndex(0).getParentBlock();
  DenseSet<Operation *> needed;
  SmallVector<Value> pending = {x};
  while (!pending.empty())
    if (Operation *inner = pending.pop_back_val().getDefiningOp())
      if (inner->getBlock() == from && needed.insert(inner).second)
        llvm::append_range(pending, inner->getOperands());
  for (Operation &inner : *from)
    if (needed.contains(&inner))
      b.clone(inner, mapping);
  AttentionYieldOp::create(b, loc, mapping.lookupOrDefault(x));
  return op;
}

/// Zeros in the rows that have no keys, by the logarithms of their sums.
Value Attention::clearRows(AttentionOp op) {
  Value means = op.getResult(0), logarithms = op.getResult(1);
  OpBuilder b(product.op);
  auto type = cast<RankedTensorType>(means.getType());
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(b, op.getLoc(), type.getShape(),
                                        type.getElementType());
  auto cleared = linalg::GenericOp::create(
      b, op.getLoc(), type, ValueRange{means, logarithms}, empty,
      ArrayRef<AffineMap>{all, all.dropResult(getValuePlace()), all}, loops,
      [&](OpBuilder &b, Location loc, ValueRange args) {
        FloatType element = cast<FloatType>(type.getElementType());
        auto constant = [&](const APFloat &number) -> Value {
          return arith::ConstantOp::create(b, loc,
                                           b.getFloatAttr(element, number));
        };
        const llvm::fltSemantics &semantics = element.getFloatSemantics();
        Value none = arith::CmpFOp::create(
            b, loc, arith::CmpFPredicate::OEQ, args[1],
            constant(APFloat::getInf(semantics, /*Negative=*/true)));
        Value mean = arith::SelectOp::create(
            b, loc, none, constant(APFloat::getZero(semantics)), args[0]);
        linalg::YieldOp::create(b, loc, mean);
      });
  if (Attribute scope = op->getAttr(kScopeAttr))
    cleared->setAttr(kScopeAttr, scope);
  return cleared.getResult(0);
}

/// The chain goes, where nobody needs it any more.
void Attention::replaceWith(AttentionOp op) {
  linalg::LinalgOp last = product.op;
  llvm::SmallSetVector<Operation *, 16> chain;
  chain.insert(last);
  last->getResult(0).replaceAllUsesWith(noneIsZero ? clearRows(op)
                                                   : op.getResult(0));
  while (!chain.empty()) {
    Operation *done = chain.pop_back_val();
    if (!isOpTriviallyDead(done))
      continue;
    for (Value operand : done->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        chain.insert(maker);
    done->erase();
  }
}

int64_t
mlir::dist::formAttentions(ModuleOp module, int64_t minScores,
                           function_ref<LogicalResult(AttentionOp)> accept) {
  // Ops that are erased precede the contraction that ends an attention.
  SmallVector<linalg::LinalgOp> products;
  module.walk([&](linalg::LinalgOp op) {
    if (succeeded(matchProduct(op)))
      products.push_back(op);
  });
  int64_t formed = 0;
  for (linalg::LinalgOp op : products)
    for (unsigned weights : {0u, 1u}) {
      Attention attention(*matchProduct(op), weights);
      if (failed(attention.match(minScores)))
        continue;
      AttentionOp made = attention.write();
      if (failed(accept(made))) {
        made.erase();
      } else {
        attention.replaceWith(made);
        ++formed;
      }
      break;
    }
  return formed;
}
