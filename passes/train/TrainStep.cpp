//===- TrainStep.cpp - A step of training ---------------------------------===//

#include "passes/train/TrainStep.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Pipeline.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "passes/bounds/Bounds.h"
#include "passes/differentiate/Differentiate.h"
#include "passes/schedule/names/NamePattern.h"
#include "passes/train/Formulas.h"
#include "passes/train/Lookups.h"
#include "passes/train/Losses.h"
#include "passes/train/Microbatches.h"
#include "passes/train/Optimizer.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A parameter that is trained.
struct Trained {
  unsigned argument;
  Value gradient;
  std::string name;
  /// The first argument of what the optimizer keeps of it, and which.
  unsigned firstState = 0;
  SmallVector<StringRef> states;
};

/// An argument that the model itself changes (running statistics), and the
/// result that is its new value.
struct Updated {
  unsigned argument, result;
};

class StepBuilder {
public:
  StepBuilder(ModuleOp module, func::FuncOp function,
              const TrainRequest &request, const Optimizer &optimizer)
      : module(module), function(function), request(request),
        optimizer(optimizer), microbatches(function, request.microbatches),
        builder(function.getBody().front().getTerminator()) {}

  LogicalResult run();

private:
  LogicalResult findZeroMesh();
  LogicalResult chooseResult();
  LogicalResult findUpdated();
  /// Of parameters and inputs.
  llvm::StringSet<> getArgumentNames();
  FailureOr<Value> addInput(StringRef name, RankedTensorType type);
  FailureOr<Value> addStep();
  LogicalResult addLoss();
  void placeTarget();
  LogicalResult addGradients();
  bool haveCommonElements(unsigned first, unsigned second);
  LogicalResult checkNames();
  ShardingAttr placeState(unsigned argument);
  LogicalResult addStates();
  void accumulate();
  void addResult(unsigned argument, Value value, StringRef name);
  void addOptimizer(Value step);
  Operation *getTerminator() {
    return function.getBody().front().getTerminator();
  }

  ModuleOp module;
  func::FuncOp function;
  const TrainRequest &request;
  const Optimizer &optimizer;
  Microbatches microbatches;
  OpBuilder builder;
  unsigned result = 0;
  std::string resultName;
  Loss loss;
  SmallVector<Trained> trained;
  SmallVector<Updated> updated;
  /// Of those, after the step.
  SmallVector<Value> newValues;
  /// With Optimizer::zero.
  std::optional<FlatSymbolRefAttr> zeroMesh;
  SmallVector<Value> results;
  SmallVector<NamedAttrList> resultAttributes;
};
} // namespace

static constexpr llvm::StringLiteral kCotangent = "dist.cotangent";

LogicalResult StepBuilder::chooseResult() {
  SmallVector<unsigned> candidates;
  SmallVector<StringRef> names;
  for (auto [number, type] : llvm::enumerate(function.getResultTypes())) {
    auto name = function.getResultAttrOfType<StringAttr>(number, kOutputAttr);
    names.push_back(name ? name.getValue() : "");
    if (request.result.empty()
            ? isa<FloatType>(getElementTypeOrSelf(type)) &&
                  !function.getResultAttr(number, kUpdatesAttr)
            : names.back() == request.result)
      candidates.push_back(number);
  }
  if (candidates.size() == 1) {
    result = candidates.front();
    resultName = names[result].str();
    return success();
  }
  if (request.result.empty())
    return function.emitError("has ")
           << candidates.size()
           << " results of floats: of=NAME (dist-run: --loss-of) says which "
              "the loss is of";
  InFlightDiagnostic diagnostic = function.emitError("of=")
                                  << request.result
                                  << " (dist-run: --loss-of) is no result";
  if (StringRef near = findNearMiss(request.result, names); !near.empty())
    diagnostic << "; did you mean '" << near << "'?";
  return diagnostic;
}

