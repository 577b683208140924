//===- ReplaceDirective.cpp - A function's ops in a module's place --------===//
//
// dist.replace: the module's inputs and outputs are the function's signature.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Random.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "passes/schedule/directives/Directives.h"
#include "passes/schedule/directives/ScheduleApplication.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The ops of one module, on their way out.
class Replacement {
public:
  Replacement(ReplaceOp directive, ScheduleApplication &application,
              unsigned scope)
      : directive(directive), application(application),
        path(application.getScopes().getPath(scope)) {}

  /// Records the module's ops. Fails if they are not in one block, or another
  /// directive has replaced some.
  LogicalResult find(ArrayRef<Operation *> all);
  LogicalResult checkSignature(FunctionOpInterface function);
  /// Moves ops that depend on the module, but stand between its ops, after
  /// them.
  LogicalResult gather();
  void replace(FunctionOpInterface function);

private:
  /// The op in the module's block that has `value`, or uses it in a region;
  /// null if that is in another function's block.
  Operation *findInBlock(Operation *op) const {
    return op ? block->findAncestorOpInBlock(*op) : nullptr;
  }
  bool isInside(Value value) const {
    Operation *op = value.getDefiningOp();
    return inside.contains(
        findInBlock(op ? op : value.getParentBlock()->getParentOp()));
  }

  ReplaceOp directive;
  ScheduleApplication &application;
  StringRef path;
  Block *block = nullptr;
  /// In program order, without those in regions of others.
  SmallVector<Operation *> ops;
  /// Constants, and destinations that nothing is written to.
  SmallVector<Operation *> free;
  llvm::SmallDenseSet<Operation *> inside;
  SmallVector<Value> inputs, outputs;
};
} // namespace

/// Whether a function has its own of this value, whatever the module's was.
static bool isMadeAnywhere(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return isMadeAnywhere(fill.getInputs()[0]) &&
           isMadeAnywhere(fill.getOutputs()[0]);
  return isa<tensor::EmptyOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
}

LogicalResult Replacement::find(ArrayRef<Operation *> all) {
  SmallVector<Operation *> meant;
  auto fail = [&](StringRef why) {
    return emitError(directive.getLoc())
           << "module \"" << path << "\" cannot be replaced: " << why;
  };
  // Replaced ops do not exist any more.
  for (Operation *op : all)
    if (!application.take(op))
      return fail("another directive replaces some of its ops");
  // Others may share them, and the function has its own.
  auto isFree = [](Operation *op) {
    return op->getNumResults() == 1 && isMadeAnywhere(op->getResult(0));
  };
  for (Operation *op : all)
    (isFree(op) ? free : meant).push_back(op);
  if (meant.empty())
    return fail("it computes nothing");
  for (Operation *op : meant)
    if (!block ||
        op->getBlock()->findAncestorOpInBlock(*block->getParentOp()) != nullptr)
      block = op->getBlock();
  for (Operation *op : meant)
    if (op->getBlock() == block) {
      inside.insert(op);
      ops.push_back(op);
    }
  for (Operation *op : meant)
    if (!inside.contains(findInBlock(op)))
      return fail("its ops are in several blocks");
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::SmallSetVector<Value, 8> reads;
  for (Operation *op : ops) {
    op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
      for (Value value : nested->getOperands())
        if (!isInside(value) && !isMadeAnywhere(value))
          reads.insert(value);
    });
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !inside.contains(findInBlock(user));
          }))
        outputs.push_back(result);
  }
  inputs = reads.takeVector();
  return success();
}

LogicalResult Replacement::checkSignature(FunctionOpInterface function) {
  if (TypeRange(function.getArgumentTypes()) == ValueRange(inputs).getTypes() &&
      TypeRange(function.getResultTypes()) == ValueRange(outputs).getTypes())
    return success();
  InFlightDiagnostic error =
      emitError(directive.getLoc())
      << "module \"" << path << "\" is "
      << describeSignature(ValueRange(inputs).getTypes(),
                           ValueRange(outputs).getTypes())
      << ", but " << directive.getFunctionAttr() << " is "
      << describeSignature(function.getArgumentTypes(),
                           function.getResultTypes());
  for (auto [number, input] : llvm::enumerate(inputs)) {
    Diagnostic &note = error.attachNote(input.getLoc());
    note << "input " << number << " of the module is " << input.getType();
    if (auto tensor = application.getOrigins().findParameter(input))
      note << ", " << tensor->describe();
  }
  error.attachNote(function.getLoc()) << "the function is here";
  return error;
}

