//===- BufferizationModels.cpp - Bufferization of runtime calls -----------===//
//
// Runtime calls read and write contiguous buffers: an operand with another
// layout goes through a copy. So does a part of another buffer that would be in
// flight, as kernels that touch other parts are given all of that buffer.
//
//===----------------------------------------------------------------------===//

#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

using namespace mlir;
using namespace mlir::bufferization;

static bool isContiguous(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
}

/// Whether its elements are contiguous, perhaps within another buffer.
static bool isContiguousPart(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t offset;
  SmallVector<int64_t> strides;
  return type.hasStaticShape() &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) &&
         type.areTrailingDimsContiguous(type.getRank());
}

/// New memory of the size of a buffer.
static FailureOr<Value> makeContiguous(Value buffer, Location loc,
                                       RewriterBase &rewriter,
                                       const BufferizationOptions &options) {
  auto type = cast<MemRefType>(buffer.getType());
  return options.createAlloc(
      rewriter, loc, MemRefType::get(type.getShape(), type.getElementType()),
      {});
}

/// The buffer of a tensor that is read, or a copy of it.
static FailureOr<Value> getContiguous(Value tensor, Location loc,
                                      RewriterBase &rewriter,
                                      const BufferizationOptions &options,
                                      BufferizationState &state,
                                      bool mayBePart = false) {
  FailureOr<Value> buffer = getBuffer(rewriter, tensor, options, state);
  if (failed(buffer) || isContiguous(*buffer) ||
      (mayBePart && isContiguousPart(*buffer)))
    return buffer;
  FailureOr<Value> copy = makeContiguous(*buffer, loc, rewriter, options);
  if (failed(copy) ||
      failed(options.createMemCpy(rewriter, loc, *buffer, *copy)))
    return failure();
  return copy;
}

/// Those of all operands.
static FailureOr<SmallVector<Value>>
getBuffers(Operation *op, RewriterBase &rewriter,
           const BufferizationOptions &options, BufferizationState &state) {
  SmallVector<Value> buffers;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  return buffers;
}

namespace {

template <typename Op>
struct CollectiveModel
    : DstBufferizableOpInterfaceExternalModel<CollectiveModel<Op>, Op> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto collective = cast<Op>(op);
    Location loc = op->getLoc();
    Value token = collective.getToken();
    FailureOr<Value> input =
        getContiguous(collective.getInput(), loc, rewriter, options, state,
                      /*mayBePart=*/!token);
    FailureOr<Value> init =
        getBuffer(rewriter, collective.getInit(), options, state);
    if (failed(input) || failed(init))
      return failure();
    Value from = *input, to = *init;
    if (!isContiguous(to) && (token || !isContiguousPart(to))) {
      FailureOr<Value> temporary = makeContiguous(to, loc, rewriter, options);
      if (failed(temporary))
        return failure();
      to = *temporary;
    }
    SmallVector<Value> operands(op->getOperands()); // perhaps a plan first
    operands[collective.getInputMutable().getOperandNumber()] = from;
    operands[collective.getInitMutable().getOperandNumber()] = to;
    Operation *call =
        clone(rewriter, op, token ? TypeRange(token.getType()) : TypeRange(),
              operands);
    if (token) {
      replaceOpWithBufferizedValues(rewriter, op, {*init, call->getResult(0)});
      return success();
    }
    if (to != *init && failed(options.createMemCpy(rewriter, loc, to, *init)))
      return failure();
    replaceOpWithBufferizedValues(rewriter, op, *init);
    return success();
  }
};

struct PlanRowsModel
    : BufferizableOpInterface::ExternalModel<PlanRowsModel, rt::PlanRowsOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto plan = cast<rt::PlanRowsOp>(op);
    FailureOr<Value> indices = getContiguous(plan.getIndices(), op->getLoc(),
                                             rewriter, options, state);
    if (failed(indices))
      return failure();
    Operation *made = clone(rewriter, op, op->getResultTypes(), *indices);
    rewriter.replaceOp(op, made->getResults());
    return success();
  }
};

struct WaitModel
    : DstBufferizableOpInterfaceExternalModel<WaitModel, rt::WaitOp> {
  /// The destination, too: the result of the start stays.
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }

  /// The data has not arrived yet, so this must not be copied.
  bool mustBufferizeInPlace(Operation *op, OpOperand &operand,
                            const AnalysisState &) const {
    return cast<rt::WaitOp>(op).isDpsInit(&operand);
  }

  /// In flight are the buffers of the start, which may be contiguous copies of
  /// the tensors' buffers.
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto wait = cast<rt::WaitOp>(op);
    FailureOr<Value> init = getBuffer(rewriter, wait.getInit(), options, state);
    if (failed(init))
      return failure();
    rt::CollectiveOpInterface start = wait.getStart();
    Value to = start.getReceived();
    rt::WaitOp::create(rewriter, op->getLoc(), Type(), wait.getToken(),
                       start.getSent(), to);
    if (to != *init &&
        failed(options.createMemCpy(rewriter, op->getLoc(), to, *init)))
      return failure();
    replaceOpWithBufferizedValues(rewriter, op, *init);
    return success();
  }
};

/// Its buffers may have any strides.
struct ScatterModel
    : DstBufferizableOpInterfaceExternalModel<ScatterModel, rt::ScatterOp> {
  /// The destination, too: what no slice goes to stays.
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    FailureOr<SmallVector<Value>> buffers =
        getBuffers(op, rewriter, options, state);
    if (failed(buffers))
      return failure();
    clone(rewriter, op, TypeRange(), *buffers);
    replaceOpWithBufferizedValues(rewriter, op, buffers->back());
    return success();
  }
};

/// Its buffers may have any strides, except the bias.
struct ConvolveModel
    : DstBufferizableOpInterfaceExternalModel<ConvolveModel, rt::ConvolveOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    auto convolve = cast<rt::ConvolveOp>(op);
    return !convolve.isDpsInit(&operand) || convolve.getAccumulate();
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    FailureOr<SmallVector<Value>> buffers =
        getBuffers(op, rewriter, options, state);
    if (failed(buffers))
      return failure();
    auto convolve = cast<rt::ConvolveOp>(op);
    if (convolve.getBias()) {
      Value &bias = (*buffers)[2];
      auto type = cast<MemRefType>(bias.getType());
      if (!type.getLayout().isIdentity()) {
        FailureOr<Value> copy = options.createAlloc(
            rewriter, op->getLoc(),
            MemRefType::get(type.getShape(), type.getElementType()), {});
        if (failed(copy) ||
            failed(options.createMemCpy(rewriter, op->getLoc(), bias, *copy)))
          return failure();
        bias = *copy;
      }
    }
    clone(rewriter, op, TypeRange(), *buffers);
    replaceOpWithBufferizedValues(rewriter, op, buffers->back());
    return success();
  }
};

} // namespace

template <typename... Ops> static void attachModels(MLIRContext *context) {
  (Ops::template attachInterface<CollectiveModel<Ops>>(*context), ...);
}

void mlir::rt::registerBufferizationModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RtDialect *) {
    attachModels<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp,
                 BroadcastOp, CollectivePermuteOp, HaloExchangeOp, HaloReduceOp,
                 GatherRowsOp, ReduceRowsOp>(context);
    PlanRowsOp::attachInterface<PlanRowsModel>(*context);
    WaitOp::attachInterface<WaitModel>(*context);
    rt::ScatterOp::attachInterface<ScatterModel>(*context);
    rt::ConvolveOp::attachInterface<ConvolveModel>(*context);
    context->loadDialect<memref::MemRefDialect>();
  });
}
