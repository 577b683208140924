//===- AttentionRules.cpp - Attention shared out --------------------------===//
//
// Batches, heads among them, queries and features of values are free. Keys are
// needed whole, but where a window says that queries look at keys nearby: then
// devices that share out the queries read keys and values in windows of them.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether devices that share out the queries may read keys in windows.
static bool mayReadWindows(AttentionOp op, ArrayRef<int64_t> sizes) {
  // Sizes that are not known are negative.
  return op.getWindow() && sizes[op.getQueryDim()] > 0 &&
         sizes[op.getKeyDim()] > 0;
}

static ShardingRule getAttentionRule(AttentionOp op) {
  ShardingRule rule;
  rule.isContraction = true;
  rule.masksPadding = true;
  // A factor for each dimension.
  SmallVector<int64_t> sizes = op.getDimSizes();
  for (auto [dim, size] : llvm::enumerate(sizes))
    rule.addFactor(size, dim == op.getKeyDim() || dim == op.getFeatureDim()
                             ? FactorKind::Replicated
                             : FactorKind::Parallel);
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
  for (OpOperand &init : op.getInitsMutable())
    if (op->getNumResults() > 0)
      rule.results.push_back(rule.operands[init.getOperandNumber()]);
  return rule;
}

namespace {
/// Makes an attention local whose operands are.
class LocalAttention {
public:
  LocalAttention(AttentionOp op, OpBuilder &b, const LocalView &view)
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
  void takeColumns(OpOperand &mask, unsigned dim);
  void fillValues();
  void rewriteBody();

  AttentionOp op;
  OpBuilder &b;
  Location loc;
  const MeshLayout &layout;
  const LocalView &view;
  /// Of the whole op, by dimension.
  SmallVector<DimShardingAttr> factors;
  SmallVector<int64_t> sizes;
  /// Where the queries are shared out and the op has a window: the first query
  /// of the device, and the first key that it is given, perhaps before all.
  Value firstQuery, firstKey;
  int64_t left = 0, right = 0;
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

/// The columns of the keys that the device has, anything beside the mask.
void LocalAttention::takeColumns(OpOperand &mask, unsigned dim) {
  auto type = cast<RankedTensorType>(mask.get().getType());
  int64_t block =
      layout.localSize(factors[op.getQueryDim()], sizes[op.getQueryDim()]);
  int64_t count = block + left + right, keys = sizes[op.getKeyDim()];
  // Blocks may begin as late as the last one does where all are full.
  int64_t starts = block * layout.size(factors[op.getQueryDim()].getAllAxes());
  int64_t low = std::max<int64_t>(left, 0);
  int64_t high = std::max<int64_t>(starts + right - keys, 0);
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

/// Values that are padding are no numbers to multiply by, not even by zero.
void LocalAttention::fillValues() {
  OpOperand &value = op.getValueMutable();
  unsigned dim = 0;
  for (auto [place, expr] : llvm::enumerate(op.getMap(2).getResults()))
    if (expr == b.getAffineDimExpr(op.getKeyDim()))
      dim = place;
  auto type = cast<RankedTensorType>(value.get().getType());
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, value.get()),
      type.getElementType());
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto filled = linalg::GenericOp::create(
      b, loc, type, value.get(), empty, ArrayRef<AffineMap>{all, all}, loops,
      [&](OpBuilder &inner, Location at, ValueRange arguments) {
        Value key = arith::AddIOp::create(
            inner, at, linalg::IndexOp::create(inner, at, dim), firstKey);
        Value size =
            arith::ConstantIndexOp::create(inner, at, sizes[op.getKeyDim()]);
        Value isKey = arith::CmpIOp::create(
            inner, at, arith::CmpIPredicate::ult, key, size);
        Value zero = createNumber(inner, at, type.getElementType(), 0);
        linalg::YieldOp::create(
            inner, at,
            arith::SelectOp::create(inner, at, isKey, arguments[0], zero)
                .getResult());
      });
  if (Attribute scope = op->getAttr(kScopeAttr))
    filled->setAttr(kScopeAttr, scope);
  value.set(filled.getResult(0));
}

/// Indices are those of the whole; keys that there are not have no weight.
void LocalAttention::rewriteBody() {
  Block &body = op.getBody().front();
  Operation *first = &body.front();
  b.setInsertionPoint(first);
  auto replace = [&](unsigned dim, function_ref<Value(Value)> toGlobal) {
    Value local = body.getArgument(1 + op.getExtras().size() + dim);
    Value global = toGlobal(local);
    local.replaceUsesWithIf(global, [&](OpOperand &use) {
      return !use.getOwner()->isBeforeInBlock(first);
    });
    return global;
  };
  for (unsigned dim = 0; dim <= op.getQueryDim(); ++dim) {
    if (factors[dim] == layout.none())
      continue;
    if (body.getArgument(1 + op.getExtras().size() + dim).use_empty())
      continue;
    replace(dim, [&](Value local) -> Value {
      if (dim == op.getQueryDim() && firstQuery)
        return arith::AddIOp::create(b, loc, local, firstQuery);
      return getGlobalIndex(b, loc, layout, factors[dim], sizes[dim], local,
                            getLocalSize(dim))
          .index;
    });
  }
  if (!firstKey)
    return;
  Value key = replace(op.getKeyDim(), [&](Value local) -> Value {
    return arith::AddIOp::create(b, loc, local, firstKey);
  });
  Operation *yield = body.getTerminator();
  b.setInsertionPoint(yield);
  // One before the first is a large number without a sign.
  Value isKey = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, key,
                                      constant(sizes[op.getKeyDim()]));
  FloatType score = op.getScoreType();
  Value none = arith::ConstantOp::create(
      b, loc,
      b.getFloatAttr(score, APFloat::getInf(score.getFloatSemantics(),
                                            /*Negative=*/true)));
  yield->setOperand(
      0, arith::SelectOp::create(b, loc, isKey, yield->getOperand(0), none));
}