LogicalResult Replacement::gather() {
  // In the order of the block, so that readers come after.
  llvm::SmallSetVector<Operation *, 4> dependent;
  for (Operation *op = ops.front(), *last = ops.back();;
       op = op->getNextNode()) {
    bool isInModule = inside.contains(op), readsDependent = false,
         readsModule = false;
    op->walk([&](Operation *nested) {
      for (Value value : nested->getOperands()) {
        Operation *maker = findInBlock(value.getDefiningOp());
        readsDependent |= maker && dependent.contains(maker);
        readsModule |= maker && inside.contains(maker);
      }
    });
    if (isInModule && readsDependent) {
      InFlightDiagnostic error =
          emitError(directive.getLoc())
          << "module \"" << path
          << "\" cannot be replaced: it reads what others make of its results";
      error.attachNote(op->getLoc()) << "this op of it";
      error.attachNote(dependent.front()->getLoc())
          << "the first op of others that reads its results";
      return error;
    }
    if (!isInModule && (readsDependent || readsModule))
      dependent.insert(op);
    if (op == last)
      break;
  }
  Operation *after = ops.back();
  for (Operation *op : dependent) {
    op->moveAfter(after);
    after = op;
  }
  return success();
}

void Replacement::replace(FunctionOpInterface function) {
  OpBuilder builder(application.getContext());
  builder.setInsertionPointAfter(ops.back());
  IRMapping mapping;
  mapping.map(function.getArguments(), inputs);
  Block &body = function.getFunctionBody().front();
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    copy->setLoc(application.locate(directive, &op));
    copy->walk([&](Operation *nested) {
      auto within = nested->getAttrOfType<StringAttr>(kScopeAttr);
      if (nested == copy || within)
        nested->setAttr(kScopeAttr,
                        builder.getStringAttr(within ? joinPaths(path, within)
                                                     : path.str()));
    });
  }
  for (auto [old, made] :
       llvm::zip_equal(outputs, body.getTerminator()->getOperands()))
    old.replaceUsesWithIf(mapping.lookupOrDefault(made), [&](OpOperand &use) {
      return !inside.contains(findInBlock(use.getOwner()));
    });
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  for (Operation *op : llvm::reverse(free))
    if (op->use_empty())
      op->erase();
}

/// A module of the model consists of ops of the model.
static LogicalResult checkLevel(ReplaceOp directive,
                                FunctionOpInterface function) {
  WalkResult result = function.getFunctionBody().walk([&](Operation *op) {
    bool isOfDist = op->getDialect() && isa<DistDialect>(op->getDialect()) &&
                    !isa<RandomWordsOp>(op);
    if (!isOfDist && !op->hasAttr(kShardingsAttr))
      return WalkResult::advance();
    InFlightDiagnostic error =
        emitError(directive.getLoc())
        << directive.getFunctionAttr() << " holds '" << op->getName()
        << "'; a module is replaced by ops of level 0, which other directives "
        << "place";
    error.attachNote(op->getLoc()) << "this op";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct ReplaceDirective
    : ScheduleDirectiveOpInterface::ExternalModel<ReplaceDirective, ReplaceOp> {
  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<ReplaceOp>(op).getExpect();
  }

  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    auto directive = cast<ReplaceOp>(op);
    FailureOr<FunctionOpInterface> function =
        application.getFunctions().find(directive, directive.getFunctionAttr());
    if (failed(function) || failed(checkLevel(directive, *function)))
      return failure();
    for (unsigned scope : targets) {
      Replacement replacement(directive, application, scope);
      if (failed(replacement.find(application.getScopes().getOps(scope))) ||
          failed(replacement.gather()) ||
          failed(replacement.checkSignature(*function)))
        return failure();
      replacement.replace(*function);
    }
    return targets.size();
  }
};
} // namespace

void mlir::dist::attachReplaceDirective(MLIRContext &context) {
  ReplaceOp::attachInterface<ReplaceDirective>(context);
}