LogicalResult StepBuilder::findUpdated() {
  for (unsigned i = 0, end = function.getNumResults(); i < end; ++i) {
    auto number = function.getResultAttrOfType<IntegerAttr>(i, kUpdatesAttr);
    if (!number)
      continue;
    unsigned argument = number.getInt();
    if (!function.getArgAttr(argument, kParameterAttr))
      return function.emitError("has a result ")
             << i << " that updates argument " << argument
             << ", which is no parameter ('" << kParameterAttr
             << "'): a step of training would not keep it";
    updated.push_back({argument, i});
  }
  llvm::DenseSet<unsigned> arguments;
  for (const Updated &one : updated)
    arguments.insert(one.argument);
  updateArgAttrs(function, [&](unsigned number, NamedAttrList &list) {
    if (!arguments.contains(number))
      return;
    list.set(kUpdatedAttr, builder.getUnitAttr());
    list.set(kBufferAttr, builder.getUnitAttr());
  });
  return success();
}

llvm::StringSet<> StepBuilder::getArgumentNames() {
  llvm::StringSet<> names;
  for (unsigned i = 0, end = function.getNumArguments(); i < end; ++i)
    for (StringRef key : {kParameterAttr, kInputAttr})
      if (auto taken = function.getArgAttrOfType<StringAttr>(i, key))
        names.insert(taken.getValue());
  return names;
}

FailureOr<Value> StepBuilder::addInput(StringRef name, RankedTensorType type) {
  unsigned number = function.getNumArguments();
  if (getArgumentNames().contains(name))
    return function.emitError("has an argument '")
           << name
           << "' already, which a step of training adds (target=NAME, "
              "dist-run: --target, renames that of the loss)";
  NamedAttribute attribute =
      builder.getNamedAttr(kInputAttr, builder.getStringAttr(name));
  if (failed(function.insertArgument(number, type,
                                     builder.getDictionaryAttr(attribute),
                                     function.getLoc())))
    return failure();
  return Value(function.getArgument(number));
}

/// How many steps were done; the program may draw random numbers by it already.
FailureOr<Value> StepBuilder::addStep() {
  for (BlockArgument argument : function.getArguments())
    if (auto random = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), kRandomAttr);
        random && random.getValue() == kRandomStep)
      return Value(argument);
  return addInput("step", RankedTensorType::get({}, builder.getI64Type()));
}

/// The new input, which is the last one, is placed like the others: in the
/// leading dimensions of the same sizes, like the first input that the schedule
/// places.
void StepBuilder::placeTarget() {
  unsigned last = function.getNumArguments() - 1;
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[last]);
  for (unsigned i = 0; i < last; ++i) {
    auto sharding = function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr);
    auto other = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
    if (!function.getArgAttr(i, kInputAttr) || !sharding || !other ||
        sharding.isReplicated())
      continue;
    auto open = DimShardingAttr::get(builder.getContext(),
                                     ArrayRef<AxisRefAttr>(), /*isOpen=*/true);
    SmallVector<DimShardingAttr> dims(type.getRank(), open);
    for (int64_t dim = 0; dim < std::min(type.getRank(), other.getRank()) &&
                          type.getDimSize(dim) == other.getDimSize(dim);
         ++dim)
      dims[dim] = sharding.getDims()[dim];
    function.setArgAttr(last, kShardingAttr,
                        ShardingAttr::get(builder.getContext(),
                                          sharding.getMesh(), dims,
                                          ReductionKind::Sum, {}));
    return;
  }
}

