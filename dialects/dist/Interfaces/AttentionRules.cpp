//===- AttentionRules.cpp - Sharded attention -----------------------------===//
//
// Batches (including heads), queries and features of values are parallel
// factors. Keys are needed whole, unless a window says that queries attend to
// nearby keys. Then devices that shard the queries read keys and values in
// windows. In the adjoint, cotangents of keys and values are added in such
// windows; results that lack a batch or the queries are sums over these.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/Interfaces/RuleModels.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether devices that shard the queries may read keys in windows.
static bool mayReadWindows(AttentionLikeOpInterface op,
                           ArrayRef<int64_t> sizes) {
  // Sizes that are not known are negative.
  return op.getWindow() && sizes[op.getQueryDim()] > 0 &&
         sizes[op.getKeyDim()] > 0;
}

/// Whether a tensor has a dimension of the factor.
static bool hasFactor(const TensorRule &tensor, unsigned factor) {
  return llvm::any_of(tensor.dims, [&](const auto &factors) {
    return llvm::is_contained(factors, factor);
  });
}

static ShardingRule getAttentionRule(AttentionLikeOpInterface op) {
  ShardingRule rule;
  rule.isContraction = true;
  rule.masksPadding = true;
  // A factor for each dimension. The adjoint adds up features of values, too.
  bool isAdjoint = isa<AttentionAdjointOp>(op);
  SmallVector<int64_t> sizes = op.getDimSizes();
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    bool isWhole = dim == op.getKeyDim() || dim == op.getFeatureDim() ||
                   (dim == op.getValueDim() && isAdjoint);
    rule.addFactor(size,
                   isWhole ? FactorKind::Replicated : FactorKind::Parallel);
  }
  std::optional<std::pair<int64_t, int64_t>> window;
  if (mayReadWindows(op, sizes))
    window = op.getKeyWindow();
  rule.factors[op.getQueryDim()].inBlocks = window.has_value();
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMap(operand.getOperandNumber());
    bool hasQueries = map.isFunctionOfDim(op.getQueryDim());
    TensorRule tensor;
    for (AffineExpr expr : map.getResults()) {
      tensor.dims.emplace_back();
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        continue;
      unsigned factor = dim.getPosition();
      if (factor != op.getKeyDim() || !window) {
        tensor.dims.back().push_back(factor);
      } else if (!hasQueries) {
        tensor.windows.push_back(
            Window{static_cast<unsigned>(tensor.dims.size() - 1), /*stride=*/1,
                   window->first + window->second + 1, -window->first});
        tensor.dims.back().push_back(op.getQueryDim());
      }
      // The columns of a mask are whole: each device takes those of its window.
    }
    rule.operands.push_back(std::move(tensor));
  }
  unsigned firstInit = op->getNumOperands() - op->getNumResults();
  for (unsigned result = 0; result < op->getNumResults(); ++result)
    rule.results.push_back(rule.operands[firstInit + result]);
  if (!isAdjoint)
    return rule;
  for (auto [factor, known] : llvm::enumerate(rule.factors))
    if (known.kind == FactorKind::Parallel &&
        !llvm::all_of(rule.results, [&](const TensorRule &tensor) {
          return hasFactor(tensor, factor);
        }))
      known.kind = FactorKind::Reduction;
  return rule;
}

namespace {
/// Makes an attention or its adjoint local whose operands are.
class LocalAttention {
public:
  LocalAttention(AttentionLikeOpInterface op, OpBuilder &b,
                 const LocalView &view)
      : op(op), b(b), loc(op.getLoc()), layout(view.layout), view(view),
        factors(op.getNumDims(), view.layout.none()),
        sizes(op.getNumDims(), 1) {}

  LogicalResult run();

private:
  Value constant(int64_t number) {
    return arith::ConstantIndexOp::create(b, loc, number);
  }
  void readFactors();
  Value getLocalSize(unsigned dim);
  /// How many columns there must be before and after those of a mask, so that
  /// each device can take its own.
  std::pair<int64_t, int64_t> getMargins();
  /// The columns of the keys that the device has.
  int64_t countColumns() {
    return layout.localSize(factors[op.getQueryDim()],
                            sizes[op.getQueryDim()]) +
           left + right;
  }
  /// Where in an operand queries and keys meet, the dimension of keys.
  std::optional<unsigned> findColumns(OpOperand &operand);
  void takeColumns(OpOperand &mask, unsigned dim);
  void makeColumns(OpOperand &init, unsigned dim);
  LogicalResult putColumns();
  void fillRows(OpOperand &operand);
  void fillSummed();
  void rewriteBody(Region &region, unsigned numScores);

