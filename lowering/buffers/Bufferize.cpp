//===- Bufferize.cpp - Tensors become buffers -----------------------------===//
//
// --dist-bufferize: prepares a module for upstream's one-shot bufferization and
// runs it, with our own decisions on what is done in place (InPlace.h).
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "lowering/bounds/Bounds.h"
#include "lowering/buffers/CarriedValues.h"
#include "lowering/buffers/InPlace.h"
#include "lowering/buffers/Passes.h"
#include "lowering/buffers/Updates.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Arith/Transforms/BufferViewFlowOpInterfaceImpl.h"
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
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTBUFFERIZE
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::bufferization;

void mlir::dist::registerBufferExtensions(DialectRegistry &registry) {
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  arith::registerBufferViewFlowOpInterfaceExternalModels(registry);
  cf::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  registerLoopAliases(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
  func_ext::registerBufferizableOpInterfaceExternalModels(registry);
  rt::registerBufferizationModels(registry);
  registerAttentionModel(registry);
}

/// A destination's contents may not matter: such a value only gives its shape.
/// It is replaced, so that it does not influence where results are.
static void dropUnreadDestinations(func::FuncOp function) {
  SmallVector<Operation *> unread;
  function.walk([&](linalg::LinalgOp op) {
    OpBuilder builder(op);
    for (OpOperand &init : op.getDpsInitsMutable()) {
      auto type = dyn_cast<RankedTensorType>(init.get().getType());
      Operation *source = init.get().getDefiningOp();
      if (!type || !type.hasStaticShape() ||
          !isa_and_present<DestinationStyleOpInterface>(source) ||
          op.payloadUsesValueFromOperand(&init))
        continue;
      init.set(tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                       type.getElementType()));
      unread.push_back(source);
    }
  });
  // From the last to the first: each is visited after its users.
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (Operation *op : llvm::reverse(unread))
    if (seen.insert(op).second && isOpTriviallyDead(op))
      op->erase();
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
  auto unshare = [&](Operation *op) {
    bool first = true;
    for (OpOperand &use :
         llvm::make_early_inc_range(op->getResult(0).getUses())) {
      if (std::exchange(first, false))
        continue;
      builder.setInsertionPoint(use.getOwner());
      use.set(builder.clone(*op)->getResult(0));
    }
  };
  // A fill comes after its empty tensor: from the last to the first.
  llvm::for_each(llvm::reverse(sources), unshare);
  // Clones of fills share the empty tensor in turn.
  sources.clear();
  function.walk([&](tensor::EmptyOp op) { sources.push_back(op); });
  llvm::for_each(sources, unshare);
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

namespace {
/// The last op of a value's own block that uses it, also within a region.
class LastUsers {
public:
  Operation *of(Value value) {
    auto [found, isNew] = known.try_emplace(value, nullptr);
    if (!isNew)
      return found->second;
    Operation *last = nullptr;
    for (Operation *user : value.getUsers()) {
      Operation *here = value.getParentBlock()->findAncestorOpInBlock(*user);
      if (!last || last->isBeforeInBlock(here))
        last = here;
    }
    return found->second = last;
  }

private:
  DenseMap<Value, Operation *> known;
};
} // namespace

/// The operand whose place `init` may take: an input of equal type that the op
/// walks over as it does over its result, and that nobody needs afterwards.
static OpOperand *findReusableInput(linalg::LinalgOp op, OpOperand &init,
                                    SliceTrace &slices, LastUsers &users) {
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
    // Replacing the value here is not a further use of it.
    if (users.of(value) == op)
      return input;
  }
  return nullptr;
}

/// Lets ops write their result over an input that has no later use, instead of
/// getting new memory. One-shot analysis decides whether all aliases allow
/// that.
static void reuseInputs(func::FuncOp function) {
  SliceTrace slices;
  LastUsers users;
  function.walk([&](linalg::LinalgOp op) {
    for (OpOperand &init : op.getDpsInitsMutable()) {
      if (!init.get().getDefiningOp<tensor::EmptyOp>() ||
          op.payloadUsesValueFromOperand(&init))
        continue;
      if (OpOperand *input = findReusableInput(op, init, slices, users))
        init.set(input->get());
    }
  });
}

/// Whether `value` is computed for one user only, which may choose the memory.
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

/// The op that creates the tensor in which `value` is computed; null if that is
/// an argument.
static Operation *findOrigin(Value value) {
  Operation *op = value.getDefiningOp();
  while (auto destination =
             dyn_cast_if_present<DestinationStyleOpInterface>(op)) {
    Value init = destination.getTiedOpOperand(cast<OpResult>(value))->get();
    if (!init.getDefiningOp() || !init.hasOneUse())
      break;
    value = init;
    op = init.getDefiningOp();
  }
  return op;
}