LogicalResult StepBuilder::addLoss() {
  Value value = getTerminator()->getOperand(result);
  Location loc = value.getLoc();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !isa<FloatType>(type.getElementType()) || !type.hasStaticShape())
    return function.emitError("takes the loss of a result of type ")
           << value.getType()
           << ": it must be a tensor of floats whose sizes are known "
              "(--dist-bind-sizes=sizes=batch=8)";
  if (request.loss == "result") {
    if (type.getNumElements() != 1)
      return function.emitError(
                 "loss=result (dist-run: --loss): the result is of type ")
             << type << ", and a loss is one number";
    loss = addOwnLoss(builder, loc, value, microbatches.getCount());
    return success();
  }
  bool isEntropy = request.loss == "cross_entropy";
  if (!isEntropy && request.loss != "mse")
    return function.emitError("loss=")
           << request.loss
           << " (dist-run: --loss): expected cross_entropy, mse or result";
  if (isEntropy && type.getRank() == 0)
    return function.emitError(
               "loss=cross_entropy (dist-run: --loss): the result is of type ")
           << type << ", and its last dimension is to be the classes";
  RankedTensorType target =
      isEntropy ? RankedTensorType::get(type.getShape().drop_back(),
                                        builder.getI64Type())
                : type;
  bool isOne = microbatches.getCount() == 1;
  SmallVector<int64_t> shape(target.getShape());
  if (!isOne)
    shape.insert(shape.begin(), microbatches.getCount());
  FailureOr<Value> input = addInput(request.target, target.clone(shape));
  if (failed(input))
    return failure();
  placeTarget();
  if (isEntropy)
    function.setArgAttr(function.getNumArguments() - 1, kClassesAttr,
                        builder.getI64IntegerAttr(type.getShape().back()));
  // Those that count do so in all microbatches together.
  Value divisor =
      isEntropy ? addLabelCount(builder, loc, *input, type.getElementType())
                : Value();
  Value own =
      isOne ? *input : microbatches.takeSlice(cast<BlockArgument>(*input));
  loss = isEntropy ? addCrossEntropy(builder, loc, value, own, divisor)
                   : addMeanSquaredError(builder, loc, value, own,
                                         microbatches.getCount());
  return success();
}

/// The gradients become results, and are taken from there.
LogicalResult StepBuilder::addGradients() {
  unsigned known = function.getNumResults();
  GradientRequest gradients;
  gradients.function = function.getSymName();
  gradients.result = resultName;
  gradients.wrt = request.parameters;
  gradients.onlyParameters = true;
  gradients.option = "parameters= (dist-run: --train-parameters) ";
  gradients.cotangent = kCotangent;
  auto accept = [&](unsigned argument) -> LogicalResult {
    if (!function.getArgAttr(argument, kUpdatedAttr))
      return success();
    return function.emitError("parameters= (dist-run: --train-parameters) ")
           << function.getArgAttrOfType<StringAttr>(argument, kParameterAttr)
                  .getValue()
           << " is updated by the model itself ('" << kUpdatesAttr
           << "': running statistics), and cannot be trained besides";
  };
  gradients.accept = accept;
  FailureOr<SmallVector<unsigned>> arguments = differentiate(module, gradients);
  if (failed(arguments))
    return failure();
  for (unsigned argument : *arguments) {
    auto doubt = function.getArgAttrOfType<StringAttr>(argument, kUnsureAttr);
    if (doubt && request.parameters.empty())
      return function.emitError("would train '")
             << function.getArgAttrOfType<StringAttr>(argument, kParameterAttr)
                    .getValue()
             << "', which is " << doubt.getValue()
             << ": its gradient and its place in a checkpoint would be wrong. "
                "Export without folding (docs/train-export.md), or name what "
                "is to be trained: parameters= (dist-run: --train-parameters)";
  }
  unsigned last = function.getNumArguments() - 1;
  function.getArgument(last).replaceAllUsesWith(loss.cotangent);
  if (failed(function.eraseArgument(last)))
    return failure();
  for (auto [i, argument] : llvm::enumerate(*arguments)) {
    auto name = function.getArgAttrOfType<StringAttr>(argument, kParameterAttr);
    trained.push_back(
        {argument, getTerminator()->getOperand(known + i), name.str(), 0, {}});
  }
  llvm::DenseSet<unsigned> isTrained(llvm::from_range, *arguments);
  updateArgAttrs(function, [&](unsigned number, NamedAttrList &list) {
    if (isTrained.contains(number))
      list.erase(kBufferAttr);
  });
  // One that nothing depends on stays as it is, as in PyTorch. One that is in
  // parts stays if nothing depends on any of them.
  llvm::StringSet<> needed;
  for (const Trained &one : trained) {
    auto fill = one.gradient.getDefiningOp<linalg::FillOp>();
    if (!matchPattern(fill ? fill.getInputs().front() : one.gradient,
                      m_AnyZeroFloat()))
      needed.insert(one.name);
  }
  llvm::erase_if(
      trained, [&](const Trained &one) { return !needed.contains(one.name); });
  if (trained.empty())
    return function.emitError("has a loss that depends on no parameter that "
                              "is trained");
  return success();
}