  AttentionLikeOpInterface op;
  OpBuilder &b;
  Location loc;
  const MeshLayout &layout;
  const LocalView &view;
  /// For the whole op, by dimension.
  SmallVector<DimShardingAttr> factors;
  SmallVector<int64_t> sizes;
  /// If the queries are sharded and the op has a window: the device's first
  /// query, and the first key that it is given, which may be before all keys.
  Value firstQuery, firstKey;
  int64_t left = 0, right = 0;
  /// Dimensions whose padding would be added up.
  SmallVector<unsigned> summed;
  /// Results with only the device's columns: their dimension of keys, and the
  /// original results.
  struct Columns {
    OpResult result;
    unsigned dim;
    RankedTensorType whole;
  };
  SmallVector<Columns, 0> columns;
};
} // namespace

void LocalAttention::readFactors() {
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    ShardingAttr sharding = view.operands[number];
    auto type = cast<RankedTensorType>(view.operandTypes[number]);
    for (auto [place, expr] : llvm::enumerate(op.getMap(number).getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        sizes[dim.getPosition()] = type.getDimSize(place);
        if (sharding && dim.getPosition() != op.getKeyDim() &&
            sharding.getDims()[place] != layout.none())
          factors[dim.getPosition()] = sharding.getDims()[place];
      }
  }
}

/// The device's part of a dimension whose size is not known; null otherwise.
Value LocalAttention::getLocalSize(unsigned dim) {
  if (!ShapedType::isDynamic(sizes[dim]))
    return {};
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  return createLoopSize(b, op, getAttentionRule(op), dim);
}

std::pair<int64_t, int64_t> LocalAttention::getMargins() {
  // Blocks may begin as late as the last one does where all are full.
  DimShardingAttr queries = factors[op.getQueryDim()];
  int64_t ends = layout.localSize(queries, sizes[op.getQueryDim()]) *
                 layout.size(queries.getAllAxes());
  return {std::max<int64_t>(left, 0),
          std::max<int64_t>(ends + right - sizes[op.getKeyDim()], 0)};
}

std::optional<unsigned> LocalAttention::findColumns(OpOperand &operand) {
  AffineMap map = op.getMap(operand.getOperandNumber());
  if (!map.isFunctionOfDim(op.getQueryDim()))
    return std::nullopt;
  return map.getResultPosition(b.getAffineDimExpr(op.getKeyDim()));
}

/// The columns of the keys that the device has, anything beside the mask.
void LocalAttention::takeColumns(OpOperand &mask, unsigned dim) {
  auto type = cast<RankedTensorType>(mask.get().getType());
  int64_t count = countColumns(), keys = sizes[op.getKeyDim()];
  auto [low, high] = getMargins();
  SmallVector<OpFoldResult> lows(type.getRank(), b.getIndexAttr(0)),
      highs = lows, offsets = lows, strides(type.getRank(), b.getIndexAttr(1)),
      extents = tensor::getMixedSizes(b, loc, mask.get());
  lows[dim] = b.getIndexAttr(low);
  highs[dim] = b.getIndexAttr(high);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = keys + low + high;
  Value fill = createNumber(b, loc, type.getElementType(), 0);
  Value padded = tensor::PadOp::create(b, loc, type.clone(shape), mask.get(),
                                       lows, highs, fill);
  offsets[dim] =
      arith::AddIOp::create(b, loc, firstKey, constant(low)).getResult();
  extents[dim] = b.getIndexAttr(count);
  shape[dim] = count;
  mask.set(tensor::ExtractSliceOp::create(b, loc, type.clone(shape), padded,
                                          offsets, extents, strides));
}

/// Room for the columns of the keys that the device has.
void LocalAttention::makeColumns(OpOperand &init, unsigned dim) {
  unsigned number =
      init.getOperandNumber() - (op->getNumOperands() - op->getNumResults());
  auto type = cast<RankedTensorType>(init.get().getType());
  columns.push_back({op->getResult(number), dim, type});
  SmallVector<OpFoldResult> extents = tensor::getMixedSizes(b, loc, init.get());
  extents[dim] = b.getIndexAttr(countColumns());
  init.set(tensor::EmptyOp::create(b, loc, extents, type.getElementType()));
}

