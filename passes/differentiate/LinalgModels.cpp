//===- LinalgModels.cpp - Which linalg ops have which adjoint -------------===//
//
// Structured ops all have the same; two are clearer with one of their own.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "passes/differentiate/Models.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
template <typename OpTy>
struct LinalgModel
    : DifferentiableOpInterface::ExternalModel<LinalgModel<OpTy>, OpTy> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    return addLinalgAdjoints(cast<linalg::LinalgOp>(op), b, adjoints);
  }
};

/// The inverse permutation.
struct TransposeModel
    : DifferentiableOpInterface::ExternalModel<TransposeModel,
                                               linalg::TransposeOp> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    auto transpose = cast<linalg::TransposeOp>(op);
    Value input = transpose.getInput();
    if (!adjoints.isActive(input))
      return success();
    Location loc = op->getLoc();
    auto type = cast<RankedTensorType>(input.getType());
    Value empty = tensor::EmptyOp::create(
        b, loc, tensor::getMixedSizes(b, loc, input), type.getElementType());
    auto made = linalg::TransposeOp::create(
        b, loc, adjoints.lookup(op->getResult(0)), empty,
        invertPermutationVector(transpose.getPermutation()));
    adjoints.add(b, loc, input, made->getResult(0));
    return success();
  }
};

/// y (h - sum of h y) along the rows, of y alone.
struct SoftmaxModel
    : DifferentiableOpInterface::ExternalModel<SoftmaxModel,
                                               linalg::SoftmaxOp> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    auto softmax = cast<linalg::SoftmaxOp>(op);
    if (!adjoints.isActive(softmax.getInput()))
      return success();
    Location loc = op->getLoc();
    Value y = op->getResult(0), cotangent = adjoints.lookup(y);
    auto type = cast<RankedTensorType>(y.getType());
    int64_t row = softmax.getDimension();
    AffineMap all = b.getMultiDimIdentityMap(type.getRank());
    AffineMap rows = all.dropResult(row);
    SmallVector<utils::IteratorType> loops(type.getRank(),
                                           utils::IteratorType::parallel);
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, y);
    Value like = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
    sizes.erase(sizes.begin() + row);
    Value zero =
        arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
    Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
    Value sums = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
    auto reduced = loops;
    reduced[row] = utils::IteratorType::reduction;
    sums = linalg::GenericOp::create(
               b, loc, sums.getType(), ValueRange{cotangent, y}, sums,
               ArrayRef<AffineMap>{all, all, rows}, reduced,
               [](OpBuilder &b, Location loc, ValueRange args) {
                 Value product =
                     arith::MulFOp::create(b, loc, args[0], args[1]);
                 Value sum = arith::AddFOp::create(b, loc, args[2], product);
                 linalg::YieldOp::create(b, loc, sum);
               })
               .getResult(0);
    auto made = linalg::GenericOp::create(
        b, loc, type, ValueRange{cotangent, y, sums}, like,
        ArrayRef<AffineMap>{all, all, rows, all}, loops,
        [](OpBuilder &b, Location loc, ValueRange args) {
          Value less = arith::SubFOp::create(b, loc, args[0], args[2]);
          Value product = arith::MulFOp::create(b, loc, args[1], less);
          linalg::YieldOp::create(b, loc, product);
        });
    adjoints.add(b, loc, softmax.getInput(), made.getResult(0));
    return success();
  }
};

template <typename... Ops> struct Models {
  static void attach(MLIRContext *context) {
    (attachIfLinalg<Ops>(context), ...);
  }
  template <typename OpTy> static void attachIfLinalg(MLIRContext *context) {
    if constexpr (std::is_same_v<OpTy, linalg::TransposeOp>)
      OpTy::template attachInterface<TransposeModel>(*context);
    else if constexpr (OpTy::template hasTrait<linalg::LinalgOp::Trait>())
      OpTy::template attachInterface<LinalgModel<OpTy>>(*context);
  }
};
} // namespace

void mlir::dist::registerLinalgAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    Models<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
        >::attach(context);
    linalg::SoftmaxOp::attachInterface<SoftmaxModel>(*context);
  });
}