/// Whether two arguments, both of one parameter, have elements in common.
bool StepBuilder::haveCommonElements(unsigned first, unsigned second) {
  auto getRange = [&](unsigned argument, size_t dim) {
    auto part = function.getArgAttrOfType<PartAttr>(argument, kPartAttr);
    int64_t offset = part ? part.getOffsets()[dim] : 0;
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[argument]);
    return std::pair(offset, offset + type.getDimSize(dim));
  };
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[first]);
  for (size_t dim = 0, rank = type.getRank(); dim < rank; ++dim) {
    auto [low, high] = getRange(first, dim);
    auto [otherLow, otherHigh] = getRange(second, dim);
    if (high <= otherLow || otherHigh <= low)
      return false;
  }
  return true;
}

/// What goes from one step to the next is known by its name.
LogicalResult StepBuilder::checkNames() {
  // Two copies of one element would be trained apart.
  llvm::StringMap<SmallVector<unsigned, 2>> byName;
  for (const Trained &one : trained) {
    for (unsigned other : byName[one.name])
      if (haveCommonElements(one.argument, other))
        return function.emitError("has two arguments with the same elements of "
                                  "parameter '")
               << one.name << "': " << other << " and " << one.argument
               << "; trained, they would come to differ. Let both readers read "
                  "one argument";
    byName[one.name].push_back(one.argument);
  }
  SmallVector<std::string> made{"loss"};
  for (const Trained &one : trained)
    for (StringRef kind :
         optimizer.getStates(getElementTypeOrSelf(one.gradient.getType())))
      made.push_back(one.name + "." + kind.str());
  llvm::StringSet<> taken = getArgumentNames();
  for (StringRef name : made)
    if (taken.contains(name))
      return function.emitError("has an argument '")
             << name
             << "', as a result of a step of training is called; give it "
                "another name";
  return success();
}

/// The states of a parameter are placed like it. In addition they are sharded
/// over the axis Optimizer::zero, if the parameter does not use it, along the
/// largest dimension that is whole (ZeRO, Rajbhandari et al. 2020). Null: as
/// propagation decides.
ShardingAttr StepBuilder::placeState(unsigned argument) {
  auto own = function.getArgAttrOfType<ShardingAttr>(argument, kShardingAttr);
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  if (!zeroMesh || !type)
    return own;
  MLIRContext *context = builder.getContext();
  auto axis = AxisRefAttr::get(context, optimizer.zero, 1, 0);
  auto open = DimShardingAttr::get(context, ArrayRef<AxisRefAttr>(),
                                   /*isOpen=*/true);
  SmallVector<DimShardingAttr> dims(type.getRank(), open);
  if (own)
    dims.assign(own.getDims().begin(), own.getDims().end());
  int best = -1;
  for (auto [dim, sharding] : llvm::enumerate(dims)) {
    if (llvm::any_of(sharding.getAllAxes(), [&](AxisRefAttr used) {
          return used.getName() == optimizer.zero;
        }))
      return own;
    if (sharding.isReplicated() && sharding.getSubDims().size() <= 1 &&
        (best < 0 || type.getDimSize(dim) > type.getDimSize(best)))
      best = dim;
  }
  if (best < 0)
    return own;
  dims[best] = DimShardingAttr::get(context, axis);
  return ShardingAttr::get(context, *zeroMesh, dims, ReductionKind::Sum, {});
}