/// Results among zeros for all other columns: the inverse of takeColumns.
LogicalResult LocalAttention::putColumns() {
  auto [low, high] = getMargins();
  b.setInsertionPointAfter(op);
  for (const Columns &entry : columns) {
    OpResult result = entry.result;
    unsigned dim = entry.dim;
    result.setType(cast<RankedTensorType>(
        op->getOperand(op->getNumOperands() - op->getNumResults() +
                       result.getResultNumber())
            .getType()));
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : result.getUses())
      uses.push_back(&use);
    Type element = entry.whole.getElementType();
    SmallVector<OpFoldResult> extents = tensor::getMixedSizes(b, loc, result),
                              wide = extents, whole = extents,
                              offsets(extents.size(), b.getIndexAttr(0)),
                              ones(extents.size(), b.getIndexAttr(1));
    whole[dim] = b.getIndexAttr(sizes[op.getKeyDim()]);
    wide[dim] = b.getIndexAttr(low + sizes[op.getKeyDim()] + high);
    Value zeros =
        linalg::FillOp::create(
            b, loc, createNumber(b, loc, element, 0),
            tensor::EmptyOp::create(b, loc, wide, element).getResult())
            .getResult(0);
    SmallVector<OpFoldResult> places = offsets;
    places[dim] =
        arith::AddIOp::create(b, loc, firstKey, constant(low)).getResult();
    Value among = tensor::InsertSliceOp::create(b, loc, result, zeros, places,
                                                extents, ones);
    offsets[dim] = b.getIndexAttr(low);
    Value put = tensor::ExtractSliceOp::create(b, loc, entry.whole, among,
                                               offsets, whole, ones);
    for (OpOperand *use : uses)
      use->set(put);
  }
  return success();
}

/// Keys and values that are padding are no numbers to multiply by, not even by
/// zero.
void LocalAttention::fillRows(OpOperand &value) {
  unsigned dim = *op.getMap(value.getOperandNumber())
                      .getResultPosition(b.getAffineDimExpr(op.getKeyDim()));
  auto type = cast<RankedTensorType>(value.get().getType());
  value.set(mapElements(
      b, loc, value.get(), type.getElementType(),
      [&](OpBuilder &inner, Location at, ValueRange args) -> Value {
        Value key = arith::AddIOp::create(
            inner, at, linalg::IndexOp::create(inner, at, dim), firstKey);
        Value size =
            arith::ConstantIndexOp::create(inner, at, sizes[op.getKeyDim()]);
        Value isKey = arith::CmpIOp::create(
            inner, at, arith::CmpIPredicate::ult, key, size);
        Value zero = createNumber(inner, at, type.getElementType(), 0);
        return arith::SelectOp::create(inner, at, isKey, args[0], zero);
      },
      op->getAttr(kScopeAttr)));
}

/// Padding of a batch or of queries adds nothing to the adjoint's sums, and
/// must be finite.
void LocalAttention::fillSummed() {
  auto adjoint = dyn_cast<AttentionAdjointOp>(op.getOperation());
  if (!adjoint)
    return;
  auto hasAll = [&](unsigned dim) {
    return llvm::all_of(
        llvm::seq(adjoint.getFirstInit(), op->getNumOperands()),
        [&](unsigned init) { return op.getMap(init).isFunctionOfDim(dim); });
  };
  for (unsigned dim = 0; dim <= op.getQueryDim(); ++dim)
    if (!layout.isEven(factors[dim], sizes[dim]) && !hasAll(dim))
      summed.push_back(dim);
  auto fill = [&](unsigned number, int64_t filler) {
    SmallVector<int64_t> dims;
    for (unsigned dim : summed)
      if (auto place =
              op.getMap(number).getResultPosition(b.getAffineDimExpr(dim)))
        dims.push_back(*place);
    op->setOperand(
        number,
        fillPadding(
            b, loc, layout, op->getOperand(number), view.operands[number],
            cast<RankedTensorType>(view.operandTypes[number]).getShape(), dims,
            filler));
  };
  for (unsigned number :
       {0u, 1u, 2u, adjoint.getCotangentOperand(), adjoint.getLargestOperand()})
    fill(number, 0);
  fill(adjoint.getSumsOperand(), 1);
}

