//===- DecomposeSoftmax.cpp - linalg.softmax as its parts -----------------===//
//
// The largest element of each row, the exponentials of the differences to it,
// their sum, and the quotients, each an op of its own. A sharded row is then
// like any other reduction: one element of a row is communicated instead of
// all.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "passes/spmd/prepare/Passes.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Writes the parts of one softmax.
class SoftmaxParts {
public:
  SoftmaxParts(linalg::SoftmaxOp op, OpBuilder &b)
      : op(op), b(b), loc(op.getLoc()), dim(op.getDimension()),
        type(cast<RankedTensorType>(op.getInput().getType())),
        element(type.getElementType()) {}

  Value write();

private:
  using Body = function_ref<Value(ValueRange)>;

  Value generic(ValueRange inputs, Value init, bool isReduction, Body body);
  /// One element a row, which `combine` makes of the row's.
  Value reduceRows(Value input, APFloat start, Body combine);
  APFloat getNumber(bool isInfinite) const {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(element).getFloatSemantics();
    return isInfinite ? APFloat::getInf(semantics, /*Negative=*/true)
                      : APFloat::getZero(semantics);
  }

  linalg::SoftmaxOp op;
  OpBuilder &b;
  Location loc;
  int64_t dim;
  RankedTensorType type;
  Type element;
};
} // namespace

/// Inputs and init are full tensors or have an element a row.
Value SoftmaxParts::generic(ValueRange inputs, Value init, bool isReduction,
                            Body body) {
  SmallVector<AffineMap> maps;
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  auto addMap = [&](Value tensor) {
    bool isFull =
        cast<RankedTensorType>(tensor.getType()).getRank() == type.getRank();
    maps.push_back(isFull ? all : all.dropResult(dim));
  };
  llvm::for_each(inputs, addMap);
  addMap(init);
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  if (isReduction)
    loops[dim] = utils::IteratorType::reduction;
  auto part = linalg::GenericOp::create(
      b, loc, init.getType(), inputs, init, maps, loops,
      [&](OpBuilder &, Location, ValueRange arguments) {
        linalg::YieldOp::create(b, loc, body(arguments));
      });
  if (Attribute scope = op->getAttr(kScopeAttr))
    part->setAttr(kScopeAttr, scope);
  return part.getResult(0);
}

Value SoftmaxParts::reduceRows(Value input, APFloat start, Body combine) {
  SmallVector<OpFoldResult> sizes;
  for (int64_t other = 0; other < type.getRank(); ++other)
    if (other != dim)
      sizes.push_back(tensor::getMixedSize(b, loc, input, other));
  Value empty = tensor::EmptyOp::create(b, loc, sizes, element);
  Value number =
      arith::ConstantOp::create(b, loc, b.getFloatAttr(element, start));
  Value init = linalg::FillOp::create(b, loc, number, empty).getResult(0);
  return generic(input, init, /*isReduction=*/true, combine);
}

Value SoftmaxParts::write() {
  Value input = op.getInput();
  Value largest = reduceRows(
      input, getNumber(/*isInfinite=*/true), [&](ValueRange v) -> Value {
        return arith::MaximumFOp::create(b, loc, v[0], v[1]);
      });
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, input), element);
  Value powers = generic({input, largest}, empty, /*isReduction=*/false,
                         [&](ValueRange v) -> Value {
                           Value difference =
                               arith::SubFOp::create(b, loc, v[0], v[1]);
                           return math::ExpOp::create(b, loc, difference);
                         });
  Value sums = reduceRows(powers, getNumber(/*isInfinite=*/false),
                          [&](ValueRange v) -> Value {
                            return arith::AddFOp::create(b, loc, v[0], v[1]);
                          });
  return generic({powers, sums}, op.getOutput(), /*isReduction=*/false,
                 [&](ValueRange v) -> Value {
                   return arith::DivFOp::create(b, loc, v[0], v[1]);
                 });
}

namespace {
struct DecomposeSoftmax : OpRewritePattern<linalg::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::SoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "works on buffers");
    rewriter.replaceOp(op, SoftmaxParts(op, rewriter).write());
    return success();
  }
};
} // namespace

namespace mlir::dist {
#define GEN_PASS_DEF_DECOMPOSESOFTMAXPASS
#include "passes/spmd/prepare/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct DecomposeSoftmaxPass
    : mlir::dist::impl::DecomposeSoftmaxPassBase<DecomposeSoftmaxPass> {
  void runOnOperation() override {
    auto isAny = [](linalg::SoftmaxOp) { return WalkResult::interrupt(); };
    if (!getOperation()->walk(isAny).wasInterrupted())
      return markAllAnalysesPreserved();
    RewritePatternSet patterns(&getContext());
    patterns.add<DecomposeSoftmax>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
