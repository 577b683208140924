//===- ElementOf.cpp - What an element of a tensor is made of -------------===//

#include "passes/attention/ElementOf.h"
#include "dialects/dist/IR/Gradients.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/bounds/Bounds.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

ElementsOf::ElementsOf(MLIRContext *context, unsigned numDims, bool mergesUnits)
    : numDims(numDims), mergesUnits(mergesUnits), b(context) {
  b.setInsertionPointToEnd(&block);
  for (unsigned dim = 0; dim < numDims; ++dim)
    block.addArgument(b.getIndexType(), b.getUnknownLoc());
}

Operation *ElementsOf::unify(Operation *op) {
  auto [known, isNew] = scalarOps.insert(op);
  if (!isNew)
    op->erase();
  return *known;
}

const ElementsOf::Leaf *ElementsOf::getLeaf(Value scalar) const {
  auto it = leaves.find(scalar);
  return it == leaves.end() ? nullptr : &it->second;
}

std::optional<AffineMap> ElementsOf::findLeaf(Value tensor) const {
  std::optional<AffineMap> found;
  for (const auto &[scalar, leaf] : leaves) {
    if (leaf.tensor != tensor)
      continue;
    if (found)
      return std::nullopt;
    found = leaf.map;
  }
  return found;
}

static bool isDimOrZero(AffineExpr expr) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  return isa<AffineDimExpr>(expr) || (constant && constant.getValue() == 0);
}

/// A tensor of one element that a body reads, as random numbers read their
/// seed; null if the op reads no such tensor.
static Value getScalarRead(Operation *op) {
  auto extract = dyn_cast<tensor::ExtractOp>(op);
  if (!extract || !extract.getTensor().getType().hasStaticShape() ||
      extract.getTensor().getType().getNumElements() != 1 ||
      !llvm::all_of(extract.getIndices(),
                    [](Value index) { return matchPattern(index, m_Zero()); }))
    return {};
  return extract.getTensor();
}

Value mlir::dist::stripBarriers(Value value) {
  while (
      isa_and_nonnull<OptimizationBarrierOp, FollowOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(
        cast<OpResult>(value).getResultNumber());
  return value;
}

bool mlir::dist::isLeader(OpOperand &use) {
  return isa<FollowOp>(use.getOwner()) && use.getOperandNumber() == 1;
}

/// A hash that is equal for equal values, from the ops next to them: this
/// mostly distinguishes equal computations of layers with different weights.
static size_t sketch(Value value, unsigned depth) {
  value = stripBarriers(value);
  Operation *op = value.getDefiningOp();
  if (!op)
    return llvm::hash_value(value.getAsOpaquePointer());
  auto read = [&](Value operand) {
    return llvm::hash_code(depth > 0 ? sketch(operand, depth - 1) : 0);
  };
  return llvm::hash_combine(OperationEquivalence::computeHash(
                                op, read, OperationEquivalence::ignoreHashValue,
                                ByComputation::kIgnored),
                            cast<OpResult>(value).getResultNumber());
}

bool mlir::dist::isSame(Value a, Value b) {
  return areComputedAlike(a, b, stripBarriers);
}

/// Whether the body computes scalars of elements.
static bool hasPlainBody(linalg::LinalgOp op) {
  if (!isa<linalg::GenericOp, linalg::ContractOp>(op) ||
      !op.hasPureTensorSemantics())
    return false;
  for (const AffineMap &map : op.getIndexingMapsArray())
    if (!llvm::all_of(map.getResults(), isDimOrZero))
      return false;
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (inner.getNumRegions() > 0 || !isMemoryEffectFree(&inner))
      return false;
    if (getScalarRead(&inner))
      continue;
    for (TypeRange types : {TypeRange(inner.getOperandTypes()),
                            TypeRange(inner.getResultTypes())})
      if (llvm::any_of(types, llvm::IsaPred<ShapedType>))
        return false;
  }
  return true;
}

/// Whether the op computes each element of its results by itself, of scalars.
static bool computesElements(linalg::LinalgOp op) {
  if (!hasPlainBody(op) || op.getNumParallelLoops() != op.getNumLoops())
    return false;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!op.getMatchingIndexingMap(&init).isPermutation() ||
        op.payloadUsesValueFromOperand(&init))
      return false;
  return true;
}

