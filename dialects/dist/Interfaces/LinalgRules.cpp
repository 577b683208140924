//===- LinalgRules.cpp - Linalg ops through their indexing maps -----------===//
//
// A loop is a factor; the indexing maps tell which dimensions it ties together.
// Reduction kinds, and ops that commute with a pending sum, are found in the
// body.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Interfaces/Reductions.h"
#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether `value` is computed from what the op has accumulated so far.
static bool dependsOnResults(linalg::LinalgOp op, Value value) {
  Block *body = op.getBlock();
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (unsigned i = 0; i < reached.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(reached[i])) {
      if (argument.getOwner() == body &&
          argument.getArgNumber() >= op.getNumDpsInputs())
        return true;
      continue;
    }
    Operation *source = reached[i].getDefiningOp();
    if (source->getParentRegion() != body->getParent())
      continue;
    source->walk([&](Operation *nested) {
      reached.insert_range(nested->getOperands());
    });
  }
  return false;
}

std::optional<ReductionKind> mlir::dist::getReduction(linalg::LinalgOp op,
                                                      int64_t index) {
  Block *body = op.getBlock();
  BlockArgument out = body->getArgument(op.getNumDpsInputs() + index);
  Operation *combiner =
      body->getTerminator()->getOperand(index).getDefiningOp();
  if (!combiner || combiner->getBlock() != body ||
      combiner->getNumOperands() != 2 || !out.hasOneUse() ||
      *out.getUsers().begin() != combiner)
    return std::nullopt;
  Value added = combiner->getOperand(combiner->getOperand(0) == out);
  if (dependsOnResults(op, added))
    return std::nullopt;
  // One-bit integers order and add differently from what kinds mean.
  std::optional<ReductionKind> kind = getCombiner(combiner);
  if (kind && out.getType().isInteger(1) && *kind != ReductionKind::And &&
      *kind != ReductionKind::Or)
    return std::nullopt;
  return kind;
}

/// The kind of a loop, from the number of the op's results that have a
/// dimension of it. Devices that shard the loop write different elements of all
/// results, or compute parts of all results. If it would be one for some
/// results and the other for others, the loop is not sharded.
static FactorKind getLoopKind(linalg::LinalgOp op, unsigned loop,
                              bool isCombined) {
  unsigned dims = 0;
  for (OpOperand &init : op.getDpsInitsMutable())
    dims += op.getMatchingIndexingMap(&init).isFunctionOfDim(loop);
  if (dims == op.getNumDpsInits())
    return FactorKind::Parallel;
  return dims == 0 && isCombined ? FactorKind::Reduction
                                 : FactorKind::Replicated;
}

/// The contribution of a loop to an index.
using Coefficients = SmallVector<int64_t, 8>;

/// Adds `scale` times an expression; false if it is not a sum of multiples of
/// loops.
static bool addLinear(AffineExpr expr, int64_t scale, Coefficients &loops,
                      int64_t &constant) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
    constant += scale * number.getValue();
    return true;
  }
  if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
    loops[loop.getPosition()] += scale;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), scale, loops, constant) &&
           addLinear(binary.getRHS(), scale, loops, constant);
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return binary.getKind() == AffineExprKind::Mul && factor &&
         addLinear(binary.getLHS(), scale * factor.getValue(), loops, constant);
}

/// The loop along which an index moves in windows, and the window that the
/// other loops span. It is the loop that moves the index furthest. A reduced
/// loop leaves sums pending, so it is taken only if no parallel loop moves the
/// index half as far. All loops of a result are parallel: then it is the first
/// loop for which no other moves twice as far. Empty if devices cannot shard
/// it.
static std::optional<std::pair<unsigned, Window>>
findWindow(AffineExpr expr, unsigned dim, RankedTensorType type,
           const ShardingRule &rule, bool isWritten) {
  Coefficients loops(rule.factors.size(), 0);
  int64_t constant = 0;
  if (type.isDynamicDim(dim) || llvm::is_contained(type.getShape(), 0) ||
      !type.getElementType().isIntOrIndexOrFloat() ||
      !addLinear(expr, 1, loops, constant))
    return std::nullopt;
  std::optional<unsigned> along;
  int64_t furthest = -1, last = constant;
  for (auto [loop, stride] : llvm::enumerate(loops)) {
    const Factor &factor = rule.factors[loop];
    if (stride == 0)
      continue;
    if (ShapedType::isDynamic(factor.size) || factor.size == 0)
      return std::nullopt;
    int64_t reach = std::abs(stride) * (factor.size - 1);
    last += std::max<int64_t>(stride, 0) * (factor.size - 1);
    // As far as it seems: twice for one that is parallel, and one more, so that
    // of two that do not move it is taken.
    bool isParallel = factor.kind == FactorKind::Parallel;
    int64_t seems = isParallel ? 2 * reach + 1 : reach;
    if (seems > (isWritten && along ? 2 * furthest : furthest)) {
      along = loop;
      furthest = seems;
    }
  }
  if (!along || loops[*along] < 0 ||
      rule.factors[*along].kind == FactorKind::Replicated)
    return std::nullopt;
  int64_t moved = loops[*along] * (rule.factors[*along].size - 1);
  // Elements that a negative stride or a constant leaves out in front are read
  // as well: the local op's index keeps them.
  return std::make_pair(*along,
                        Window{dim, loops[*along], last - moved + 1, 0});
}