LogicalResult LocalAttention::run() {
  readFactors();
  DimShardingAttr queries = factors[op.getQueryDim()];
  if (queries != layout.none() && !mayReadWindows(op, sizes)) {
    op.removeWindowAttr(); // keys are whole, and queries are not
  } else if (queries != layout.none()) {
    std::tie(left, right) = *op.getKeyWindow();
    firstQuery = getGlobalIndex(b, loc, layout, queries,
                                sizes[op.getQueryDim()], constant(0))
                     .index;
    firstKey = arith::SubIOp::create(b, loc, firstQuery, constant(left));
    for (OpOperand &extra : op.getExtrasMutable()) {
      AffineMap map = op.getMap(extra.getOperandNumber());
      if (map.isFunctionOfDim(op.getQueryDim()))
        for (auto [dim, expr] : llvm::enumerate(map.getResults()))
          if (expr == b.getAffineDimExpr(op.getKeyDim()))
            takeColumns(extra, dim);
    }
    if (!layout.isEven(queries, sizes[op.getKeyDim()]))
      fillValues();
    op.setWindow(ArrayRef<int64_t>{0, left + right});
  }
  rewriteBody();
  return setLocalResultTypes(op, view);
}

namespace {
struct AttentionModel
    : ShardingRuleOpInterface::ExternalModel<AttentionModel, AttentionOp> {
  ShardingRule getShardingRule(Operation *op) const {
    return getAttentionRule(cast<AttentionOp>(op));
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &builder,
                          const LocalView &view) const {
    return LocalAttention(cast<AttentionOp>(op), builder, view).run();
  }
};
} // namespace

void mlir::dist::registerAttentionRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DistDialect *) {
    AttentionOp::attachInterface<AttentionModel>(*context);
  });
}