/// States are arguments that are placed as their parameter.
LogicalResult StepBuilder::addStates() {
  unsigned first = function.getNumArguments();
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  bool hasMasters = false;
  for (Trained &one : trained) {
    auto type = cast<RankedTensorType>(one.gradient.getType());
    Type element = type.getElementType();
    hasMasters |= optimizer.hasMaster(element);
    one.firstState = first + types.size();
    one.states = optimizer.getStates(element);
    for (StringRef kind : one.states) {
      types.push_back(type.clone(getComputeType(element)));
      NamedAttrList list;
      list.set(kParameterAttr,
               builder.getStringAttr(one.name + "." + kind.str()));
      list.set(kStateAttr, builder.getUnitAttr());
      if (Attribute part = function.getArgAttr(one.argument, kPartAttr))
        list.set(kPartAttr, part);
      if (ShardingAttr sharding = placeState(one.argument))
        list.set(kShardingAttr, sharding);
      attributes.push_back(list.getDictionary(builder.getContext()));
    }
  }
  if (optimizer.masters && !hasMasters)
    return function.emitError("optimizer=")
           << request.optimizer
           << ": masters are of parameters of 16 bits, and none is trained";
  return function.insertArguments(
      SmallVector<unsigned>(types.size(), first), types, attributes,
      SmallVector<Location>(types.size(), function.getLoc()));
}

/// Makes of the loss and the gradients of a microbatch those of all. They are
/// added in the type of the parameter, as PyTorch does, or in its master's.
void StepBuilder::accumulate() {
  bool hasMesh = !module.getOps<MeshOp>().empty();
  Type wide = getComputeType(getElementTypeOrSelf(loss.sum));
  SmallVector<Summand> summands{{loss.sum, wide, {}}};
  for (const Trained &one : trained) {
    Type element = getElementTypeOrSelf(one.gradient);
    bool hasMaster = optimizer.hasMaster(element);
    unsigned leader =
        hasMaster ? one.firstState + one.states.size() - 1 : one.argument;
    summands.push_back({one.gradient,
                        hasMaster ? getComputeType(element) : element,
                        hasMesh ? function.getArgument(leader) : Value()});
  }
  SmallVector<CarriedArgument> carried;
  for (auto [one, value] : llvm::zip_equal(updated, newValues))
    carried.push_back({function.getArgument(one.argument), value});
  LoopValues values = microbatches.close(summands, carried);
  loss.sum = values.sums.front();
  for (auto [one, sum] :
       llvm::zip_equal(trained, llvm::drop_begin(values.sums)))
    one.gradient = sum;
  newValues = values.carried;
}

/// Adds a step's new value of an argument, which keeps its name.
void StepBuilder::addResult(unsigned argument, Value value, StringRef name) {
  NamedAttrList list;
  list.set(kOutputAttr, builder.getStringAttr(name));
  list.set(kUpdatesAttr, builder.getI64IntegerAttr(argument));
  if (Attribute part = function.getArgAttr(argument, kPartAttr))
    list.set(kPartAttr, part);
  results.push_back(value);
  resultAttributes.push_back(list);
}

/// Replaces the results by the loss and what the optimizer makes.
void StepBuilder::addOptimizer(Value step) {
  builder.setInsertionPoint(getTerminator());
  Location loc = function.getLoc();
  SmallVector<Value> gradients;
  for (const Trained &one : trained)
    gradients.push_back(one.gradient);
  Value scale = optimizer.clip > 0
                    ? addClipping(builder, loc, optimizer, gradients)
                    : Value();
  StepNumbers numbers = addStepNumbers(builder, loc, optimizer, step);
  results.push_back(loss.addValue(builder, loc));
  resultAttributes.emplace_back().set(kOutputAttr,
                                      builder.getStringAttr("loss"));
  for (const Trained &one : trained) {
    Value parameter = function.getArgument(one.argument);
    SmallVector<Value> made = addUpdate(
        builder, parameter.getLoc(), optimizer, numbers, parameter,
        one.gradient,
        function.getArguments().slice(one.firstState, one.states.size()),
        scale);
    for (auto [i, value] : llvm::enumerate(made)) {
      std::string name =
          i == 0 ? one.name : one.name + "." + one.states[i - 1].str();
      addResult(i == 0 ? one.argument : one.firstState + i - 1, value, name);
    }
  }
  for (auto [one, value] : llvm::zip_equal(updated, newValues))
    addResult(
        one.argument, value,
        function.getArgAttrOfType<StringAttr>(one.argument, kParameterAttr)
            .getValue());
  getTerminator()->setOperands(results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           ValueRange(results).getTypes()));
  llvm::DenseSet<int64_t> arguments;
  for (NamedAttrList &list : resultAttributes)
    if (auto number = dyn_cast_or_null<IntegerAttr>(list.get(kUpdatesAttr)))
      arguments.insert(number.getInt());
  updateArgAttrs(function, [&](unsigned number, NamedAttrList &list) {
    if (arguments.contains(number))
      list.set(kUpdatedAttr, builder.getUnitAttr());
  });
  updateResultAttrs(function, [&](unsigned number, NamedAttrList &list) {
    list = resultAttributes[number];
  });
}