/// Indices are those of the whole. Missing keys have no weight, and neither has
/// padding that would be added.
void LocalAttention::rewriteBody(Region &region, unsigned numScores) {
  Block &body = region.front();
  Operation *first = &body.front();
  b.setInsertionPoint(first);
  Value isScore;
  auto demand = [&](Value condition) {
    isScore =
        isScore ? arith::AndIOp::create(b, loc, isScore, condition).getResult()
                : condition;
  };
  unsigned firstIndex = numScores + op.getExtras().size();
  for (unsigned dim : summed)
    demand(getGlobalIndex(b, loc, layout, factors[dim], sizes[dim],
                          body.getArgument(firstIndex + dim))
               .inBounds);
  auto replace = [&](unsigned dim, function_ref<Value(Value)> toGlobal) {
    Value local = body.getArgument(firstIndex + dim);
    Value global = toGlobal(local);
    local.replaceUsesWithIf(global, [&](OpOperand &use) {
      return !use.getOwner()->isBeforeInBlock(first);
    });
    return global;
  };
  for (unsigned dim = 0; dim <= op.getQueryDim(); ++dim) {
    if (factors[dim] == layout.none())
      continue;
    if (body.getArgument(firstIndex + dim).use_empty())
      continue;
    replace(dim, [&](Value local) -> Value {
      if (dim == op.getQueryDim() && firstQuery)
        return arith::AddIOp::create(b, loc, local, firstQuery);
      return getGlobalIndex(b, loc, layout, factors[dim], sizes[dim], local,
                            getLocalSize(dim))
          .index;
    });
  }
  Operation *yield = body.getTerminator();
  if (firstKey) {
    Value key = replace(op.getKeyDim(), [&](Value local) -> Value {
      return arith::AddIOp::create(b, loc, local, firstKey);
    });
    b.setInsertionPoint(yield);
    // One before the first is a large number without a sign.
    demand(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, key,
                                 constant(sizes[op.getKeyDim()])));
  }
  if (!isScore)
    return;
  b.setInsertionPoint(yield);
  bool isOfX = &region == &op.getBody();
  const llvm::fltSemantics &semantics = op.getScoreType().getFloatSemantics();
  Value none = arith::ConstantOp::create(
      b, loc,
      b.getFloatAttr(op.getScoreType(),
                     isOfX ? APFloat::getInf(semantics, /*Negative=*/true)
                           : APFloat::getZero(semantics)));
  // The body may also say which weights are kept.
  for (OpOperand &yielded :
       yield->getOpOperands().take_front(isOfX ? 1 : yield->getNumOperands()))
    yielded.set(arith::SelectOp::create(b, loc, isScore, yielded.get(), none));
}

LogicalResult LocalAttention::run() {
  readFactors();
  DimShardingAttr queries = factors[op.getQueryDim()];
  bool isAdjoint = isa<AttentionAdjointOp>(op);
  fillSummed();
  if (queries != layout.none() && !mayReadWindows(op, sizes)) {
    op.setWindow(std::nullopt); // keys are whole, and queries are not
  } else if (queries != layout.none()) {
    std::tie(left, right) = *op.getKeyWindow();
    firstQuery = getGlobalIndex(b, loc, layout, queries,
                                sizes[op.getQueryDim()], constant(0))
                     .index;
    firstKey = arith::SubIOp::create(b, loc, firstQuery, constant(left));
    unsigned firstInit = op->getNumOperands() - op->getNumResults();
    for (OpOperand &operand : op->getOpOperands())
      if (std::optional<unsigned> dim = findColumns(operand)) {
        if (operand.getOperandNumber() < firstInit)
          takeColumns(operand, *dim);
        else
          makeColumns(operand, *dim);
      }
    if (!layout.isEven(queries, sizes[op.getKeyDim()])) {
      fillRows(op->getOpOperand(2));
      if (isAdjoint)
        fillRows(op->getOpOperand(1));
    }
    op.setWindow(ArrayRef<int64_t>{0, left + right});
  }
  rewriteBody(op.getBody(), 1);
  if (isAdjoint)
    rewriteBody(cast<AttentionAdjointOp>(op.getOperation()).getAdjoint(), 2);
  if (failed(setLocalResultTypes(op, view)))
    return failure();
  return putColumns();
}

namespace {
template <typename Op>
struct AttentionModel
    : ShardingRuleOpInterface::ExternalModel<AttentionModel<Op>, Op> {
  ShardingRule getShardingRule(Operation *op) const {
    return getAttentionRule(cast<AttentionLikeOpInterface>(op));
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &builder,
                          const LocalView &view) const {
    return LocalAttention(cast<AttentionLikeOpInterface>(op), builder, view)
        .run();
  }
};
} // namespace

void mlir::dist::registerAttentionRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DistDialect *) {
    AttentionOp::attachInterface<AttentionModel<AttentionOp>>(*context);
    AttentionAdjointOp::attachInterface<AttentionModel<AttentionAdjointOp>>(
        *context);
  });
}
