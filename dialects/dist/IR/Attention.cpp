//===- Attention.cpp - The verifier of attention --------------------------===//

#include "dialects/dist/IR/Attention.h"

using namespace mlir;
using namespace mlir::dist;

#include "dialects/dist/IR/AttentionLikeOpInterface.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/dist/IR/DistAttention.cpp.inc"

SmallVector<int64_t> mlir::dist::getAttentionDimSizes(Operation *op) {
  auto attention = cast<AttentionLikeOpInterface>(op);
  SmallVector<int64_t> sizes(attention.getNumDims(), ShapedType::kDynamic);
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = cast<ShapedType>(operand.get().getType());
    AffineMap map = attention.getMap(operand.getOperandNumber());
    for (auto [expr, size] : llvm::zip_equal(map.getResults(), type.getShape()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr);
          dim && !ShapedType::isDynamic(size))
        sizes[dim.getPosition()] = size;
  }
  return sizes;
}

int64_t mlir::dist::countScores(Operation *op) {
  auto attention = cast<AttentionLikeOpInterface>(op);
  SmallVector<int64_t> sizes = attention.getDimSizes();
  int64_t scores = 1;
  for (int64_t size : ArrayRef(sizes).take_front(attention.getKeyDim() + 1))
    scores = ShapedType::isDynamic(size) ? 0 : scores * size;
  return scores;
}

int64_t mlir::dist::countRowsInRing(ArrayRef<bool> seen, int64_t devices,
                                    int64_t queries, bool isZigzag) {
  int64_t half = getFirstHalf(queries), most = 0;
  for (int64_t device = 0; device < devices; ++device) {
    int64_t rows = 0, mirror = devices - 1 - device;
    for (int64_t block = 0; block < devices; ++block) {
      bool first = seen[2 * device * devices + block],
           second = seen[(2 * device + 1) * devices + block],
           mirrors = seen[2 * mirror * devices + block];
      if (block == device)
        rows += queries;
      else if (!isZigzag)
        rows += first || second ? queries : 0;
      else if (second)
        rows += queries - half;
      if (isZigzag && mirrors && block != mirror)
        rows += half;
    }
    most = std::max(most, rows);
  }
  return most;
}

ValueRange AttentionAdjointOp::getTerms() {
  return cast<AttentionYieldOp>(getAdjoint().front().getTerminator())
      .getTerms();
}

FloatType mlir::dist::getAttentionScoreType(Operation *op) {
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  return element.isF64() ? cast<FloatType>(element)
                         : FloatType(Float32Type::get(op->getContext()));
}

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

static void addEffects(DestinationStyleOpInterface op, Effects &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

void AttentionOp::getEffects(Effects &effects) { addEffects(*this, effects); }
void AttentionAdjointOp::getEffects(Effects &effects) {
  addEffects(*this, effects);
}

/// That the map of `operand` has the dimensions `wanted`, each once, and of the
/// others at most `allowed`.
static LogicalResult verifyDims(AttentionLikeOpInterface op, unsigned operand,
                                StringRef name, ArrayRef<unsigned> wanted,
                                ArrayRef<unsigned> allowed, bool constants) {
  AffineMap map = op.getMap(operand);
  llvm::SmallDenseSet<unsigned> seen;
  for (auto [place, expr] : llvm::enumerate(map.getResults())) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (constants && constant && constant.getValue() == 0)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return op->emitOpError("map of ")
             << name << ": result " << place << " of "
             << op.getIndexingMaps()[operand] << " is no dimension";
    unsigned position = dim.getPosition();
    if (!llvm::is_contained(wanted, position) &&
        !llvm::is_contained(allowed, position))
      return op->emitOpError("map of ")
             << name << ": it does not have the dimension d" << position;
    if (!seen.insert(position).second)
      return op->emitOpError("map of ")
             << name << ": d" << position << " occurs twice";
  }
  for (unsigned position : wanted)
    if (!seen.contains(position))
      return op->emitOpError("map of ")
             << name << ": d" << position << " is missing";
  return success();
}

static LogicalResult verifySizes(AttentionLikeOpInterface op) {
  SmallVector<int64_t> sizes = op.getDimSizes();
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    AffineMap map = op.getMap(number);
    auto type = cast<ShapedType>(operand.get().getType());
    for (auto [expr, size] :
         llvm::zip_equal(map.getResults(), type.getShape())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      int64_t wanted = dim ? sizes[dim.getPosition()] : 1;
      if (!ShapedType::isDynamic(size) && size != wanted)
        return op->emitOpError("operand ")
               << number << " of type " << type << " with map "
               << op.getIndexingMaps()[number] << " has a size of " << size
               << ", where " << wanted << " is wanted";
    }
  }
  return success();
}