/// Results must be written to the caller's buffers. Other values that may be
/// there, or that read them, are copied first: all of them before the first
/// result is in its place. The new value of an argument may be that argument,
/// unchanged.
static void separateResults(func::ReturnOp terminator, const Updates &updates) {
  auto function = terminator->getParentOfType<func::FuncOp>();
  OpBuilder builder(terminator);
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    std::optional<unsigned> updated = updates[operand.getOperandNumber()];
    bool isThere = updated && operand.get() == function.getArgument(*updated);
    if (!type || !type.hasStaticShape() || isThere ||
        canChoosePlace(operand.get()))
      continue;
    Value copied = copy(builder, terminator.getLoc(), operand.get());
    // Upstream moves the copy's tensor to a position where it may replace the
    // value, and renumbers the block's ops for each.
    if (Operation *origin = findOrigin(operand.get()))
      findOrigin(copied)->moveBefore(origin);
    operand.set(copied);
  }
}

/// A slice that a loop, a branch or a selection hands on would give the buffers
/// there a layout that is known at run time only: it is copied.
static void copySlicesHandedOn(func::FuncOp function) {
  SliceTrace slices;
  function.walk([&](Operation *op) {
    if (!isa<arith::SelectOp, scf::ForOp, scf::WhileOp, scf::YieldOp,
             scf::ConditionOp>(op))
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

static LogicalResult checkSizes(func::FuncOp function) {
  auto isTooLarge = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return false;
    int64_t bytes = getElementBytes(tensor.getElementType());
    for (int64_t size : tensor.getShape())
      if (llvm::MulOverflow(bytes, size, bytes) || bytes > kMostTensorBytes)
        return !llvm::is_contained(tensor.getShape(), 0);
    return false;
  };
  for (Type type : function.getArgumentTypes())
    if (isTooLarge(type))
      return function.emitOpError()
             << "has an argument of type " << type
             << ", which is larger than what a processor can address";
  WalkResult result = function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (isTooLarge(type)) {
        op->emitOpError() << "has a result of type " << type
                          << ", which is larger than what a processor can "
                             "address; shard it, or compute it in parts";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Marks the arguments, of which those from `first` on were added for results:
/// which may be written to, and which are the same memory.
static void markWritable(func::FuncOp function, unsigned first,
                         const Updates &updates) {
  Builder builder(function.getContext());
  llvm::BitVector updated(first);
  for (std::optional<unsigned> argument : updates)
    if (argument)
      updated.set(*argument);
  updateArgAttrs(function, [&](unsigned number, NamedAttrList &list) {
    bool isPlace = number >= first;
    list.set(BufferizationDialect::kWritableAttrName,
             builder.getBoolAttr(isPlace || updated.test(number)));
    if (isPlace && updates[number - first])
      list.set(kSameMemoryAttr,
               builder.getI64IntegerAttr(*updates[number - first]));
  });
}

namespace {
/// A result that is computed in another shape of the same elements than it is
/// returned in: the memory for it is seen in the shapes between, in this order.
struct ReshapedResult {
  struct Step {
    RankedTensorType type;
    SmallVector<ReassociationIndices> dims;
  };
  Type type;
  SmallVector<Step> steps;
};
} // namespace

/// Results are computed in their final memory, in the shape that they are
/// computed in: reshapes of them become views of that memory.
static SmallVector<ReshapedResult> reshapeResults(func::ReturnOp terminator,
                                                  const Updates &updates) {
  SmallVector<ReshapedResult> results;
  for (OpOperand &operand : terminator->getOpOperands()) {
    ReshapedResult &result = results.emplace_back();
    result.type = operand.get().getType();
    // New values of arguments have their shape.
    while (!updates[operand.getOperandNumber()] && operand.get().hasOneUse()) {
      Operation *op = operand.get().getDefiningOp();
      ReshapedResult::Step step;
      if (auto expand = dyn_cast_if_present<tensor::ExpandShapeOp>(op)) {
        step = {expand.getSrcType(), expand.getReassociationIndices()};
      } else if (auto collapse =
                     dyn_cast_if_present<tensor::CollapseShapeOp>(op)) {
        step = {collapse.getSrcType(), collapse.getReassociationIndices()};
      } else {
        break;
      }
      if (!step.type.hasStaticShape())
        break;
      operand.set(op->getOperand(0));
      op->erase();
      result.steps.push_back(std::move(step));
    }
  }
  return results;
}

/// Gives the memory for results the shapes that they are returned in.
static void reshapeDestinations(func::FuncOp function, const Updates &updates,
                                ArrayRef<ReshapedResult> results) {
  Block &body = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  unsigned next =
      function.getNumArguments() - llvm::count(updates, std::nullopt);
  for (auto [index, result] : llvm::enumerate(results)) {
    if (updates[index])
      continue;
    BlockArgument place = body.getArgument(next++);
    if (result.steps.empty())
      continue;
    Value view = place;
    Operation *start = nullptr;
    auto last = cast<MemRefType>(place.getType());
    auto returned = cast<RankedTensorType>(result.type);
    place.setType(
        MemRefType::get(returned.getShape(), returned.getElementType(),
                        MemRefLayoutAttrInterface(), last.getMemorySpace()));
    for (const ReshapedResult::Step &step : result.steps) {
      auto from = cast<MemRefType>(view.getType());
      auto to =
          MemRefType::get(step.type.getShape(), from.getElementType(),
                          MemRefLayoutAttrInterface(), from.getMemorySpace());
      Location loc = function.getLoc();
      view =
          to.getRank() > from.getRank()
              ? memref::ExpandShapeOp::create(builder, loc, to, view, step.dims)
                    .getResult()
              : memref::CollapseShapeOp::create(builder, loc, to, view,
                                                step.dims)
                    .getResult();
      if (!start)
        start = view.getDefiningOp();
    }
    place.replaceAllUsesExcept(view, start);
  }
}

/// Adds an argument for each result and materializes the results there. It is a
/// normal tensor until one-shot analysis has found its aliases.
static FailureOr<SmallVector<ReshapedResult>>
passDestinations(func::FuncOp function, const Updates &updates) {
  FailureOr<func::ReturnOp> found = findResults(function);
  if (failed(found))
    return failure();
  func::ReturnOp terminator = *found;
  Location loc = terminator.getLoc();
  OpBuilder builder(terminator);
  separateResults(terminator, updates);
  SmallVector<ReshapedResult> results = reshapeResults(terminator, updates);
  SmallVector<Type> types(terminator.getOperandTypes());
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getArgumentTypes(), types));
  // All arguments and attributes at once: each change rewrites the whole list.
  unsigned first = function.getNumArguments(), count = types.size();
  if (failed(function.insertArguments(SmallVector<unsigned>(count, first),
                                      types, {},
                                      SmallVector<Location>(count, loc))))
    return failure();
  markWritable(function, first, updates);
  for (OpOperand &operand : terminator->getOpOperands())
    operand.set(MaterializeInDestinationOp::create(
                    builder, loc, operand.get(),
                    function.getArgument(first + operand.getOperandNumber()))
                    .getResult());
  function.removeResAttrsAttr();
  return results;
}

/// The argument that was added for a new value is the updated argument, once
/// the decisions on in-place ops are made.
static LogicalResult mergePlaces(func::FuncOp function,
                                 const Updates &updates) {
  unsigned first = function.getNumArguments() - updates.size();
  llvm::BitVector merged(function.getNumArguments());
  for (auto [result, argument] : llvm::enumerate(updates)) {
    if (!argument)
      continue;
    function.getArgument(first + result)
        .replaceAllUsesWith(function.getArgument(*argument));
    merged.set(first + result);
  }
  if (failed(function.eraseArguments(merged)))
    return failure();
  // Upstream would drop these one by one.
  updateArgAttrs(function, [](unsigned, NamedAttrList &list) {
    list.erase(BufferizationDialect::kWritableAttrName);
  });
  recordResults(function, updates);
  return success();
}

/// Results are in the arguments that are for them: nothing is returned any
/// more.
static LogicalResult dropResults(func::FuncOp function, const Updates &updates,
                                 ArrayRef<ReshapedResult> results) {
  auto terminator =
      cast<func::ReturnOp>(function.getBody().front().getTerminator());
  unsigned place =
      function.getNumArguments() - llvm::count(updates, std::nullopt);
  for (auto [index, value] : llvm::enumerate(terminator.getOperands()))
    if (value !=
        function.getArgument(updates[index] ? *updates[index] : place++))
      return function.emitOpError("result #")
             << index << " does not lie in the buffer that is passed for it";
  terminator.getOperandsMutable().clear();
  reshapeDestinations(function, updates, results);
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getBody().getArgumentTypes(), {}));
  return success();
}

