//===- AttentionModel.cpp - Bufferization of attention --------------------===//

#include "dialects/dist/IR/Attention.h"
#include "lowering/buffers/Passes.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mlir::dist;

namespace {
/// Buffers of any layout; results overwrite the destinations.
template <typename OpTy>
struct AttentionModel
    : DstBufferizableOpInterfaceExternalModel<AttentionModel<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<OpTy>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    size_t numInits = cast<OpTy>(op).getInits().size();
    OperationState onBuffers(op->getLoc(), op->getName());
    onBuffers.addOperands(buffers);
    onBuffers.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
    onBuffers.propertiesAttr = op->getPropertiesAsAttribute();
    for (Region &region : op->getRegions())
      onBuffers.addRegion()->takeBody(region);
    rewriter.create(onBuffers);
    replaceOpWithBufferizedValues(rewriter, op,
                                  ArrayRef(buffers).take_back(numInits));
    return success();
  }
};
} // namespace

void mlir::dist::registerAttentionModel(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DistDialect *) {
    AttentionOp::attachInterface<AttentionModel<AttentionOp>>(*context);
    AttentionAdjointOp::attachInterface<AttentionModel<AttentionAdjointOp>>(
        *context);
  });
}