/// Whether a value of a block is computed of another.
static bool hangsOn(Value value, Value other) {
  SmallVector<Value> pending = {value};
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (next == other)
      return true;
    Operation *maker = next.getDefiningOp();
    if (maker && maker->getBlock() == other.getParentBlock() &&
        seen.insert(next).second)
      llvm::append_range(pending, maker->getOperands());
  }
  return false;
}

/// `numScores` values that belong to a score, then elements and indices.
static LogicalResult verifyBody(AttentionLikeOpInterface op, Region &region,
                                StringRef name, StringRef takes,
                                unsigned numScores, unsigned numTerms = 0) {
  Block &body = region.front();
  Type score = op.getScoreType();
  SmallVector<Type> wanted(numScores, score);
  for (Value operand : op.getExtras())
    wanted.push_back(getElementTypeOrSelf(operand.getType()));
  wanted.append(op.getNumDims() - 2, IndexType::get(op->getContext()));
  if (!llvm::equal(body.getArgumentTypes(), wanted))
    return op->emitOpError(name)
           << " takes " << takes << " (" << score
           << "), an element of each operand after `with`, and "
           << op.getNumDims() - 2 << " indices";
  auto yield = dyn_cast<AttentionYieldOp>(body.getTerminator());
  if (!yield || yield.getOperand().getType() != score)
    return op->emitOpError(name) << " yields no " << score;
  if (yield.getKept() && &region != &op.getBody())
    return op->emitOpError(name) << " says which weights are kept";
  if (yield.getTerms().size() != numTerms ||
      !llvm::all_of(yield.getTerms().getTypes(),
                    [&](Type type) { return type == score; }))
    return op->emitOpError(name)
           << " yields " << yield.getTerms().size() << " terms, where "
           << numTerms << " of type " << score << " are wanted";
  if (yield.getKept() && hangsOn(yield.getKept(), body.getArgument(0)))
    return op->emitOpError(name)
           << " says by the score which weights are kept: only by places and "
              "elements of further operands";
  for (Operation &inner : body)
    for (TypeRange types : {TypeRange(inner.getOperandTypes()),
                            TypeRange(inner.getResultTypes())})
      if (inner.getNumRegions() > 0 ||
          llvm::any_of(types, llvm::IsaPred<ShapedType>))
        return inner.emitOpError("in the ")
               << name << " of " << op->getName() << ": it is of scalars alone";
  return success();
}