AffineMap mlir::dist::mapThroughUnitReshape(Operation *reshape, AffineMap map) {
  bool collapses = isa<tensor::CollapseShapeOp>(reshape);
  SmallVector<ReassociationIndices> groups;
  if (collapses)
    groups = cast<tensor::CollapseShapeOp>(reshape).getReassociationIndices();
  else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape))
    groups = expand.getReassociationIndices();
  else
    return {};
  // The side with more dimensions.
  auto wide =
      cast<RankedTensorType>(collapses ? reshape->getOperand(0).getType()
                                       : reshape->getResult(0).getType());
  AffineExpr zero = getAffineConstantExpr(0, map.getContext());
  SmallVector<AffineExpr> places(
      collapses ? wide.getRank() : int64_t(groups.size()), zero);
  for (auto [narrow, group] : llvm::enumerate(groups)) {
    unsigned large = 0;
    for (int64_t dim : group) {
      if (wide.getDimSize(dim) == 1)
        continue;
      if (++large > 1)
        return {};
      if (collapses)
        places[dim] = map.getResult(narrow);
      else
        places[narrow] = map.getResult(dim);
    }
  }
  return AffineMap::get(map.getNumDims(), 0, places, map.getContext());
}

/// The map with zero wherever a dimension of the tensor has one element alone.
static AffineMap dropUnitPlaces(Value tensor, AffineMap map) {
  SmallVector<AffineExpr> places(map.getResults());
  for (auto [place, size] : llvm::zip_equal(
           places, cast<RankedTensorType>(tensor.getType()).getShape()))
    if (size == 1)
      place = getAffineConstantExpr(0, map.getContext());
  return AffineMap::get(map.getNumDims(), 0, places, map.getContext());
}

bool mlir::dist::mayBeMadeOf(Value tensor,
                             function_ref<bool(Operation *)> isWanted) {
  SetVector<Operation *> ops;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      ops.insert(op);
  };
  add(tensor);
  // More are not looked through; the nearest come first.
  for (size_t number = 0; number < ops.size() && number < kMostElementOps;
       ++number) {
    Operation *op = ops[number];
    auto generic = dyn_cast<linalg::LinalgOp>(op);
    if (generic && !computesElements(generic))
      continue;
    if (generic && llvm::any_of(*generic.getBlock(), [&](Operation &inner) {
          return isWanted(&inner);
        }))
      return true;
    if (generic || isa<OptimizationBarrierOp, FollowOp, tensor::ExpandShapeOp,
                       tensor::CollapseShapeOp>(op))
      llvm::for_each(op->getOperands(), add);
  }
  return false;
}

Value ElementsOf::get(Value tensor, AffineMap map) {
  auto getKey = [&](Value of, AffineMap place) {
    return std::make_pair(of, mergesUnits ? dropUnitPlaces(of, place) : place);
  };
  std::pair<Value, AffineMap> key = getKey(tensor, map);
  auto it = known.find(key);
  if (it != known.end())
    return it->second;
  Value scalar = ops.size() < kMostElementOps ? build(tensor, map) : Value();
  size_t own = scalar ? 0 : sketch(tensor, kSketchDepth);
  for (auto it = leaves.begin(); !scalar && it != leaves.end(); ++it) {
    const Leaf &leaf = it->second;
    if (leaf.tensor.getType() == tensor.getType() &&
        sketches[it->first] == own &&
        getKey(leaf.tensor, leaf.map).second == key.second &&
        isSame(leaf.tensor, tensor))
      scalar = it->first;
  }
  if (!scalar) {
    scalar = block.addArgument(getElementTypeOrSelf(tensor.getType()),
                               tensor.getLoc());
    leaves[scalar] = {tensor, map};
    sketches[scalar] = own;
  }
  known[key] = scalar;
  return scalar;
}

