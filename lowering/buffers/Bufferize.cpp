//===- Bufferize.cpp - Tensors become buffers -----------------------------===//
//
// --dist-bufferize: prepares a module for upstream's one-shot bufferization
// and runs it.
//
//===----------------------------------------------------------------------===//

#include "lowering/buffers/Passes.h"
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
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTBUFFERIZE
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::bufferization;

void mlir::dist::registerBufferExtensions(DialectRegistry &registry) {
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

namespace {
/// Which values are parts of other tensors, or may be computed in one. Answers
/// are kept, as chains of ops that are computed in place may be long.
class SliceTrace {
public:
  bool mayLieInSlice(Value value) {
    SmallVector<Value> path;
    bool answer = false;
    while (Operation *op = value.getDefiningOp()) {
      if (auto found = known.find(value); found != known.end()) {
        answer = found->second;
        break;
      }
      path.push_back(value);
      if (isa<tensor::ExtractSliceOp>(op)) {
        answer = true;
        break;
      }
      if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
        value = op->getOperand(0);
      else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
        value = insert.getDest();
      else if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
        value = destination.getTiedOpOperand(cast<OpResult>(value))->get();
      else
        break;
    }
    for (Value passed : path)
      known[passed] = answer;
    return answer;
  }

private:
  DenseMap<Value, bool> known;
};
} // namespace

/// The operand whose place `init` may take: an input of equal type that the op
/// walks over as it does over its result, and that nobody needs afterwards.
static OpOperand *findReusableInput(linalg::LinalgOp op, OpOperand &init,
                                    SliceTrace &slices) {
  AffineMap map = op.getMatchingIndexingMap(&init);
  if (!map.isPermutation())
    return nullptr;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value value = input->get();
    if (value.getType() != init.get().getType() ||
        op.getMatchingIndexingMap(input) != map || !value.getDefiningOp() ||
        value.getDefiningOp<arith::ConstantOp>() ||
        slices.mayLieInSlice(value) || value.getParentBlock() != op->getBlock())
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
  SliceTrace slices;
  function.walk([&](linalg::LinalgOp op) {
    for (OpOperand &init : op.getDpsInitsMutable()) {
      if (!init.get().getDefiningOp<tensor::EmptyOp>() ||
          op.payloadUsesValueFromOperand(&init))
        continue;
      if (OpOperand *input = findReusableInput(op, init, slices))
        init.set(input->get());
    }
  });
}

/// Whether `value` is computed for one user only, who may say where.
static bool canChoosePlace(Value value) {
  while (value.hasOneUse()) {
    Operation *op = value.getDefiningOp();
    if (isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      value = op->getOperand(0);
    else
      return isa_and_present<DestinationStyleOpInterface,
                             tensor::InsertSliceOp>(op);
  }
  return false;
}

/// `value` in a tensor of its own.
static Value copy(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::CopyOp::create(builder, loc, value, empty).getResult(0);
}

/// Results must lie where the caller says, so what else may lie there or read
/// it has to be out of the way before: such results are copied, all of them
/// before the first is in its place.
static void separateResults(func::ReturnOp terminator) {
  OpBuilder builder(terminator);
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (type && type.hasStaticShape() && !canChoosePlace(operand.get()))
      operand.set(copy(builder, terminator.getLoc(), operand.get()));
  }
}

/// A slice that a loop or a branch hands on would give the buffers there a
/// layout that is known at run time only: it is copied.
static void copySlicesHandedOn(func::FuncOp function) {
  SliceTrace slices;
  function.walk([&](Operation *op) {
    if (!isa<scf::ForOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(op))
      return;
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      if (!type || !type.hasStaticShape())
        continue;
      if (slices.mayLieInSlice(operand.get()))
        operand.set(copy(builder, op->getLoc(), operand.get()));
    }
  });
}

/// Adds an argument for each result and materializes the results there. It is
/// a tensor like all others until one-shot analysis has seen what aliases it.
static LogicalResult passDestinations(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("entry function has ")
           << function.getBody().getBlocks().size()
           << " blocks; only structured control flow can be lowered";
  auto terminator =
      cast<func::ReturnOp>(function.getBody().front().getTerminator());
  Location loc = terminator.getLoc();
  OpBuilder builder(terminator);
  auto setWritable = [&](unsigned argument, bool isWritable) {
    function.setArgAttr(argument, BufferizationDialect::kWritableAttrName,
                        builder.getBoolAttr(isWritable));
  };
  for (unsigned i = 0, end = function.getNumArguments(); i < end; ++i)
    setWritable(i, false);
  separateResults(terminator);
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || !type.hasStaticShape())
      return function.emitOpError("result #")
             << operand.getOperandNumber() << " has type "
             << operand.get().getType()
             << "; results must be tensors of static shape";
    unsigned position = function.getNumArguments();
    if (failed(function.insertArgument(position, type, DictionaryAttr(), loc)))
      return failure();
    setWritable(position, true);
    operand.set(MaterializeInDestinationOp::create(
                    builder, loc, operand.get(), function.getArgument(position))
                    .getResult());
  }
  function->getParentOfType<ModuleOp>()->setAttr(
      kNumResultsAttr, builder.getI64IntegerAttr(terminator.getNumOperands()));
  function.removeResAttrsAttr();
  return success();
}

/// Results lie in the arguments made for them: nothing is returned any more.
static LogicalResult dropResults(func::FuncOp function) {
  auto terminator =
      cast<func::ReturnOp>(function.getBody().front().getTerminator());
  unsigned first = function.getNumArguments() - terminator.getNumOperands();
  for (auto [index, value] : llvm::enumerate(terminator.getOperands()))
    if (value != function.getArgument(first + index))
      return function.emitOpError("result #")
             << index << " does not lie in the buffer that is passed for it";
  terminator.getOperandsMutable().clear();
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             function.getArgumentTypes(), {}));
  return success();
}

namespace {
struct Bufferize : dist::impl::DistBufferizeBase<Bufferize> {
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
    for (func::FuncOp function : module.getOps<func::FuncOp>()) {
      copySlicesHandedOn(function);
      reuseInputs(function);
    }
    BufferizationState state;
    if (failed(runOneShotModuleBufferize(module, options, state)))
      return signalPassFailure();
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && failed(dropResults(function)))
        return signalPassFailure();
  }
};
} // namespace
