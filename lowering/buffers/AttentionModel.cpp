//===- AttentionModel.cpp - Bufferization of attention --------------------===//

#include "dialects/dist/IR/Attention.h"
#include "lowering/buffers/Passes.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using mlir::dist::AttentionOp;

namespace {
/// Buffers of any layout; results overwrite what was there.
struct AttentionModel
    : DstBufferizableOpInterfaceExternalModel<AttentionModel, AttentionOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<AttentionOp>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto attention = cast<AttentionOp>(op);
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    size_t numInits = attention.getInits().size();
    ArrayRef<Value> all = buffers;
    auto onBuffers = AttentionOp::create(
        rewriter, op->getLoc(), TypeRange(), all[0], all[1], all[2],
        all.drop_front(3).drop_back(numInits), all.take_back(numInits),
        attention.getIndexingMaps(), attention.getNanIsZero(),
        attention.getWindowAttr());
    onBuffers->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(attention.getBody(), onBuffers.getBody(),
                                onBuffers.getBody().end());
    replaceOpWithBufferizedValues(rewriter, op, all.take_back(numInits));
    return success();
  }
};
} // namespace

void mlir::dist::registerAttentionModel(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DistDialect *) {
    AttentionOp::attachInterface<AttentionModel>(*context);
  });
}
