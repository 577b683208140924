//===- Bufferize.cpp - Tensors become buffers
//-------------------------------===//
//
// --dist-cpu-bufferize: prepares a module for upstream's one-shot bufferization
// and runs it.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/ControlFlow/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCPUBUFFERIZE
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::bufferization;

void mlir::dist::registerLowerCpuExtensions(DialectRegistry &registry) {
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  cf::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
  func_ext::registerBufferizableOpInterfaceExternalModels(registry);
  rt::registerBufferizationModels(registry);
}

/// Destinations that several ops share would be copied for all but one of them:
/// each gets its own.
static void unshareDestinations(func::FuncOp function) {
  SmallVector<Operation *> sources;
  function.walk([&](Operation *op) {
    if (isa<tensor::EmptyOp, linalg::FillOp>(op) && op->getNumResults() == 1)
      sources.push_back(op);
  });
  OpBuilder builder(function.getContext());
  // A fill comes after its empty tensor: from the last to the first.
  for (Operation *op : llvm::reverse(sources)) {
    bool first = true;
    for (OpOperand &use :
         llvm::make_early_inc_range(op->getResult(0).getUses())) {
      if (std::exchange(first, false))
        continue;
      builder.setInsertionPoint(use.getOwner());
      use.set(builder.clone(*op)->getResult(0));
    }
  }
  // Clones of fills share the empty tensor in turn.
  sources.clear();
  function.walk([&](tensor::EmptyOp op) { sources.push_back(op); });
  for (Operation *op : sources) {
    bool first = true;
    for (OpOperand &use :
         llvm::make_early_inc_range(op->getResult(0).getUses())) {
      if (std::exchange(first, false))
        continue;
      builder.setInsertionPoint(use.getOwner());
      use.set(builder.clone(*op)->getResult(0));
    }
  }
}

/// The operand whose place `init` may take: an input of equal type that the op
/// walks over as it does over its result, and that nobody needs afterwards.
static OpOperand *findReusableInput(linalg::LinalgOp op, OpOperand &init) {
  AffineMap map = op.getMatchingIndexingMap(&init);
  if (!map.isPermutation())
    return nullptr;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value value = input->get();
    if (value.getType() != init.get().getType() ||
        op.getMatchingIndexingMap(input) != map || !value.getDefiningOp() ||
        value.getDefiningOp<arith::ConstantOp>() ||
        value.getParentBlock() != op->getBlock())
      continue;
    if (llvm::all_of(value.getUsers(), [&](Operation *user) {
          Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
          return here == op || here->isBeforeInBlock(op);
        }))
      return input;
  }
  return nullptr;
}

/// Lets ops write their result over an input that is not needed any more, where
/// they would get new memory. Whether that holds with all aliases, one-shot
/// analysis decides.
static void reuseInputs(func::FuncOp function) {
  function.walk([](linalg::LinalgOp op) {
    for (OpOperand &init : op.getDpsInitsMutable()) {
      if (!init.get().getDefiningOp<tensor::EmptyOp>() ||
          op.payloadUsesValueFromOperand(&init))
        continue;
      if (OpOperand *input = findReusableInput(op, init))
        init.set(input->get());
    }
  });
}

/// The empty tensor in whose place `value` is computed, if there is one.
static tensor::EmptyOp findDestination(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto empty = dyn_cast<tensor::EmptyOp>(op))
      return empty;
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      value = insert.getDest();
    else if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
      value = destination.getTiedOpOperand(cast<OpResult>(value))->get();
    else if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
      value = loop.getTiedLoopInit(cast<OpResult>(value))->get();
    else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
                 tensor::ExtractSliceOp>(op))
      value = op->getOperand(0);
    else
      break;
  }
  return nullptr;
}

/// Results that begin as one (two concatenations with equal first parts) would
/// be computed in one buffer: all but the first get a copy.
static void separateResults(func::ReturnOp terminator) {
  llvm::SmallDenseMap<Operation *, Value> taken;
  OpBuilder builder(terminator);
  for (OpOperand &operand : terminator->getOpOperands()) {
    Value value = operand.get();
    tensor::EmptyOp destination = findDestination(value);
    if (!destination ||
        taken.try_emplace(destination, value).first->second == value)
      continue;
    operand.set(AllocTensorOp::create(
        builder, terminator.getLoc(), cast<RankedTensorType>(value.getType()),
        /*dynamicSizes=*/ValueRange(), /*copy=*/value));
  }
}

/// Adds a buffer argument for each result and writes the results there.
static LogicalResult passDestinations(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("entry function has ")
           << function.getBody().getBlocks().size()
           << " blocks; only structured control flow can be lowered";
  auto terminator =
      cast<func::ReturnOp>(function.getBody().front().getTerminator());
  separateResults(terminator);
  Location loc = terminator.getLoc();
  OpBuilder builder(terminator);
  for (unsigned i = 0, end = function.getNumArguments(); i < end; ++i)
    function.setArgAttr(i, BufferizationDialect::kWritableAttrName,
                        builder.getBoolAttr(false));
  for (auto [index, value] : llvm::enumerate(terminator.getOperands())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !type.hasStaticShape())
      return function.emitOpError("result #")
             << index << " has type " << value.getType()
             << "; results must be tensors of static shape";
    auto buffer = MemRefType::get(type.getShape(), type.getElementType());
    unsigned position = function.getNumArguments();
    if (failed(
            function.insertArgument(position, buffer, DictionaryAttr(), loc)))
      return failure();
    MaterializeInDestinationOp::create(builder, loc, /*result=*/Type(), value,
                                       function.getArgument(position),
                                       /*restrict=*/true, /*writable=*/true);
  }
  function->getParentOfType<ModuleOp>()->setAttr(
      kNumResultsAttr, builder.getI64IntegerAttr(terminator.getNumOperands()));
  func::ReturnOp::create(builder, loc);
  terminator.erase();
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), {}));
  function.removeResAttrsAttr();
  return success();
}

namespace {
struct Bufferize : dist::impl::DistCpuBufferizeBase<Bufferize> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    IRRewriter rewriter(&getContext());
    for (func::FuncOp function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      unshareDestinations(function);
      if (failed(passDestinations(function)))
        return signalPassFailure();
    }
    OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.allowReturnAllocsFromLoops = true;
    options.setFunctionBoundaryTypeConversion(
        LayoutMapOption::IdentityLayoutMap);
    options.unknownTypeConverterFn = [](TensorType type, Attribute space,
                                        const BufferizationOptions &) {
      return getMemRefTypeWithStaticIdentityLayout(type, space);
    };
    if (failed(eliminateEmptyTensors(rewriter, module)))
      return signalPassFailure();
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      reuseInputs(function);
    BufferizationState state;
    if (failed(runOneShotModuleBufferize(module, options, state)))
      return signalPassFailure();
  }
};
} // namespace
