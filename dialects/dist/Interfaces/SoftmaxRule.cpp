//===- SoftmaxRule.cpp - linalg.softmax -----------------------------------===//
//
// All dimensions are parallel: where devices share out the one that is
// normalised, they combine the largest elements and the sums of their parts,
// which is one element a row instead of all.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Writes a softmax whose own dimension is shared out.
class SharedSoftmax {
public:
  SharedSoftmax(linalg::SoftmaxOp op, OpBuilder &b, const LocalView &view)
      : op(op), b(b), view(view), loc(op.getLoc()), dim(op.getDimension()),
        type(cast<RankedTensorType>(op.getInput().getType())),
        sharding(view.operands[0].getDims()[dim]) {}

  Value write();

private:
  using Body = function_ref<Value(ValueRange)>;

  AffineMap getMap(bool hasDim) const {
    AffineMap map = b.getMultiDimIdentityMap(type.getRank());
    return hasDim ? map : map.dropResult(dim);
  }
  Value generic(ValueRange inputs, Value init, ArrayRef<AffineMap> maps,
                ArrayRef<utils::IteratorType> loops, Body body);
  /// `value` if the element is no padding, else `other`.
  Value maskPadding(Value value, double other);
  /// One element a row: what `combine` makes of `inputs` here and elsewhere.
  Value reduce(Value input, double neutral, ReductionKind kind, Body combine);
  /// An element each of a full tensor and one of rows.
  Value combine(Value full, Value rows, Value into, Body body);

  linalg::SoftmaxOp op;
  OpBuilder &b;
  const LocalView &view;
  Location loc;
  int64_t dim;
  RankedTensorType type;
  DimShardingAttr sharding;
};
} // namespace

Value SharedSoftmax::maskPadding(Value value, double other) {
  auto whole = cast<RankedTensorType>(view.operandTypes[0]);
  if (view.layout.isEven(sharding, whole.getDimSize(dim)))
    return value;
  Value index = linalg::IndexOp::create(b, loc, dim);
  Value inside = getGlobalIndex(b, loc, view.layout, sharding,
                                whole.getDimSize(dim), index)
                     .inBounds;
  Value filler =
      arith::ConstantOp::create(b, loc, b.getFloatAttr(value.getType(), other));
  return arith::SelectOp::create(b, loc, inside, value, filler);
}

Value SharedSoftmax::generic(ValueRange inputs, Value init,
                             ArrayRef<AffineMap> maps,
                             ArrayRef<utils::IteratorType> loops, Body body) {
  auto op = linalg::GenericOp::create(b, loc, init.getType(), inputs, init,
                                      maps, loops);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types(inputs.size() + 1, type.getElementType());
  Block *block = b.createBlock(&op.getRegion(), {}, types,
                               SmallVector<Location>(types.size(), loc));
  linalg::YieldOp::create(b, loc, body(block->getArguments()));
  return op.getResult(0);
}

Value SharedSoftmax::reduce(Value input, double neutral, ReductionKind kind,
                            Body combine) {
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  Value empty = tensor::EmptyOp::create(b, loc, shape, type.getElementType());
  Value number = arith::ConstantOp::create(
      b, loc, b.getFloatAttr(type.getElementType(), neutral));
  Value init = linalg::FillOp::create(b, loc, number, empty).getResult(0);
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  loops[dim] = utils::IteratorType::reduction;
  Value here =
      generic(input, init, {getMap(true), getMap(false)}, loops, combine);
  SmallVector<Attribute> axes;
  llvm::append_range(axes, sharding.getAllAxes());
  auto all = AllReduceOp::create(
      b, loc, here.getType(), here,
      ReductionKindAttr::get(b.getContext(), kind), b.getArrayAttr(axes),
      view.layout.getName(),
      b.getStringAttr("combines the rows of linalg.softmax"));
  if (Attribute scope = op->getAttr(kScopeAttr))
    all->setAttr(kScopeAttr, scope);
  return all;
}

Value SharedSoftmax::combine(Value full, Value rows, Value into, Body body) {
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  return generic({full, rows}, into,
                 {getMap(true), getMap(false), getMap(true)}, loops, body);
}

Value SharedSoftmax::write() {
  b.setInsertionPoint(op);
  double infinity = std::numeric_limits<double>::infinity();
  Value largest = reduce(op.getInput(), -infinity, ReductionKind::Max,
                         [&](ValueRange v) -> Value {
                           return arith::MaximumFOp::create(
                               b, loc, maskPadding(v[0], -infinity), v[1]);
                         });
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  Value powers =
      combine(op.getInput(), largest, empty, [&](ValueRange v) -> Value {
        Value difference = arith::SubFOp::create(b, loc, v[0], v[1]);
        return maskPadding(math::ExpOp::create(b, loc, difference), 0);
      });
  Value sums =
      reduce(powers, 0, ReductionKind::Sum, [&](ValueRange v) -> Value {
        return arith::AddFOp::create(b, loc, v[0], v[1]);
      });
  return combine(powers, sums, op.getOutput(), [&](ValueRange v) -> Value {
    return arith::DivFOp::create(b, loc, v[0], v[1]);
  });
}

namespace {
struct SoftmaxModel
    : ShardingRuleOpInterface::ExternalModel<SoftmaxModel, linalg::SoftmaxOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto softmax = cast<linalg::SoftmaxOp>(op);
    ShapedType type = softmax.getInputOperandType();
    ShardingRule rule;
    TensorRule tensor;
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      tensor.dims.push_back({rule.addFactor(
          size, dim == softmax.getDimension() && !type.hasStaticShape()
                    ? FactorKind::Replicated
                    : FactorKind::Parallel)});
    rule.operands.assign(op->getNumOperands(), tensor);
    rule.results.assign(op->getNumResults(), tensor);
    return rule;
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    auto softmax = cast<linalg::SoftmaxOp>(op);
    if (view.operands[0].getDims()[softmax.getDimension()] ==
        view.layout.none())
      return setLocalResultTypes(op, view);
    Value shared = SharedSoftmax(softmax, b, view).write();
    op->getResult(0).replaceAllUsesWith(shared);
    op->erase();
    return success();
  }
};
} // namespace

void mlir::dist::attachSoftmaxModel(MLIRContext *context) {
  linalg::SoftmaxOp::attachInterface<SoftmaxModel>(*context);
}