/// The window, the maps, and those of the query, the key, the value and what
/// the body reads.
static LogicalResult verifyInputs(AttentionLikeOpInterface op) {
  if (std::optional<ArrayRef<int64_t>> window = op.getWindow();
      window && (window->size() != 2 || (*window)[0] + (*window)[1] < 0))
    return op->emitOpError("window is no pair [left, right] of numbers of keys "
                           "before and after a query");
  if (op.getIndexingMaps().size() != op->getNumOperands())
    return op->emitOpError() << op.getIndexingMaps().size() << " maps for "
                             << op->getNumOperands() << " operands";
  unsigned dims = op.getNumDims();
  if (dims < 4)
    return op->emitOpError("maps have ")
           << dims << " dimensions: at least those "
           << "of queries, keys and two of features";
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMap(operand.getOperandNumber());
    auto type = cast<ShapedType>(operand.get().getType());
    if (map.getNumDims() != dims || map.getNumSymbols() != 0 ||
        static_cast<int64_t>(map.getNumResults()) != type.getRank())
      return op->emitOpError("map ")
             << op.getIndexingMaps()[operand.getOperandNumber()]
             << " does not fit " << dims
             << " dimensions and an operand of type " << type;
  }
  auto batches = llvm::to_vector(llvm::seq<unsigned>(0, op.getNumBatches()));
  unsigned i = op.getQueryDim(), j = op.getKeyDim(), d = op.getFeatureDim(),
           e = op.getValueDim();
  SmallVector<unsigned> scores = batches;
  scores.append({i, j});
  if (failed(verifyDims(op, 0, "the query", {i, d}, batches, true)) ||
      failed(verifyDims(op, 1, "the key", {j, d}, batches, true)) ||
      failed(verifyDims(op, 2, "the value", {j, e}, batches, true)))
    return failure();
  for (size_t k = 0; k < op.getExtras().size(); ++k)
    if (failed(verifyDims(op, 3 + k, "a further operand", {}, scores, true)))
      return failure();
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyInputs(*this)))
    return failure();
  SmallVector<unsigned> rows =
      llvm::to_vector(llvm::seq<unsigned>(0, getNumBatches()));
  rows.push_back(getQueryDim());
  SmallVector<unsigned> out = rows;
  out.push_back(getValueDim());
  unsigned number = 3 + getExtras().size();
  if (getInits().empty() || getInits().size() > 3)
    return emitOpError("has 1 to 3 destinations, not ") << getInits().size();
  if (failed(verifyDims(*this, number++, "the result", out, {}, false)))
    return failure();
  for (size_t init = 1; init < getInits().size(); ++init)
    if (failed(verifyDims(*this, number++,
                          getInits().size() == 2 ? "the logarithms"
                          : init == 1            ? "the largest x"
                                                 : "the sums",
                          rows, {}, false)))
      return failure();

  Type element = getElementTypeOrSelf(getQuery().getType());
  if (!isa<FloatType>(element))
    return emitOpError("of ") << element << ": it is of floats";
  for (Value same : {getKey(), getValue()})
    if (getElementTypeOrSelf(same.getType()) != element)
      return emitOpError("query has elements of type ")
             << element << ", another operand of type " << same.getType();
  Type result = getElementTypeOrSelf(getInits()[0].getType());
  if (result != element && result != getScoreType())
    return emitOpError("query has elements of type ")
           << element << ", scores of type " << getScoreType()
           << ", the result of neither, but of type "
           << getInits()[0].getType();
  for (Value init : getInits().drop_front())
    if (getElementTypeOrSelf(init.getType()) != getScoreType())
      return emitOpError("results of rows are ") << getScoreType();
  if (failed(verifySizes(*this)))
    return failure();
  return verifyBody(*this, getBody(), "body", "a score", 1);
}

LogicalResult AttentionAdjointOp::verify() {
  if (failed(verifyInputs(*this)))
    return failure();
  SmallVector<unsigned> rows =
      llvm::to_vector(llvm::seq<unsigned>(0, getNumBatches()));
  rows.push_back(getQueryDim());
  SmallVector<unsigned> out = rows;
  out.push_back(getValueDim());
  if (getInits().size() < 3)
    return emitOpError("has destinations for the cotangents of queries, keys "
                       "and values, not ")
           << getInits().size();
  if (failed(verifyDims(*this, getResultOperand(), "the result", out, {},
                        false)) ||
      failed(verifyDims(*this, getLargestOperand(), "the largest x", rows, {},
                        false)) ||
      failed(
          verifyDims(*this, getSumsOperand(), "the sums", rows, {}, false)) ||
      failed(verifyDims(*this, getCotangentOperand(), "the cotangent", out, {},
                        false)))
    return failure();
  // Cotangents have the dimensions of what they belong to.
  static constexpr StringLiteral names[] = {
      "the query's cotangent", "the key's cotangent", "the value's cotangent"};
  for (unsigned which = 0; which < 3; ++which) {
    SmallVector<unsigned> dims;
    for (AffineExpr expr : getMap(which).getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        dims.push_back(dim.getPosition());
    if (failed(verifyDims(*this, getFirstInit() + which, names[which], dims, {},
                          false)))
      return failure();
  }
  SmallVector<unsigned> scores = rows;
  scores.push_back(getKeyDim());
  for (unsigned total = 0; total < getNumTotals(); ++total)
    if (failed(verifyDims(*this, getFirstTotal() + total, "a total", {}, scores,
                          false)))
      return failure();
  // Factors of products, and what sums are, or are of.
  Type factor = getElementTypeOrSelf(getQuery().getType());
  for (auto [number, operand] : llvm::enumerate((*this)->getOperands())) {
    bool isFactor = number < 3 || number == getCotangentOperand();
    if (!isFactor && number < getResultOperand())
      continue;
    Type wanted = isFactor ? factor : Type(getScoreType());
    if (getElementTypeOrSelf(operand.getType()) != wanted)
      return emitOpError("operand ")
             << number << " of type " << operand.getType() << ": it is of "
             << wanted;
  }
  if (failed(verifySizes(*this)) ||
      failed(verifyBody(*this, getBody(), "body", "a score", 1)))
    return failure();
  return verifyBody(*this, getAdjoint(), "second region",
                    "a score and a cotangent", 2, getNumTotals());
}
