//===- Attention.cpp - The verifier of attention --------------------------===//

#include "dialects/dist/IR/Attention.h"

using namespace mlir;
using namespace mlir::dist;

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistAttention.cpp.inc"

SmallVector<int64_t> AttentionOp::getDimSizes() {
  SmallVector<int64_t> sizes(getNumDims(), ShapedType::kDynamic);
  for (OpOperand &operand : (*this)->getOpOperands()) {
    auto type = cast<ShapedType>(operand.get().getType());
    AffineMap map = getMap(operand.getOperandNumber());
    for (auto [expr, size] : llvm::zip_equal(map.getResults(), type.getShape()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr);
          dim && !ShapedType::isDynamic(size))
        sizes[dim.getPosition()] = size;
  }
  return sizes;
}

std::optional<std::pair<int64_t, int64_t>> AttentionOp::getKeyWindow() {
  std::optional<ArrayRef<int64_t>> window = getWindow();
  if (!window)
    return std::nullopt;
  return std::make_pair((*window)[0], (*window)[1]);
}

FloatType AttentionOp::getScoreType() {
  Type element = getElementTypeOrSelf(getQuery().getType());
  return element.isF64() ? cast<FloatType>(element)
                         : FloatType(Float32Type::get(getContext()));
}

void AttentionOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : (*this)->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

/// That the map of `operand` has the dimensions `wanted`, each once, and of the
/// others at most `allowed`.
static LogicalResult verifyDims(AttentionOp op, unsigned operand,
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
      return op.emitOpError("map of ")
             << name << ": result " << place << " of "
             << op.getIndexingMaps()[operand] << " is no dimension";
    unsigned position = dim.getPosition();
    if (!llvm::is_contained(wanted, position) &&
        !llvm::is_contained(allowed, position))
      return op.emitOpError("map of ")
             << name << ": it does not have the dimension d" << position;
    if (!seen.insert(position).second)
      return op.emitOpError("map of ")
             << name << ": d" << position << " occurs twice";
  }
  for (unsigned position : wanted)
    if (!seen.contains(position))
      return op.emitOpError("map of ")
             << name << ": d" << position << " is missing";
  return success();
}

static LogicalResult verifySizes(AttentionOp op) {
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
        return op.emitOpError("operand ")
               << number << " of type " << type << " with map "
               << op.getIndexingMaps()[number] << " has a size of " << size
               << ", where " << wanted << " is wanted";
    }
  }
  return success();
}

static LogicalResult verifyBody(AttentionOp op) {
  Block &body = op.getBody().front();
  Type score = op.getScoreType();
  SmallVector<Type> wanted = {score};
  for (Value operand : op.getExtras())
    wanted.push_back(getElementTypeOrSelf(operand.getType()));
  wanted.append(op.getNumDims() - 2, IndexType::get(op.getContext()));
  if (!llvm::equal(body.getArgumentTypes(), wanted))
    return op.emitOpError("body takes a score (")
           << score << "), an element of each operand after `with`, and "
           << op.getNumDims() - 2 << " indices";
  auto yield = dyn_cast<AttentionYieldOp>(body.getTerminator());
  if (!yield || yield.getOperand().getType() != score)
    return op.emitOpError("body yields no ") << score;
  for (Operation &inner : body)
    for (TypeRange types : {TypeRange(inner.getOperandTypes()),
                            TypeRange(inner.getResultTypes())})
      if (inner.getNumRegions() > 0 ||
          llvm::any_of(types, llvm::IsaPred<ShapedType>))
        return inner.emitOpError(
            "in the body of dist.attention: it is of scalars alone");
  return success();
}

LogicalResult AttentionOp::verify() {
  if (getIndexingMaps().size() != (*this)->getNumOperands())
    return emitOpError() << getIndexingMaps().size() << " maps for "
                         << (*this)->getNumOperands() << " operands";
  if (std::optional<ArrayRef<int64_t>> window = getWindow();
      window && (window->size() != 2 || (*window)[0] + (*window)[1] < 0))
    return emitOpError("window is no pair [left, right] of numbers of keys "
                       "before and after a query");
  unsigned dims = getNumDims();
  if (dims < 4)
    return emitOpError("maps have ") << dims << " dimensions: at least those "
                                     << "of queries, keys and two of features";
  for (OpOperand &operand : (*this)->getOpOperands()) {
    AffineMap map = getMap(operand.getOperandNumber());
    auto type = cast<ShapedType>(operand.get().getType());
    if (map.getNumDims() != dims || map.getNumSymbols() != 0 ||
        static_cast<int64_t>(map.getNumResults()) != type.getRank())
      return emitOpError("map ")
             << getIndexingMaps()[operand.getOperandNumber()]
             << " does not fit " << dims
             << " dimensions and an operand of type " << type;
  }
  auto batches = llvm::to_vector(llvm::seq<unsigned>(0, getNumBatches()));
  unsigned i = getQueryDim(), j = getKeyDim(), d = getFeatureDim(),
           e = getValueDim();
  SmallVector<unsigned> scores = batches, rows = batches, out = batches;
  scores.append({i, j});
  rows.push_back(i);
  out.append({i, e});
  if (failed(verifyDims(*this, 0, "the query", {i, d}, batches, true)) ||
      failed(verifyDims(*this, 1, "the key", {j, d}, batches, true)) ||
      failed(verifyDims(*this, 2, "the value", {j, e}, batches, true)))
    return failure();
  unsigned number = 3;
  for (size_t k = 0; k < getExtras().size(); ++k)
    if (failed(
            verifyDims(*this, number++, "a further operand", {}, scores, true)))
      return failure();
  if (getInits().empty() || getInits().size() > 2)
    return emitOpError("has 1 or 2 destinations, not ") << getInits().size();
  if (failed(verifyDims(*this, number++, "the result", out, {}, false)))
    return failure();
  if (getInits().size() == 2 &&
      failed(verifyDims(*this, number, "the logarithms", rows, {}, false)))
    return failure();

  Type element = getElementTypeOrSelf(getQuery().getType());
  if (!isa<FloatType>(element))
    return emitOpError("of ") << element << ": it is of floats";
  for (Value same : {getKey(), getValue(), Value(getInits()[0])})
    if (getElementTypeOrSelf(same.getType()) != element)
      return emitOpError("query has elements of type ")
             << element << ", another operand of type " << same.getType();
  if (getInits().size() == 2 &&
      getElementTypeOrSelf(getInits()[1].getType()) != getScoreType())
    return emitOpError("logarithms are ") << getScoreType();
  if (failed(verifySizes(*this)))
    return failure();
  return verifyBody(*this);
}
