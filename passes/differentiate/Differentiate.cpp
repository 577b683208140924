//===- Differentiate.cpp - Gradients of a function ------------------------===//

#include "passes/differentiate/Differentiate.h"
#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/EntryAttrs.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "passes/attention/RowShifts.h"
#include "passes/differentiate/InlineCalls.h"
#include "passes/differentiate/LinalgAdjoint.h"
#include "passes/differentiate/Models.h"
#include "passes/schedule/names/NamePattern.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dist;

void mlir::dist::registerAdjoints(DialectRegistry &registry) {
  registerScalarAdjoints(registry);
  registerLinalgAdjoints(registry);
  registerTensorAdjoints(registry);
  registerPlacementAdjoints(registry);
  registerControlAdjoints(registry);
}

namespace {
class Gradients {
public:
  Gradients(func::FuncOp function, const GradientRequest &request)
      : function(function), request(request),
        terminator(function.getBody().front().getTerminator()),
        builder(terminator) {}

  FailureOr<SmallVector<unsigned>> run();

private:
  StringRef getName(BlockArgument argument);
  LogicalResult chooseArguments();
  LogicalResult chooseResult();
  LogicalResult decomposeAttentions(Block &block);
  LogicalResult findOps();
  LogicalResult addCotangent();
  void returnGradients();
  void eraseUnread();

  func::FuncOp function;
  const GradientRequest &request;
  Operation *terminator;
  OpBuilder builder;
  Adjoints adjoints;
  SmallVector<BlockArgument> wrt;
  unsigned result = 0;
  /// Ops between the arguments and the result.
  SmallVector<Operation *> ops;
};
} // namespace

StringRef Gradients::getName(BlockArgument argument) {
  for (StringRef key : {kParameterAttr, kInputAttr})
    if (auto name =
            function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), key))
      return name.getValue();
  return "";
}

LogicalResult Gradients::chooseArguments() {
  if (request.wrt.empty()) {
    for (BlockArgument argument : function.getArguments()) {
      unsigned number = argument.getArgNumber();
      if (isDifferentiable(argument.getType()) &&
          function.getArgAttr(number, kParameterAttr) &&
          !function.getArgAttr(number, kBufferAttr) &&
          !function.getArgAttr(number, kUpdatedAttr))
        wrt.push_back(argument);
    }
    if (wrt.empty())
      return function.emitError("has no parameter of floats to differentiate "
                                "with respect to: name inputs with ")
             << request.option;
    return success();
  }
  SmallVector<StringRef> names;
  for (BlockArgument argument : function.getArguments())
    names.push_back(
        !request.onlyParameters ||
                function.getArgAttr(argument.getArgNumber(), kParameterAttr)
            ? getName(argument)
            : "");
  llvm::SetVector<unsigned> chosen;
  for (const std::string &text : request.wrt) {
    std::string error;
    std::optional<NamePattern> pattern = NamePattern::parse(text, error);
    if (!pattern)
      return function.emitError(request.option)
             << text << " is no pattern of names: " << error;
    bool any = false;
    for (auto [number, name] : llvm::enumerate(names)) {
      auto tied = function.getArgAttrOfType<ArrayAttr>(number, kTiedAttr);
      bool isMeant = !name.empty() && pattern->matches(name);
      if (tied)
        for (auto other : tied.getAsRange<StringAttr>())
          isMeant |= pattern->matches(other.getValue());
      if (!isMeant)
        continue;
      Type type = function.getArgument(number).getType();
      if (!isDifferentiable(type)) {
        // A glob means all arguments that have a derivative; a name means this
        // one.
        if (name == text)
          return function.emitError(request.option)
                 << text << " is of type " << type
                 << ", which has no derivative: it is of floats";
        continue;
      }
      // Nor does it mean arguments that the program itself updates.
      if (name != text && function.getArgAttr(number, kUpdatedAttr))
        continue;
      any = true;
      chosen.insert(number);
    }
    if (any)
      continue;
    InFlightDiagnostic diagnostic =
        function.emitError(request.option)
        << text << " matches no parameter "
        << (request.onlyParameters ? "of floats" : "or input of floats");
    if (std::string inside = text + "."; llvm::any_of(
            names, [&](StringRef name) { return name.starts_with(inside); }))
      return diagnostic << ", but is a module: its parameters are '" << inside
                        << "**'";
    if (StringRef(text).contains('*') && !StringRef(text).contains("**"))
      diagnostic << " ('*' is any run of characters but a dot, '**' of any)";
    SmallVector<StringRef> possible;
    for (auto [argument, name] :
         llvm::zip_equal(function.getArguments(), names))
      if (isDifferentiable(argument.getType()) && !name.empty())
        possible.push_back(name);
    if (StringRef near = findNearMiss(text, possible); !near.empty())
      diagnostic << "; did you mean '" << near << "'?";
    return diagnostic;
  }
  for (unsigned number : llvm::to_vector(chosen)) {
    if (request.accept && failed(request.accept(number)))
      return failure();
    wrt.push_back(function.getArgument(number));
  }
  llvm::sort(wrt, [](BlockArgument a, BlockArgument b) {
    return a.getArgNumber() < b.getArgNumber();
  });
  return success();
}