static ShardingRule getLinalgRule(linalg::LinalgOp op) {
  ShardingRule rule;
  rule.masksPadding = true;
  rule.operands.resize(op->getNumOperands());
  rule.results.resize(op->getNumResults());
  SmallVector<int64_t, 4> ranges = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();

  // All results must be reduced alike for a reduction loop to be shardable.
  std::optional<ReductionKind> reduction;
  bool hasReduction =
      llvm::is_contained(iterators, utils::IteratorType::reduction);
  if (hasReduction)
    for (int64_t i = 0, e = op.getNumDpsInits(); i < e; ++i) {
      std::optional<ReductionKind> kind = getReduction(op, i);
      if (!kind || (i > 0 && kind != reduction)) {
        reduction = std::nullopt;
        break;
      }
      reduction = kind;
    }
  for (auto [loop, range] : llvm::enumerate(ranges))
    rule.addFactor(range, getLoopKind(op, loop, reduction.has_value()),
                   reduction.value_or(ReductionKind::Sum));

  unsigned tensorsWithReduction = 0;
  auto addTensor = [&](OpOperand &operand, TensorRule &tensor) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    SmallVector<bool, 8> seen(rule.factors.size(), false);
    bool hasReductionFactor = false;
    tensor.dims.resize(map.getNumResults());
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
        unsigned factor = loop.getPosition();
        if (seen[factor]) { // a diagonal
          rule.factors[factor].kind = FactorKind::Replicated;
          continue;
        }
        seen[factor] = true;
        hasReductionFactor |=
            iterators[factor] == utils::IteratorType::reduction;
        tensor.dims[dim].push_back(factor);
        continue;
      }
      // One loop of a window can be sharded; the others are needed whole.
      // Results in windows of several devices are added.
      std::optional<std::pair<unsigned, Window>> window;
      bool isInput = op.isDpsInput(&operand);
      if (isInput || reduction == ReductionKind::Sum)
        window = findWindow(expr, dim,
                            cast<RankedTensorType>(operand.get().getType()),
                            rule, !isInput);
      bool isShared = window && !seen[window->first];
      expr.walk([&](AffineExpr part) {
        auto loop = dyn_cast<AffineDimExpr>(part);
        if (!loop || (isShared && loop.getPosition() == window->first))
          return;
        rule.factors[loop.getPosition()].kind = FactorKind::Replicated;
      });
      if (!isShared)
        continue;
      seen[window->first] = true;
      hasReductionFactor |=
          iterators[window->first] == utils::IteratorType::reduction;
      rule.factors[window->first].inBlocks = true;
      tensor.dims[dim].push_back(window->first);
      tensor.windows.push_back(window->second);
    }
    tensorsWithReduction += hasReductionFactor;
  };
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      addTensor(operand, rule.operands[operand.getOperandNumber()]);
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    OpOperand *init = op.getDpsInitOperand(index);
    rule.results[index] = rule.operands[init->getOperandNumber()];
  }
  for (OpOperand &init : op.getDpsInitsMutable())
    if (op.payloadUsesValueFromOperand(&init))
      rule.inits.push_back(init.getOperandNumber());
  rule.isContraction = tensorsWithReduction > 1;
  return rule;
}

static PartialResult getLinalgPartialResult(linalg::LinalgOp op,
                                            ArrayRef<bool> partial,
                                            ReductionKind kind) {
  Block *body = op.getBlock();
  llvm::SmallDenseMap<Value, Dependence, 16> dependence;
  for (OpOperand &operand : op->getOpOperands())
    dependence[op.getMatchingBlockArgument(&operand)] =
        partial[operand.getOperandNumber()] ? Dependence::Commutes
                                            : Dependence::None;
  // An accumulator is made partial along with what it accumulates.
  for (OpOperand &init : op.getDpsInitsMutable())
    if (op.payloadUsesValueFromOperand(&init))
      dependence[op.getMatchingBlockArgument(&init)] = Dependence::Commutes;
  auto get = [&](Value value) {
    auto found = dependence.find(value);
    return found == dependence.end() ? Dependence::None : found->second;
  };
  SmallVector<Dependence, 4> operands;
  for (Operation &nested : body->without_terminator()) {
    operands.clear();
    for (Value operand : nested.getOperands())
      operands.push_back(get(operand));
    Dependence result = nested.getNumRegions()
                            ? Dependence::Mixed
                            : propagateDependence(&nested, operands, kind);
    for (Value value : nested.getResults())
      dependence[value] = result;
  }
  for (Value yielded : body->getTerminator()->getOperands())
    if (get(yielded) != Dependence::Commutes)
      return PartialResult::Illegal;
  return PartialResult::Partial;
}