/// Decides what is done in place, everywhere.
static LogicalResult analyze(ModuleOp module, InPlaceState &state) {
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && failed(state.analyze(function)))
      return failure();
  return success();
}

/// Such a result is not computed in place any more: it is copied in the end.
static void computeElsewhere(MaterializeInDestinationOp result) {
  auto place = cast<BlockArgument>(result.getDest());
  auto type = cast<RankedTensorType>(place.getType());
  OpBuilder builder = OpBuilder::atBlockBegin(place.getOwner());
  Value elsewhere = tensor::EmptyOp::create(
      builder, result.getLoc(), type.getShape(), type.getElementType());
  place.replaceAllUsesExcept(elsewhere, result);
}

/// Protects other readers from `place`, an argument that was added for a new
/// value. Readers of the old value read a copy of it, and the new value is
/// computed elsewhere.
static void setApart(BlockArgument place) {
  auto function = cast<func::FuncOp>(place.getOwner()->getParentOp());
  Operation *terminator = place.getOwner()->getTerminator();
  unsigned first = function.getNumArguments() - terminator->getNumOperands();
  computeElsewhere(terminator->getOperand(place.getArgNumber() - first)
                       .getDefiningOp<MaterializeInDestinationOp>());
  BlockArgument argument = function.getArgument(
      function
          .getArgAttrOfType<IntegerAttr>(place.getArgNumber(), kSameMemoryAttr)
          .getInt());
  OpBuilder builder = OpBuilder::atBlockBegin(place.getOwner());
  Value old = copy(builder, argument.getLoc(), argument);
  argument.replaceUsesWithIf(old, [&](OpOperand &use) {
    return use.getOwner() != old.getDefiningOp() &&
           !isa<MaterializeInDestinationOp>(use.getOwner());
  });
}