LogicalResult Gradients::chooseResult() {
  SmallVector<unsigned> candidates;
  SmallVector<StringRef> names;
  for (auto [number, type] : llvm::enumerate(function.getResultTypes())) {
    auto name = function.getResultAttrOfType<StringAttr>(number, kOutputAttr);
    names.push_back(name ? name.getValue() : "");
    if (request.result.empty()
            ? isDifferentiable(type) &&
                  !function.getResultAttr(number, kUpdatesAttr)
            : names.back() == request.result)
      candidates.push_back(number);
  }
  if (candidates.size() == 1) {
    result = candidates.front();
    Type type = function.getResultTypes()[result];
    if (isDifferentiable(type))
      return success();
    return function.emitError("of=") << request.result << " is of type " << type
                                     << ", which has no derivative";
  }
  if (!request.result.empty()) {
    InFlightDiagnostic diagnostic = function.emitError("of=")
                                    << request.result << " is no result";
    if (StringRef near = findNearMiss(request.result, names); !near.empty())
      diagnostic << "; did you mean '" << near << "'?";
    return diagnostic;
  }
  return function.emitError("has ")
         << candidates.size()
         << " results of floats: of=NAME says which is differentiated";
}

/// Attentions that vary become their parts, which have adjoints. Their windows
/// are kept, for --dist-recognize-windows.
LogicalResult Gradients::decomposeAttentions(Block &block) {
  SmallVector<AttentionOp> ops;
  block.walk([&](AttentionOp op) { ops.push_back(op); });
  if (ops.empty())
    return success();
  Adjoints before; // of values some of which go
  for (BlockArgument argument : wrt)
    before.setActive(argument);
  before.spreadActivity(block);
  for (AttentionOp op : ops) {
    if (op->getBlock() == &block &&
        llvm::none_of(op.getResults(),
                      [&](Value result) { return before.isActive(result); }))
      continue;
    OpBuilder b(op);
    FailureOr<SmallVector<Value>> parts = op.decomposeOperation(b);
    if (failed(parts))
      return op.emitOpError("is differentiated on tensors only");
    Operation *product = parts->front().getDefiningOp();
    if (DenseI64ArrayAttr window = op.getWindowAttr();
        window && isa_and_nonnull<linalg::LinalgOp>(product)) {
      product->setAttr(kKeyWindowAttr, window);
      product->setAttr(kQueryLoopAttr, b.getI64IntegerAttr(op.getQueryDim()));
    }
    op->replaceAllUsesWith(*parts);
    op->erase();
  }
  return success();
}

/// The values in between: they vary with the arguments, and the result with
/// them.
LogicalResult Gradients::findOps() {
  if (!function.getBody().hasOneBlock())
    return function.emitError("has several blocks: --lift-cf-to-scf makes "
                              "structured control flow of them");
  Block &block = function.getBody().front();
  dropRowShifts(function);
  if (failed(decomposeAttentions(block)))
    return failure();
  for (BlockArgument argument : wrt)
    adjoints.setActive(argument);
  adjoints.spreadActivity(block);
  llvm::DenseSet<Value> needed{terminator->getOperand(result)};
  llvm::MapVector<OperationName, SmallVector<Operation *, 1>> unknown;
  for (Operation &op : llvm::reverse(block)) {
    if (llvm::none_of(op.getResults(), [&](Value value) {
          return needed.contains(value) && adjoints.isActive(value);
        }))
      continue;
    op.walk(
        [&](Operation *nested) { needed.insert_range(nested->getOperands()); });
    ops.push_back(&op);
    if (!isa<DifferentiableOpInterface>(op))
      unknown[op.getName()].push_back(&op);
  }
  std::reverse(ops.begin(), ops.end());
  for (auto &[name, places] : llvm::reverse(unknown)) {
    InFlightDiagnostic diagnostic =
        places.back()->emitOpError("has no derivative that is known");
    if (places.size() > 1)
      diagnostic << " (" << places.size() << " such ops, this is the first)";
    diagnostic << ": its dialect can implement DifferentiableOpInterface, or "
               << request.option << " leave out what goes through it";
  }
  return success(unknown.empty());
}

