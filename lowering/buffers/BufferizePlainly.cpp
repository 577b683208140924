//===- BufferizePlainly.cpp - A buffer for every value --------------------===//
//
// --dist-bufferize-plainly: the bufferization of reference programs. Nothing is
// analyzed, so no analysis can be wrong. All that is written is copied before,
// slices are copied out, and results are copied to the caller's buffers at the
// end.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Overlap.h"
#include "lowering/buffers/Aliases.h"
#include "lowering/buffers/CarriedValues.h"
#include "lowering/buffers/Passes.h"
#include "lowering/buffers/Updates.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTBUFFERIZEPLAINLY
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::bufferization;

/// A slice is a tensor of its own, so that all buffers are dense.
static void copySlices(ModuleOp module) {
  module.walk([](tensor::ExtractSliceOp slice) {
    OpBuilder builder(slice->getContext());
    builder.setInsertionPointAfter(slice);
    auto copy = AllocTensorOp::create(builder, slice.getLoc(), slice.getType(),
                                      ValueRange(), slice.getResult());
    slice.getResult().replaceAllUsesExcept(copy.getResult(), copy);
  });
}

/// Copies new values to the arguments that they update. Those that are in an
/// argument themselves are saved before the first is overwritten.
static void updateArguments(func::ReturnOp terminator, const Updates &updates) {
  auto function = terminator->getParentOfType<func::FuncOp>();
  Location loc = terminator.getLoc();
  OpBuilder builder(terminator);
  SmallVector<std::pair<Value, Value>> copies;
  for (auto [value, argument] :
       llvm::zip_equal(terminator.getOperands(), updates)) {
    if (!argument)
      continue;
    Value from = value;
    if (!getViewRoot(value).getDefiningOp<memref::AllocOp>()) {
      auto type = cast<MemRefType>(value.getType());
      from = memref::AllocOp::create(
          builder, loc,
          MemRefType::get(type.getShape(), type.getElementType()));
      memref::CopyOp::create(builder, loc, value, from);
    }
    copies.emplace_back(from, function.getArgument(*argument));
  }
  for (auto [from, to] : copies)
    memref::CopyOp::create(builder, loc, from, to);
}

/// Copies the returned values to the buffers that the function is given.
static LogicalResult passResults(func::FuncOp function) {
  Updates updates = getUpdates(function);
  FailureOr<func::ReturnOp> found = findResults(function);
  if (failed(found))
    return failure();
  func::ReturnOp terminator = *found;
  OpBuilder builder(terminator);
  SmallVector<Value> values;
  SmallVector<Type> types;
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto type = cast<MemRefType>(operand.get().getType());
    if (updates[operand.getOperandNumber()])
      continue;
    values.push_back(operand.get());
    types.push_back(MemRefType::get(type.getShape(), type.getElementType()));
  }
  unsigned first = function.getNumArguments(), count = types.size();
  if (failed(function.insertArguments(
          SmallVector<unsigned>(count, first), types,
          SmallVector<DictionaryAttr>(count),
          SmallVector<Location>(count, terminator.getLoc()))))
    return failure();
  for (auto [value, place] :
       llvm::zip_equal(values, function.getArguments().drop_front(first)))
    memref::CopyOp::create(builder, terminator.getLoc(), value, place);
  updateArguments(terminator, updates);
  recordResults(function, updates);
  terminator.getOperandsMutable().clear();
  function.removeResAttrsAttr();
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             function.getArgumentTypes(), {}));
  return success();
}

namespace {
struct BufferizePlainly
    : dist::impl::DistBufferizePlainlyBase<BufferizePlainly> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    copySlices(module);
    fixCarriedTypes(module);
    eraseBarriers(module);
    // Each op is a kernel of its own.
    module.walk([](FenceOp fence) { fence.erase(); });
    OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.allowReturnAllocsFromLoops = true;
    options.copyBeforeWrite = true;
    options.setFunctionBoundaryTypeConversion(
        LayoutMapOption::IdentityLayoutMap);
    options.unknownTypeConverterFn = [](TensorType type, Attribute space,
                                        const BufferizationOptions &) {
      return getMemRefTypeWithStaticIdentityLayout(type, space);
    };
    BufferizationState state;
    if (failed(runOneShotModuleBufferize(module, options, state)))
      return signalPassFailure();
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && failed(passResults(function)))
        return signalPassFailure();
  }
};
} // namespace