/// Decides what is done in place. Each argument that is updated is in memory
/// that no other value may use.
static LogicalResult analyzeApart(ModuleOp module,
                                  std::optional<InPlaceState> &state,
                                  const OneShotBufferizationOptions &options) {
  for (;;) {
    state.emplace(module, options);
    if (failed(analyze(module, *state)))
      return failure();
    if (state->getShared().empty())
      return success();
    for (BlockArgument place : state->getShared())
      setApart(place);
  }
}

/// Decides what is done in place. If a tensor in a result's memory may still be
/// needed when another one is written there, it is computed elsewhere, and all
/// is decided again.
static LogicalResult
analyzeWithResults(ModuleOp module, std::optional<InPlaceState> &state,
                   const OneShotBufferizationOptions &options) {
  if (failed(analyzeApart(module, state, options)))
    return failure();
  SmallVector<MaterializeInDestinationOp> results(state->getUnplaced());
  if (results.empty())
    return success();
  // A value in one result's memory may have prevented another's.
  for (MaterializeInDestinationOp result : results)
    computeElsewhere(result);
  if (failed(analyzeApart(module, state, options)))
    return failure();
  if (state->getUnplaced().empty())
    return success();
  module.walk([](MaterializeInDestinationOp result) {
    if (isa<BlockArgument>(result.getDest()))
      computeElsewhere(result);
  });
  if (failed(analyzeApart(module, state, options)))
    return failure();
  if (state->getUnplaced().empty())
    return success();
  MaterializeInDestinationOp first = state->getUnplaced().front();
  return first.emitOpError(
      "must write over its destination, but what lies there is still needed");
}

namespace {
struct Bufferize : dist::impl::DistBufferizeBase<Bufferize> {
  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

  LogicalResult run(ModuleOp module) {
    IRRewriter rewriter(&getContext());
    eraseBarriers(module);
    struct Program {
      func::FuncOp function;
      Updates updates;
      SmallVector<ReshapedResult> results;
    };
    SmallVector<Program> programs;
    for (func::FuncOp function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Updates updates = getUpdates(function);
      if (failed(checkSizes(function)))
        return failure();
      dropUnreadDestinations(function);
      unshareDestinations(function);
      FailureOr<SmallVector<ReshapedResult>> reshaped =
          passDestinations(function, updates);
      if (failed(reshaped))
        return failure();
      programs.push_back({function, std::move(updates), std::move(*reshaped)});
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
    {
      std::optional<InPlaceState> state;
      if (failed(analyzeApart(module, state, options)) ||
          failed(eliminateEmptyTensors(rewriter, module, *state)))
        return failure();
    }
    for (func::FuncOp function : module.getOps<func::FuncOp>()) {
      copySlicesHandedOn(function);
      reuseInputs(function);
    }
    BufferizationState state;
    {
      std::optional<InPlaceState> analysis;
      if (failed(analyzeWithResults(module, analysis, options)))
        return failure();
      copyCarriedValues(module, *analysis);
      if (failed(insertTensorCopies(module, *analysis, state)))
        return failure();
    }
    for (auto &[function, updates, results] : programs)
      if (failed(mergePlaces(function, updates)))
        return failure();
    fixCarriedTypes(module);
    if (failed(bufferizeModuleOp(module, options, state)))
      return failure();
    for (Program &program : programs)
      if (failed(
              dropResults(program.function, program.updates, program.results)))
        return failure();
    return success();
  }
};
} // namespace
