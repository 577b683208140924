//===- BufferizationModels.cpp - Bufferization of runtime calls -----------===//
//
// Runtime calls read and write contiguous buffers: an operand with another
// layout goes through a copy.
//
//===----------------------------------------------------------------------===//

#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace {

struct CollectiveModel
    : DstBufferizableOpInterfaceExternalModel<CollectiveModel,
                                              rt::CollectiveOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto collective = cast<rt::CollectiveOp>(op);
    Location loc = op->getLoc();
    FailureOr<Value> input =
        getBuffer(rewriter, collective.getInput(), options, state);
    FailureOr<Value> init =
        getBuffer(rewriter, collective.getInit(), options, state);
    if (failed(input) || failed(init))
      return failure();
    auto isContiguous = [](Value buffer) {
      return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
    };
    auto makeContiguous = [&](Value buffer) -> FailureOr<Value> {
      auto type = cast<MemRefType>(buffer.getType());
      return options.createAlloc(
          rewriter, loc,
          MemRefType::get(type.getShape(), type.getElementType()), {});
    };
    Value from = *input, to = *init;
    if (!isContiguous(from)) {
      FailureOr<Value> copy = makeContiguous(from);
      if (failed(copy) ||
          failed(options.createMemCpy(rewriter, loc, from, *copy)))
        return failure();
      from = *copy;
    }
    if (!isContiguous(to)) {
      FailureOr<Value> temporary = makeContiguous(to);
      if (failed(temporary))
        return failure();
      to = *temporary;
    }
    auto call = rt::CollectiveOp::create(
        rewriter, loc, TypeRange{}, collective.getKindAttr(),
        collective.getCommAttr(), collective.getSiteAttr(),
        collective.getReductionAttr(), collective.getParamsAttr(), from, to);
    call->setDiscardableAttrs(collective->getDiscardableAttrDictionary());
    if (to != *init && failed(options.createMemCpy(rewriter, loc, to, *init)))
      return failure();
    replaceOpWithBufferizedValues(rewriter, op, *init);
    return success();
  }
};

} // namespace

void mlir::rt::registerBufferizationModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RtDialect *) {
    CollectiveOp::attachInterface<CollectiveModel>(*context);
    context->loadDialect<memref::MemRefDialect>();
  });
}