LogicalResult Gradients::addCotangent() {
  Value value = terminator->getOperand(result);
  Location loc = terminator->getLoc();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (request.cotangent.empty()) {
    if (type && !(type.hasStaticShape() && type.getNumElements() == 1))
      return function.emitError("differentiates a result of type ")
             << type
             << ", which is no single number: cotangent=NAME adds an input "
                "that gives its cotangent";
    adjoints.add(builder, loc, value,
                 createConstantLike(builder, loc, value, 1));
    return success();
  }
  // "cotangent=dy,wrt=x": options are separated by spaces.
  if (StringRef(request.cotangent).contains('='))
    return function.emitError("cotangent=")
           << request.cotangent
           << " is no name of an input: options are separated by spaces";
  for (BlockArgument argument : function.getArguments())
    if (getName(argument) == request.cotangent)
      return function.emitError("cotangent=")
             << request.cotangent << " is an input or a parameter already";
  // Made last, but placed as the result is.
  SmallVector<NamedAttribute> attributes{builder.getNamedAttr(
      kInputAttr, builder.getStringAttr(request.cotangent))};
  if (Attribute sharding = function.getResultAttr(result, kShardingAttr))
    attributes.push_back(builder.getNamedAttr(kShardingAttr, sharding));
  unsigned number = function.getNumArguments();
  if (failed(function.insertArgument(
          number, value.getType(), builder.getDictionaryAttr(attributes), loc)))
    return failure();
  adjoints.add(builder, loc, value, function.getArgument(number));
  return success();
}

void Gradients::returnGradients() {
  SmallVector<Value> results(terminator->getOperands());
  SmallVector<Type> types(function.getResultTypes());
  SmallVector<NamedAttrList> attributes;
  for (unsigned number = 0; number < results.size(); ++number)
    attributes.push_back(function.getResultAttrDict(number));
  for (BlockArgument argument : wrt) {
    adjoints.settle(builder, argument);
    Value gradient = adjoints.lookup(argument);
    StringRef name = getName(argument);
    if (!gradient) {
      function.emitWarning("does not depend on '")
          << name << "': its gradient is zero";
      gradient = createZeros(builder, argument.getLoc(), argument);
    }
    NamedAttrList list;
    if (!name.empty())
      list.set(kOutputAttr, builder.getStringAttr(name + ".grad"));
    if (Attribute part =
            function.getArgAttr(argument.getArgNumber(), kPartAttr))
      list.set(kPartAttr, part);
    if (Attribute sharding =
            function.getArgAttr(argument.getArgNumber(), kShardingAttr))
      list.set(kShardingAttr, sharding);
    results.push_back(gradient);
    types.push_back(gradient.getType());
    attributes.push_back(list);
  }
  terminator->setOperands(results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  updateResultAttrs(function, [&](unsigned number, NamedAttrList &list) {
    list = attributes[number];
  });
}

/// Widened cotangents that are read as they were before.
void Gradients::eraseUnread() {
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isa<FollowOp, linalg::GenericOp>(op) && op->getNumResults() == 1 &&
        op->use_empty() && isWidened(op->getResult(0)))
      op->erase();
  });
}

FailureOr<SmallVector<unsigned>> Gradients::run() {
  if (!function->getParentOfType<ModuleOp>().getOps<MeshOp>().empty())
    adjoints.followPrimals();
  if (failed(chooseArguments()) || failed(chooseResult()) ||
      failed(inlineCalls(function)) || failed(findOps()) ||
      failed(addCotangent()) || failed(adjoints.reverse(builder, ops)))
    return failure();
  returnGradients();
  eraseUnread();
  return llvm::map_to_vector(
      wrt, [](BlockArgument argument) { return argument.getArgNumber(); });
}

FailureOr<func::FuncOp> mlir::dist::findFunction(ModuleOp module,
                                                 StringRef name) {
  if (name.empty()) {
    FailureOr<FunctionOpInterface> entry = findEntryFunction(module);
    if (failed(entry))
      return failure();
    return dyn_cast<func::FuncOp>(entry->getOperation());
  }
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function)
    return module.emitError("has no function @") << name;
  return function;
}

FailureOr<SmallVector<unsigned>>
mlir::dist::differentiate(ModuleOp module, const GradientRequest &request) {
  if (int level = getLevel(module); level > 1)
    return module.emitError("is of level ")
           << level
           << ": gradients are taken of levels 0 and 1, before "
              "--dist-propagate";
  FailureOr<func::FuncOp> function = findFunction(module, request.function);
  if (failed(function))
    return failure();
  if (!*function || function->isExternal())
    return module.emitError("has no function with a body to differentiate");
  return Gradients(*function, request).run();
}