/// Whether the op is a contraction to which zeros add nothing. Its operands may
/// go through functions first, some of which map zero to another number.
static bool isContractionOfZeros(linalg::LinalgOp op) {
  return linalg::isaContractionOpInterface(op) &&
         llvm::all_of(op.getBlock()->without_terminator(), [](Operation &op) {
           return isa<arith::AddFOp, arith::AddIOp, arith::MulFOp,
                      arith::MulIOp, arith::AndIOp, arith::OrIOp, arith::NegFOp,
                      arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp,
                      arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp,
                      arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp>(op);
         });
}

/// Sharding of every loop, read off the placements of the operands.
static SmallVector<DimShardingAttr> getLoopShardings(linalg::LinalgOp op,
                                                     const ShardingRule &rule,
                                                     const LocalView &view) {
  SmallVector<DimShardingAttr> loops(rule.factors.size(), view.layout.none());
  for (auto [tensor, sharding] :
       llvm::zip_equal(rule.operands, view.operands)) {
    if (!sharding)
      continue;
    for (auto [factors, dim] : llvm::zip_equal(tensor.dims, sharding.getDims()))
      if (factors.size() == 1 && dim != view.layout.none())
        loops[factors[0]] = dim;
  }
  return loops;
}

Value mlir::dist::createLoopSize(OpBuilder &b, Operation *op,
                                 const ShardingRule &rule, unsigned loop) {
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), rule.operands))
    for (auto [dim, factors] : llvm::enumerate(tensor.dims))
      if (factors.size() == 1 && factors[0] == loop)
        return tensor::DimOp::create(b, op->getLoc(), operand, dim);
  llvm_unreachable("a sharded loop runs over a tensor");
}