/// The element as scalars; null for a leaf.
Value ElementsOf::build(Value tensor, AffineMap map) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return {};
  if (isa<OptimizationBarrierOp, FollowOp>(op)) {
    ops.push_back(op);
    return get(stripBarriers(tensor), map);
  }
  DenseElementsAttr constant;
  if (matchPattern(tensor, m_Constant(&constant)) && constant.isSplat()) {
    auto value = dyn_cast<TypedAttr>(constant.getSplatValue<Attribute>());
    return value ? unify(arith::ConstantOp::create(b, op->getLoc(), value))
                       ->getResult(0)
                 : Value();
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill.getInputs()[0];
  if (AffineMap before = mapThroughUnitReshape(op, map)) {
    ops.push_back(op);
    return get(op->getOperand(0), before);
  }
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !computesElements(linalgOp))
    return {};
  ops.push_back(op);
  return buildElementwise(linalgOp, cast<OpResult>(tensor).getResultNumber(),
                          map);
}

Value ElementsOf::buildElementwise(linalg::LinalgOp op, unsigned result,
                                   AffineMap map) {
  // Where each loop of the op stands.
  SmallVector<AffineExpr> loops(op.getNumLoops());
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  for (auto [expr, place] : llvm::zip_equal(out.getResults(), map.getResults()))
    loops[cast<AffineDimExpr>(expr).getPosition()] = place;
  return cloneBody(op, loops).lookupOrDefault(
      op.getBlock()->getTerminator()->getOperand(result));
}

Value ElementsOf::getTerm(linalg::LinalgOp op, ArrayRef<AffineExpr> loops,
                          Value term) {
  if (!hasPlainBody(op))
    return {};
  Operation *combine =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  return cloneBody(op, loops, combine).lookupOrDefault(term);
}

Value ElementsOf::getAdded(linalg::LinalgOp op, ArrayRef<AffineExpr> loops) {
  Block &body = *op.getBlock();
  BlockArgument before = body.getArguments().back();
  Value made = body.getTerminator()->getOperand(0);
  auto select = made.getDefiningOp<arith::SelectOp>();
  if (select && select.getFalseValue() == before)
    made = select.getTrueValue();
  else
    select = {};
  auto sum = made.getDefiningOp<arith::AddFOp>();
  if (!sum || sum->getBlock() != &body || !hasPlainBody(op) ||
      before.getNumUses() != (select ? 2 : 1) || !sum->hasOneUse() ||
      !llvm::is_contained(sum->getOperands(), before))
    return {};
  IRMapping mapping = select ? cloneBody(op, loops, {sum, select})
                             : cloneBody(op, loops, {sum});
  Value term = mapping.lookupOrDefault(sum.getLhs() == before ? sum.getRhs()
                                                              : sum.getLhs());
  if (!select)
    return term;
  Operation *zero = unify(
      arith::ConstantOp::create(b, op.getLoc(), b.getZeroAttr(term.getType())));
  return unify(arith::SelectOp::create(
                   b, op.getLoc(),
                   mapping.lookupOrDefault(select.getCondition()), term,
                   zero->getResult(0)))
      ->getResult(0);
}

/// The body at `loops`, without ops that combine it with the old value.
IRMapping ElementsOf::cloneBody(linalg::LinalgOp op, ArrayRef<AffineExpr> loops,
                                ArrayRef<Operation *> except) {
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (argument.use_empty())
      continue;
    if (!isa<RankedTensorType>(input->get().getType())) {
      mapping.map(argument, input->get());
      continue;
    }
    AffineMap place = op.getMatchingIndexingMap(input).replaceDimsAndSymbols(
        loops, {}, numDims, 0);
    mapping.map(argument, get(input->get(), place));
  }
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (Value tensor = getScalarRead(&inner)) {
      SmallVector<AffineExpr> first(
          cast<RankedTensorType>(tensor.getType()).getRank(),
          getAffineConstantExpr(0, op.getContext()));
      mapping.map(inner.getResult(0),
                  get(stripBarriers(tensor),
                      AffineMap::get(numDims, 0, first, op.getContext())));
      continue;
    }
    auto index = dyn_cast<linalg::IndexOp>(inner);
    if (!index) {
      if (!llvm::is_contained(except, &inner))
        mapping.map(inner.getResults(),
                    unify(b.clone(inner, mapping))->getResults());
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(loops[index.getDim()]);
    mapping.map(index.getResult(), dim ? getIndex(dim.getPosition())
                                       : unify(arith::ConstantIndexOp::create(
                                                   b, inner.getLoc(), 0))
                                             ->getResult(0));
  }
  return mapping;
}
