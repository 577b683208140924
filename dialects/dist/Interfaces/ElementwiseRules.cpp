//===- ElementwiseRules.cpp - arith and math ops on whole tensors ---------===//

#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
template <typename OpTy>
struct ElementwiseModel
    : ShardingRuleOpInterface::ExternalModel<ElementwiseModel<OpTy>, OpTy> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(op->getNumResults());
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type)
      return rule;
    TensorRule tensor;
    for (int64_t size : type.getShape())
      tensor.dims.push_back({rule.addFactor(size)});
    for (auto [operand, operandRule] :
         llvm::zip_equal(op->getOperands(), rule.operands))
      if (isa<RankedTensorType>(operand.getType()))
        operandRule = tensor;
    rule.results.assign(op->getNumResults(), tensor);
    return rule;
  }

  PartialResult getPartialResult(Operation *op, ArrayRef<bool> partial,
                                 ReductionKind kind) const {
    SmallVector<Dependence, 4> operands;
    for (bool flag : partial)
      operands.push_back(flag ? Dependence::Commutes : Dependence::None);
    return propagateDependence(op, operands, kind) == Dependence::Commutes
               ? PartialResult::Partial
               : PartialResult::Illegal;
  }

  LogicalResult makeLocal(Operation *op, OpBuilder &builder,
                          const LocalView &view) const {
    forEachUnsafeOperand(op, [&](OpOperand &operand, int64_t safe) {
      unsigned number = operand.getOperandNumber();
      auto whole = dyn_cast<RankedTensorType>(view.operandTypes[number]);
      if (!whole || !view.operands[number])
        return;
      builder.setInsertionPoint(op);
      operand.set(fillPadding(
          builder, op->getLoc(), view.layout, operand.get(),
          view.operands[number], whole.getShape(),
          llvm::to_vector(llvm::seq<int64_t>(whole.getRank())), safe));
    });
    return setLocalResultTypes(op, view);
  }
};

template <typename... Ops> struct Models {
  static void attach(MLIRContext *context) {
    (attachIfElementwise<Ops>(context), ...);
  }
  template <typename OpTy>
  static void attachIfElementwise(MLIRContext *context) {
    if constexpr (OpTy::template hasTrait<OpTrait::Elementwise>())
      OpTy::template attachInterface<ElementwiseModel<OpTy>>(*context);
  }
};
} // namespace

void mlir::dist::registerElementwiseRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    Models<
#define GET_OP_LIST
#include "mlir/Dialect/Arith/IR/ArithOps.cpp.inc"
        >::attach(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    Models<
#define GET_OP_LIST
#include "mlir/Dialect/Math/IR/MathOps.cpp.inc"
        >::attach(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::BitcastOp::attachInterface<ElementwiseModel<tensor::BitcastOp>>(
        *context);
  });
}