static LogicalResult makeLinalgLocal(linalg::LinalgOp op, OpBuilder &builder,
                                     const LocalView &view) {
  const MeshLayout &layout = view.layout;
  bool indexed = op.hasIndexSemantics();
  bool anyUneven = false;
  for (auto [type, sharding] :
       llvm::zip_equal(view.operandTypes, view.operands)) {
    if (!sharding)
      continue;
    auto shape = cast<RankedTensorType>(type).getShape();
    for (auto [dim, size] : llvm::zip_equal(sharding.getDims(), shape))
      anyUneven |= !layout.isEven(dim, size);
  }
  if (!indexed && !anyUneven)
    return setLocalResultTypes(op, view);

  // The rule of the whole op needs its whole sizes.
  ShardingRule rule;
  {
    SmallVector<Type> local(op->getOperandTypes());
    for (auto [operand, type] :
         llvm::zip_equal(op->getOpOperands(), view.operandTypes))
      operand.get().setType(type);
    rule = getLinalgRule(op);
    for (auto [operand, type] : llvm::zip_equal(op->getOpOperands(), local))
      operand.get().setType(type);
  }
  SmallVector<DimShardingAttr> loops = getLoopShardings(op, rule, view);
  if (failed(setLocalResultTypes(op, view)))
    return failure();

  // Padding must not be accumulated, nor be written in windows.
  llvm::SmallBitVector written(rule.factors.size());
  for (const TensorRule &result : rule.results)
    for (const Window &window : result.windows)
      written.set(result.dims[window.dim][0]);
  SmallVector<unsigned> masked;
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if ((factor.kind == FactorKind::Reduction || written[index]) &&
        !layout.isEven(loops[index], factor.size))
      masked.push_back(index);
  Location loc = op.getLoc();
  if (!masked.empty() && isContractionOfZeros(op)) {
    // Zeros in both operands, lest a NaN in one meet a zero in the other.
    builder.setInsertionPoint(op);
    for (OpOperand *input : op.getDpsInputOperands()) {
      unsigned number = input->getOperandNumber();
      SmallVector<int64_t> dims;
      for (auto [dim, factors] : llvm::enumerate(rule.operands[number].dims))
        if (factors.size() == 1 && llvm::is_contained(masked, factors[0]))
          dims.push_back(dim);
      input->set(fillPadding(
          builder, loc, layout, input->get(), view.operands[number],
          cast<RankedTensorType>(view.operandTypes[number]).getShape(), dims));
    }
    masked.clear();
  }
  // Nor may it be divided by, or say where to read.
  bool isUnsafe = false;
  if (anyUneven)
    op.getBlock()->walk([&](Operation *nested) {
      forEachUnsafeOperand(nested,
                           [&](OpOperand &, int64_t) { isUnsafe = true; });
    });
  // The bodies of named ops are not printed: they cannot change.
  if ((indexed || !masked.empty() || isUnsafe) &&
      !isa<linalg::GenericOp>(op.getOperation())) {
    IRRewriter rewriter(builder);
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, op);
    if (failed(generic))
      return op->emitOpError("cannot be written as a linalg.generic, which "
                             "global indices, and keeping padding apart, take");
    op = *generic;
  }
  Block *body = op.getBlock();
  for (linalg::IndexOp index :
       llvm::make_early_inc_range(body->getOps<linalg::IndexOp>())) {
    DimShardingAttr sharding = loops[index.getDim()];
    if (sharding == layout.none())
      continue;
    int64_t size = rule.factors[index.getDim()].size;
    Value localSize;
    if (ShapedType::isDynamic(size)) {
      builder.setInsertionPoint(op);
      localSize = createLoopSize(builder, op, rule, index.getDim());
    }
    builder.setInsertionPointAfter(index);
    Value global =
        getGlobalIndex(builder, loc, layout, sharding, size, index, localSize)
            .index;
    // The arithmetic that makes the global index keeps the local one.
    Operation *last = global.getDefiningOp();
    index.getResult().replaceUsesWithIf(global, [&](OpOperand &use) {
      return last->isBeforeInBlock(
          body->findAncestorOpInBlock(*use.getOwner()));
    });
  }
  auto isInside = [&](ArrayRef<unsigned> loopsToCheck) {
    Value inside;
    for (unsigned loop : loopsToCheck) {
      Value index = linalg::IndexOp::create(builder, loc, loop);
      Value here = getGlobalIndex(builder, loc, layout, loops[loop],
                                  rule.factors[loop].size, index)
                       .inBounds;
      inside =
          inside ? arith::AndIOp::create(builder, loc, inside, here) : here;
    }
    return inside;
  };
  if (isUnsafe) {
    SmallVector<unsigned> uneven;
    for (auto [index, factor] : llvm::enumerate(rule.factors))
      if (!layout.isEven(loops[index], factor.size))
        uneven.push_back(index);
    builder.setInsertionPointToStart(body);
    Value inside = isInside(uneven);
    guardUnsafeOperands(builder, *body, inside);
  }
  if (masked.empty())
    return success();
  Operation *yield = body->getTerminator();
  builder.setInsertionPoint(yield);
  Value inside = isInside(masked);
  for (OpOperand &yielded : yield->getOpOperands()) {
    Value old =
        body->getArgument(op.getNumDpsInputs() + yielded.getOperandNumber());
    yielded.set(
        arith::SelectOp::create(builder, loc, inside, yielded.get(), old));
  }
  return success();
}

namespace {
template <typename OpTy>
struct LinalgModel
    : ShardingRuleOpInterface::ExternalModel<LinalgModel<OpTy>, OpTy> {
  ShardingRule getShardingRule(Operation *op) const {
    return getLinalgRule(cast<linalg::LinalgOp>(op));
  }
  PartialResult getPartialResult(Operation *op, ArrayRef<bool> partial,
                                 ReductionKind kind) const {
    return getLinalgPartialResult(cast<linalg::LinalgOp>(op), partial, kind);
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &builder,
                          const LocalView &view) const {
    return makeLinalgLocal(cast<linalg::LinalgOp>(op), builder, view);
  }
};

/// Its rows are needed whole. They can be sharded in the parts that
/// --dist-decompose-softmax creates.
struct SoftmaxModel
    : ShardingRuleOpInterface::ExternalModel<SoftmaxModel, linalg::SoftmaxOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto softmax = cast<linalg::SoftmaxOp>(op);
    ShardingRule rule;
    TensorRule tensor;
    for (auto [dim, size] :
         llvm::enumerate(softmax.getInputOperandType().getShape()))
      tensor.dims.push_back({rule.addFactor(size, dim == softmax.getDimension()
                                                      ? FactorKind::Replicated
                                                      : FactorKind::Parallel)});
    rule.operands.assign(op->getNumOperands(), tensor);
    rule.results.assign(op->getNumResults(), tensor);
    return rule;
  }
};

template <typename... Ops> struct Models {
  static void attach(MLIRContext *context) {
    (attachIfLinalg<Ops>(context), ...);
  }
  template <typename OpTy> static void attachIfLinalg(MLIRContext *context) {
    if constexpr (OpTy::template hasTrait<linalg::LinalgOp::Trait>())
      OpTy::template attachInterface<LinalgModel<OpTy>>(*context);
  }
};
} // namespace

void mlir::dist::registerLinalgRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    Models<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
        >::attach(context);
    linalg::SoftmaxOp::attachInterface<SoftmaxModel>(*context);
    attachPackModels(context);
  });
}
