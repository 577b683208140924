//===- LinalgModels.cpp - Which linalg ops have which adjoint -------------===//
//
// Structured ops all have the same; transposes and softmax have one of their
// own.
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
    auto structured = cast<linalg::LinalgOp>(op);
    if (addSoftmaxAdjoint(structured, b, adjoints))
      return success();
    return addLinalgAdjoints(structured, b, adjoints);
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

struct SoftmaxModel
    : DifferentiableOpInterface::ExternalModel<SoftmaxModel,
                                               linalg::SoftmaxOp> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    auto softmax = cast<linalg::SoftmaxOp>(op);
    if (!adjoints.isActive(softmax.getInput()))
      return success();
    addSoftmaxAdjoint(b, op->getLoc(), softmax.getInput(), op->getResult(0),
                      softmax.getDimension(), adjoints);
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