/// The mesh that Optimizer::zero is an axis of: the program's.
LogicalResult StepBuilder::findZeroMesh() {
  if (optimizer.zero.empty())
    return success();
  FailureOr<MeshOp> mesh = findProgramMesh(module);
  if (failed(mesh))
    return failure();
  if (!*mesh)
    return module.emitError("zero=")
           << optimizer.zero << " of the optimizer"
           << (module.getOps<MeshOp>().empty()
                   ? ": no mesh has such an axis; a schedule brings a mesh"
                   : ": the module has several meshes and uses none, so that "
                     "the axis is of any");
  std::optional<PipelineNote> pipeline = PipelineNote::get(*mesh);
  if (pipeline && pipeline->axis == optimizer.zero)
    return emitError(pipeline->by)
           << "has its stages along \"" << optimizer.zero
           << "\": nothing is sharded over it, and zero=" << optimizer.zero
           << " of the optimizer would be; name another axis";
  std::string known;
  for (MeshAxisAttr axis : mesh->getAxes()) {
    known += " " + axis.getName().str();
    if (axis.getName() == optimizer.zero)
      zeroMesh = FlatSymbolRefAttr::get(mesh->getSymNameAttr());
  }
  if (zeroMesh)
    return success();
  return module.emitError("zero=")
         << optimizer.zero << " of the optimizer: mesh @" << mesh->getSymName()
         << " has no such axis; its axes are:" << known;
}

LogicalResult StepBuilder::run() {
  if (failed(findZeroMesh()))
    return failure();
  if (request.microbatches < 1 || request.microbatches > kMostMicrobatches)
    return module.emitError("accumulate=")
           << request.microbatches << ": a step is of 1 to "
           << kMostMicrobatches << " microbatches";
  if (failed(chooseResult()) || failed(findUpdated()))
    return failure();
  SmallVector<Value> needed{getTerminator()->getOperand(result)};
  for (const Updated &one : updated)
    needed.push_back(getTerminator()->getOperand(one.result));
  markLookups(function, needed);
  bool isOne = request.microbatches == 1;
  if (!isOne && failed(microbatches.open()))
    return failure();
  if (failed(addLoss()) || failed(addGradients()) || failed(checkNames()))
    return failure();
  for (const Updated &one : updated)
    newValues.push_back(getTerminator()->getOperand(one.result));
  FailureOr<Value> step = addStep();
  if (failed(step) || failed(addStates()))
    return failure();
  if (!isOne)
    accumulate();
  addOptimizer(*step);
  return success();
}

LogicalResult mlir::dist::addTrainStep(ModuleOp module,
                                       const TrainRequest &request) {
  if (int level = getLevel(module); level > 1)
    return module.emitError("is of level ")
           << level
           << ": a step of training is made at levels 0 and 1, before "
              "--dist-propagate";
  std::string error;
  std::optional<Optimizer> optimizer =
      Optimizer::parse(request.optimizer, error);
  if (!optimizer)
    return module.emitError("optimizer=") << request.optimizer << ": " << error;
  FailureOr<func::FuncOp> found = findFunction(module, request.function);
  if (failed(found))
    return failure();
  func::FuncOp function = *found;
  if (!function || function.isExternal() || !function.getBody().hasOneBlock())
    return module.emitError("has no function with a body of one block to make "
                            "a step of training of");
  return StepBuilder(module, function, request, *optimizer).run();
}
