//===- Import.cpp - ONNX models to level-0 IR -----------------------------===//

#include "Import.h"
#include "frontends/bounds/Bounds.h"

#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Dist.h"
#include "frontends/onnx/Refusals.h"
#include "frontends/onnx/definitions/Definitions.h"
#include "frontends/onnx/operators/Converter.h"
#include "frontends/onnx/operators/RunningStatistics.h"
#include "frontends/onnx/reading/Scopes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "passes/sizes/StaticBounds.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dist::frontend;

/// Inputs that random numbers are keyed by.
static constexpr llvm::StringLiteral kRandomNames[] = {dist::kRandomSeed,
                                                       dist::kRandomStep};

namespace {
class Importer {
public:
  Importer(const Model &model, MLIRContext &context,
           const ImportOptions &options, ArrayRef<SizeLimit> limits)
      : model(model), options(options), limits(limits), scopes(model),
        parameters(model, scopes), emitter(&context), context(context) {}

  llvm::Expected<ImportedModel> run();
  /// Limits of open sizes within which more of the model could be imported.
  ArrayRef<SizeLimit> getFoundLimits() const { return refusals.getLimits(); }

private:
  template <typename... Parts> llvm::Error error(const Parts &...parts) {
    std::string text = model.file + ": ";
    ((text += parts), ...);
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   llvm::Twine(text));
  }

  llvm::Error addInputs();
  void findLive();
  bool isLive(const Node &node) const {
    return llvm::any_of(node.outputs, [&](const std::string &name) {
      return live.contains(name);
    });
  }
  llvm::Error convertNodes();
  bool isTaken(const Node &node);
  Value getTaken(const Guard *guard);
  llvm::Error convertNode(const Node &node);
  llvm::Expected<Tensor *> read(const std::string &name, const Node &node);
  llvm::Error checkResult(const Node &node, llvm::StringRef name,
                          const Tensor &tensor);
  llvm::Error checkDeclared(const std::string &what, llvm::StringRef name,
                            DType type, llvm::ArrayRef<int64_t> shape,
                            bool isInferred = false);
  /// Whether no number of the file would be taken for an open size.
  llvm::Error checkNumbers(llvm::StringRef name, const HostTensor &tensor);
  llvm::Error addOutputs();
  std::string nameUpdate(StringRef parameter);
  Value argumentOf(size_t parameter);
  std::array<Value, 2> getRandomKey();
  Location locationOf(llvm::StringRef name, unsigned line);
  ImportedModel finish();

  const Model &model;
  const ImportOptions &options;
  ArrayRef<SizeLimit> limits;
  Scopes scopes;
  Parameters parameters;
  ConverterTable converters;
  Emitter emitter;
  MLIRContext &context;

  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  Block *body = nullptr;
  /// Values so far; addresses are stable.
  llvm::StringMap<std::unique_ptr<Tensor>> values;
  /// What an operator that is not supported would have made.
  llvm::StringSet<> lost;
  /// What a branch that is not taken would have made.
  llvm::StringSet<> skipped;
  /// Whether branches that running decides on are taken, each an i1.
  llvm::DenseMap<const Guard *, Value> taken;
  llvm::StringSet<> live;
  /// Parameters by argument, after the inputs; none for those of randomKey.
  SmallVector<std::optional<size_t>> argumentParameters;
  std::array<Value, 2> randomKey;
  RunningStatistics statistics;
  /// Labels of nodes, by the note on their types.
  std::map<std::string, std::vector<std::string>> takenTypes;
  /// What the file says wrongly of values in between.
  std::vector<std::string> wrongSizes;
  llvm::DenseMap<size_t, Value> arguments;
  SmallVector<DType> outputTypes;
  llvm::StringMap<SmallVector<const ValueInfo *, 1>> declared;
  BoundDims bound;
  const Node *current = nullptr;

  Refusals refusals;
};
} // namespace

Location Importer::locationOf(llvm::StringRef name, unsigned line) {
  // ONNX files have no lines: the node's number stands for it.
  Location place = FileLineColLoc::get(&context, model.file, line, 1);
  return NameLoc::get(StringAttr::get(&context, name), place);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

llvm::Error Importer::addInputs() {
  for (const ValueInfo &input : model.inputs) {
    if (!input.isTensor || !input.ranked || sizeOf(input.type) == 0)
      return error("input '", input.name, "' is ",
                   input.isTensor ? "of type " + nameOf(input.type) +
                                        (input.ranked ? "" : ", without shape")
                                  : std::string("no tensor"),
                   ", which is not supported");
    llvm::Expected<Shape> shape =
        inputShape(model, input, bound, emitter.sizes);
    if (!shape)
      return shape.takeError();
    if (llvm::Error failure = checkDeclared("input '" + input.name + "'",
                                            input.name, input.type, *shape))
      return failure;
    auto tensor = std::make_unique<Tensor>();
    tensor->type = input.type;
    tensor->shape = *shape;
    tensor->value = emitter.addArgument(
        body, *shape, emitter.typeOf(input.type), locationOf(input.name, 0));
    values[input.name] = std::move(tensor);
  }
  return llvm::Error::success();
}

Value Importer::argumentOf(size_t parameter) {
  Value &value = arguments[parameter];
  if (!value) {
    const Parameter &entry = parameters.list()[parameter];
    value = body->addArgument(
        emitter.tensorType(entry.getShape(), emitter.typeOf(entry.getType())),
        locationOf(entry.name, 0));
    argumentParameters.push_back(parameter);
  }
  return value;
}

std::array<Value, 2> Importer::getRandomKey() {
  if (!randomKey.front())
    for (auto [value, name] : llvm::zip_equal(randomKey, kRandomNames)) {
      value =
          body->addArgument(emitter.tensorType({}, emitter.typeOf(DType::I64)),
                            locationOf(name, 0));
      argumentParameters.push_back(std::nullopt);
    }
  return randomKey;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void Importer::findLive() {
  for (const ValueInfo &output : model.outputs)
    live.insert(output.name);
  for (const Node &node : llvm::reverse(model.nodes)) {
    if (!isLive(node))
      continue;
    for (const std::string &input : node.inputs)
      if (!input.empty())
        live.insert(input);
  }
}

/// The value that a node reads: computed, an input, a parameter or a constant.
llvm::Expected<Tensor *> Importer::read(const std::string &name,
                                        const Node &node) {
  if (auto it = values.find(name); it != values.end())
    return it->second.get();
  // Parameters differ from reader to reader, so they are not remembered under
  // the value's name alone.
  if (std::optional<Parameters::Use> use = parameters.lookup(name, node)) {
    auto tensor = std::make_unique<Tensor>();
    Value argument = argumentOf(use->parameter);
    tensor->type = parameters.list()[use->parameter].getType();
    const Parameter &entry = parameters.list()[use->parameter];
    if (entry.padding > 0)
      argument = emitter.reshape(argument, entry.data.getShape());
    tensor->value =
        use->transposed ? emitter.transpose(argument, {1, 0}) : argument;
    tensor->shape = emitter.shapeOf(tensor->value);
    // In the layout that the node reads; nobody asks for a matrix.
    if (tensor->shape.size() < 2 && !entry.transposed)
      tensor->recorded = std::make_shared<HostTensor>(entry.data);
    std::string key =
        name + std::string(1, '\0') + std::to_string(node.ordinal);
    // A node may read it twice, and keeps what it has read first.
    return values.try_emplace(key, std::move(tensor)).first->second.get();
  }
  if (const HostTensor *constant = parameters.constant(name)) {
    if (llvm::Error failure = checkNumbers(name, *constant))
      return std::move(failure);
    auto tensor = std::make_unique<Tensor>();
    tensor->type = constant->getType();
    tensor->shape = Shape(constant->getShape());
    tensor->known = *constant;
    Tensor *result = tensor.get();
    values[name] = std::move(tensor);
    return result;
  }
  return error("node '", node.label(), "' reads '", name,
               "', which nothing defines");
}

/// Whether a value is all that the file says it is. A difference means that the
/// file, or this importer, is wrong. Sizes of what is no input, initialiser or
/// result come from another program's inference, which errs: a warning.
llvm::Error Importer::checkDeclared(const std::string &what,
                                    llvm::StringRef name, DType type,
                                    llvm::ArrayRef<int64_t> shape,
                                    bool isInferred) {
  auto it = declared.find(name);
  if (it == declared.end())
    return llvm::Error::success();
  for (const ValueInfo *info : it->second) {
    bool fits = !info->ranked || info->dims.size() == shape.size();
    fits &= info->type == DType::Undefined || info->type == type;
    if (fits && info->ranked)
      for (auto [dim, size] : llvm::zip(info->dims, shape))
        fits &= dim.size < 0 || dim.size == size;
    // A missing type is accepted; another kind than a tensor is an error.
    if (fits && info->isTensor)
      continue;
    std::set<std::string> names;
    for (int64_t size : shape)
      emitter.sizes.addNames(size, names);
    std::string remedy;
    for (const std::string &open : names)
      remedy += (remedy.empty() ? "; give --bind " : " --bind ") + open + "=N";
    Shape said;
    for (const Dim &dim : info->dims)
      said.push_back(dim.size);
    std::string text =
        what + " is declared " +
        (info->isTensor ? nameOf(info->type) + " " + toString(said)
                        : std::string("no tensor")) +
        ", but is " + nameOf(type) + " " + emitter.sizes.toString(shape);
    bool isSize = info->isTensor &&
                  (info->type == DType::Undefined || info->type == type);
    if (!isInferred || !isSize)
      return error(text, remedy);
    wrongSizes.push_back(text);
  }
  return llvm::Error::success();
}

llvm::Error Importer::checkResult(const Node &node, llvm::StringRef name,
                                  const Tensor &tensor) {
  if (tensor.isSequence)
    return llvm::Error::success();
  bool isResult = llvm::any_of(model.outputs, [&](const ValueInfo &output) {
    return output.name == name;
  });
  return checkDeclared("node '" + node.label().str() + "' (" + node.opName() +
                           "): '" + name.str() + "'",
                       name, tensor.type, tensor.shape,
                       /*isInferred=*/!isResult);
}

llvm::Error Importer::checkNumbers(llvm::StringRef name,
                                   const HostTensor &tensor) {
  if (tensor.getType() == DType::I64)
    for (int64_t i = 0; i < tensor.size(); ++i)
      if (isOpen(tensor.getInt(i)))
        return error("'", name, "' has the number ",
                     std::to_string(tensor.getInt(i)),
                     ", by which this importer means an open size");
  return llvm::Error::success();
}

llvm::Error Importer::convertNode(const Node &node) {
  const Converter *converter =
      node.domain.empty() ? converters.find(node.op) : nullptr;
  auto lose = [&] {
    for (const std::string &output : node.outputs)
      lost.insert(output);
    return llvm::Error::success();
  };
  auto loseOpen = [&](NodeContext &context, const std::string &why = "") {
    SmallVector<int64_t> all;
    std::string shapes;
    for (size_t i = 0; i < context.numInputs(); ++i)
      if (context.has(i) && hasOpen(context.in(i).shape)) {
        all.append(context.in(i).shape);
        shapes += (shapes.empty() ? "" : ", ") +
                  emitter.sizes.toString(context.in(i).shape);
      }
    for (size_t i = 0; i < context.numInputs(); ++i)
      if (context.has(i) && context.in(i).type == DType::I64)
        if (std::optional<SmallVector<int64_t>> list = context.openInts(i))
          all.append(*list);
    (void)context.open("", all);
    refusals.addSizes(context.getOpenNames(), {});
    refusals.add(node, node.op + " of open sizes" +
                           (shapes.empty() ? "" : " " + shapes) + why);
    return lose();
  };
  if (!converter) {
    refusals.add(node, node.opName());
    return lose();
  }
  for (const std::string &input : node.inputs)
    if (!input.empty() && lost.contains(input))
      return lose();

  std::vector<std::string> problems = checkDefinition(node, model.opset);
  for (const std::string &problem : problems)
    refusals.add(node, node.op + ": " + problem);
  if (!problems.empty())
    return lose();

  current = &node;
  std::string what =
      "node '" + node.label().str() + "' (" + node.opName() + "): ";
  emitter.setLocation(locationOf(node.label(), node.ordinal), scopes[node]);
  std::vector<Tensor *> inputs;
  for (const std::string &input : node.inputs) {
    if (input.empty() || skipped.contains(input)) {
      inputs.push_back(nullptr);
      continue;
    }
    llvm::Expected<Tensor *> tensor = read(input, node);
    if (!tensor)
      return tensor.takeError();
    inputs.push_back(*tensor);
  }
  for (Tensor *input : inputs)
    if (input && input->type == DType::String) {
      refusals.add(node, node.op + " of strings");
      return lose();
    }
  std::vector<std::string> taken;
  auto refuseTypes = [&](ArrayRef<Tensor> results) {
    taken.clear();
    problems = checkTypes(node, model.opset, inputs, results, taken);
    for (const std::string &problem : problems)
      refusals.add(node, node.op + ": " + problem);
    return !problems.empty();
  };
  if (refuseTypes({}))
    return lose();
  for (const std::string &note : taken)
    takenTypes[note].push_back(node.label().str());
  for (auto [i, input] : llvm::enumerate(inputs))
    if (input && input->isSequence && !converter->takesSequences)
      return error(what, "input ", std::to_string(i), " is a sequence");
  for (unsigned i = 0; i < converter->required; ++i)
    if (i >= inputs.size() || !inputs[i])
      return error(what, "input ", std::to_string(i), " is missing");

  emitter.taken = getTaken(node.guard.get());
  NodeContext context(node, model.opset, emitter, statistics, inputs);
  if (context.hasOpenInput() && !converter->takesOpenSizes)
    return loseOpen(context);
  LogicalResult result = foldNode(context);
  bool folded = false;
  for (const Tensor &tensor : context.getResults())
    folded |= tensor.type != DType::Undefined;
  if (succeeded(result) && !folded) {
    context.forgetReads();
    result = converter->convert(context);
  }
  if (emitter.sizes.wasExceeded())
    return loseOpen(
        context, ": of more than " + std::to_string(kMostSizeTerms) +
                     " terms, " + std::to_string(kMostSizeFactors) +
                     " factors in one, " + std::to_string(kMostSizeDepth) +
                     " functions within one another, or numbers beyond 2^46");
  if (failed(result) || !context.getMessage().empty()) {
    if (!context.isUnsupported())
      return error(what, context.getMessage());
    refusals.addSizes(context.getOpenNames(), context.getLimits());
    std::string text = context.getMessage();
    refusals.add(node, llvm::StringRef(text).contains(node.op)
                           ? text
                           : node.opName() + ": " + text);
    return lose();
  }
  for (const std::string &problem : findIgnored(context))
    refusals.add(node, node.op + ": " + problem);
  (void)refuseTypes(context.getResults());
  for (auto [name, tensor] : llvm::zip(node.outputs, context.getResults())) {
    if (name.empty())
      continue;
    if (tensor.type == DType::Undefined && !tensor.isSequence) {
      if (live.contains(name))
        refusals.add(node, node.opName() + " with output '" + name + "'");
      lost.insert(name);
      continue;
    }
    if (llvm::Error failure = checkResult(node, name, tensor))
      return failure;
    if (node.op == "Constant" && tensor.known)
      if (llvm::Error failure = checkNumbers(name, *tensor.known))
        return failure;
    values[name] = std::make_unique<Tensor>(std::move(tensor));
  }
  return llvm::Error::success();
}

/// Whether the node stands in no branch that is known not to be taken.
bool Importer::isTaken(const Node &node) {
  for (const Guard *guard = node.guard.get(); guard;
       guard = guard->outer.get()) {
    const HostTensor *known = parameters.constant(guard->condition);
    if (auto it = values.find(guard->condition); it != values.end())
      known = it->second->known ? &*it->second->known : nullptr;
    if (skipped.contains(guard->condition))
      return false;
    if (known && known->getType() == DType::Bool && known->size() == 1 &&
        (known->getInt(0) != 0) != guard->wanted)
      return false;
  }
  return true;
}

/// Whether running takes the branch, and those around it; null where all of
/// that is known.
Value Importer::getTaken(const Guard *guard) {
  if (!guard)
    return Value();
  if (auto found = taken.find(guard); found != taken.end())
    return found->second;
  Value all = getTaken(guard->outer.get());
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLocation();
  auto condition = values.find(guard->condition);
  if (condition != values.end() && condition->second->value &&
      !condition->second->known && condition->second->type == DType::Bool &&
      countElements(condition->second->shape) == 1) {
    Value holds = tensor::ExtractOp::create(
        builder, loc, emitter.reshape(condition->second->value, {}),
        ValueRange());
    Scalar scalar(builder, loc);
    if (!guard->wanted)
      holds = scalar.bitNot(holds);
    all = all ? scalar.bitAnd(all, holds) : holds;
  }
  return taken[guard] = all;
}

llvm::Error Importer::convertNodes() {
  for (const Node &node : model.nodes) {
    if (!isLive(node))
      continue;
    if (parameters.isAlias(node)) {
      const HostTensor *data = parameters.constant(node.outputs.front());
      if (llvm::Error failure = checkDeclared(
              "'" + node.outputs.front() + "'", node.outputs.front(),
              data->getType(), data->getShape()))
        return failure;
      continue;
    }
    if (!isTaken(node)) {
      for (const std::string &output : node.outputs)
        skipped.insert(output);
      continue;
    }
    if (llvm::Error failure = convertNode(node))
      return failure;
  }
  if (refusals.empty())
    return llvm::Error::success();
  return error(refusals.describe(model.opset));
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

llvm::Error Importer::addOutputs() {
  Node end;
  end.op = "output";
  end.ordinal = model.nodes.size() + 1;
  emitter.setLocation(locationOf("outputs", 0), "");
  SmallVector<Value> results;
  for (const ValueInfo &output : model.outputs) {
    end.name = output.name;
    llvm::Expected<Tensor *> tensor = read(output.name, end);
    if (!tensor)
      return tensor.takeError();
    if ((*tensor)->isSequence || (*tensor)->type == DType::String)
      return error("output '", output.name, "' is ",
                   (*tensor)->isSequence ? "a sequence" : "of strings",
                   ", which is not supported");
    if (llvm::Error failure = checkResult(end, output.name, **tensor))
      return failure;
    if (!(*tensor)->value)
      (*tensor)->value = emitter.constant(*(*tensor)->known);
    results.push_back((*tensor)->value);
    outputTypes.push_back((*tensor)->type);
  }
  for (auto &[argument, value] : statistics.current)
    results.push_back(value);
  func::ReturnOp::create(emitter.getBuilder(), emitter.getLocation(), results);
  return llvm::Error::success();
}

/// The result that replaces a parameter gets its name, unless an output of the
/// model has it.
std::string Importer::nameUpdate(StringRef parameter) {
  std::string name = parameter.str();
  while (llvm::any_of(model.outputs, [&](const ValueInfo &output) {
    return output.name == name;
  }))
    name += "_";
  return name;
}

/// Types and attributes of the function, without the arguments that only folded
/// or unused nodes read.
ImportedModel Importer::finish() {
  simplify(*body);
  ImportedModel result;
  Builder builder(&context);
  int64_t inputs = model.inputs.size();
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  auto named = [&](StringRef key, StringRef value, DType type,
                   ArrayRef<int64_t> shape = {}) {
    NamedAttrList attrs;
    SmallVector<StringRef> names;
    std::vector<std::string> owned(shape.size());
    for (auto [name, size] : llvm::zip_equal(owned, shape)) {
      if (isOpen(size))
        name = emitter.sizes.toString(size);
      names.push_back(name);
    }
    if (hasOpen(shape))
      attrs.set(dist::kDimensionsAttr, builder.getStrArrayAttr(names));
    attrs.set(key, builder.getStringAttr(value));
    if (isUnsigned(type))
      attrs.set(dist::kUnsignedAttr, builder.getUnitAttr());
    return attrs.getDictionary(&context);
  };
  for (const ValueInfo &input : model.inputs)
    argumentAttrs.push_back(named(dist::kInputAttr, input.name, input.type,
                                  values[input.name]->shape));
  llvm::BitVector unused(body->getNumArguments());
  for (auto [i, index] : llvm::enumerate(argumentParameters)) {
    if (body->getArgument(inputs + i).use_empty()) {
      unused.set(inputs + i);
      continue;
    }
    if (!index) {
      StringRef name =
          kRandomNames[body->getArgument(inputs + i) != randomKey[0]];
      NamedAttrList attrs(named(dist::kInputAttr, name, DType::I64));
      attrs.set(dist::kRandomAttr, builder.getStringAttr(name));
      argumentAttrs.push_back(attrs.getDictionary(&context));
      continue;
    }
    const Parameter &parameter = parameters.list()[*index];
    NamedAttrList attrs(
        named(dist::kParameterAttr, parameter.name, parameter.getType()));
    if (parameter.isBuffer)
      attrs.set(dist::kBufferAttr, builder.getUnitAttr());
    if (!parameter.aliases.empty())
      attrs.set(dist::kTiedAttr,
                builder.getStrArrayAttr(SmallVector<StringRef>(
                    parameter.aliases.begin(), parameter.aliases.end())));
    if (!parameter.doubt.empty())
      attrs.set(dist::kUnsureAttr, builder.getStringAttr(parameter.doubt));
    if (statistics.current.contains(body->getArgument(inputs + i)))
      attrs.set(dist::kUpdatedAttr, builder.getUnitAttr());
    argumentAttrs.push_back(attrs.getDictionary(&context));
    result.parameters.push_back(parameter);
  }
  body->eraseArguments(unused);
  for (auto [output, type] : llvm::zip_equal(model.outputs, outputTypes))
    resultAttrs.push_back(named(dist::kOutputAttr, output.name, type));
  for (Value argument : llvm::make_first_range(statistics.current)) {
    unsigned number = cast<BlockArgument>(argument).getArgNumber();
    auto name =
        cast<StringAttr>(argumentAttrs[number].get(dist::kParameterAttr));
    NamedAttrList attrs;
    attrs.set(dist::kOutputAttr, builder.getStringAttr(nameUpdate(name)));
    attrs.set(dist::kUpdatesAttr, builder.getI64IntegerAttr(number));
    resultAttrs.push_back(attrs.getDictionary(&context));
  }
  function.setFunctionType(builder.getFunctionType(
      body->getArgumentTypes(), body->getTerminator()->getOperandTypes()));
  function.setAllArgAttrs(argumentAttrs);
  function.setAllResultAttrs(resultAttrs);
  result.foldedParameters = parameters.findFolded(model, scopes);
  result.computedConstants = parameters.findComputed(model);
  result.takenTypes = std::move(takenTypes);
  result.wrongSizes = std::move(wrongSizes);
  result.leftStatistics = std::move(statistics.computed);
  result.lastStatistics = std::move(statistics.forgetful);
  result.module = std::move(module);
  return result;
}

llvm::Expected<ImportedModel> Importer::run() {
  if (model.opset < kFirstOpset || model.opset > kLastOpset)
    return error("is of opset ", std::to_string(model.opset),
                 ", but this importer knows ", std::to_string(kFirstOpset),
                 " to ", std::to_string(kLastOpset),
                 "; export it with opset_version between these");
  llvm::Expected<BoundDims> resolved = resolveBindings(model, options.bindings);
  if (!resolved)
    return resolved.takeError();
  bound = std::move(*resolved);
  for (const auto *infos : {&model.values, &model.outputs})
    for (const ValueInfo &value : *infos)
      declared[value.name].push_back(&value);
  for (const auto &[name, data] : model.initializers)
    if (llvm::Error failure = checkDeclared("initialiser '" + name + "'", name,
                                            data.getType(), data.getShape()))
      return std::move(failure);
  for (const Node &node : model.nodes)
    if (scopes[node].size() > kMostNameBytes)
      return error("node '", node.label(), "' is of a module whose path has ",
                   std::to_string(scopes[node].size()), " bytes, more than ",
                   std::to_string(kMostNameBytes));

  Location start = FileLineColLoc::get(&context, model.file, 0, 0);
  module = ModuleOp::create(start);
  OpBuilder builder(module->getBodyRegion());
  function = func::FuncOp::create(builder, start, "main",
                                  builder.getFunctionType({}, {}));
  body = function.addEntryBlock();
  emitter.setBlock(body);
  // A constant too large for the program goes to the weights.
  emitter.largeConstant = [&](const HostTensor &tensor) {
    std::string name = current ? current->label().str() : "constant";
    return argumentOf(parameters.addConstant(name, tensor));
  };
  emitter.dataOf = [&](Value value) -> const HostTensor * {
    auto argument = dyn_cast<BlockArgument>(value);
    size_t inputs = model.inputs.size();
    if (!argument || argument.getOwner() != body ||
        argument.getArgNumber() < inputs)
      return nullptr;
    std::optional<size_t> index =
        argumentParameters[argument.getArgNumber() - inputs];
    if (!index || parameters.list()[*index].getShape() !=
                      Shape(parameters.list()[*index].data.getShape()))
      return nullptr;
    return &parameters.list()[*index].data;
  };
  emitter.randomKey = [&] { return getRandomKey(); };
  findLive();
  if (llvm::Error failure = addInputs())
    return std::move(failure);
  statistics.firstParameter = body->getNumArguments();
  for (const SizeLimit &limit : limits) {
    auto [a, b] = emitter.sizes.assume(limit);
    emitter.setLocation(locationOf(limit.node, 0), "");
    emitter.checkAtLeast(a, b,
                         emitter.sizes.toString(b) + " must be at most " +
                             emitter.sizes.toString(a) + ": what node '" +
                             limit.node + "' reads does not fit else");
  }
  if (llvm::Error failure = convertNodes())
    return std::move(failure);
  if (llvm::Error failure = addOutputs())
    return std::move(failure);
  for (const ValueInfo &input : model.inputs)
    if (randomKey.front() && llvm::is_contained(kRandomNames, input.name))
      return error(
          "has an input '", input.name,
          "', which is what random numbers are keyed by here; rename it");
  ImportedModel result = finish();
  if (failed(verify(*result.module)))
    return error("the imported program is malformed (see above); this is an "
                 "error in dist-import");
  if (failed(mlir::dist::checkStaticBounds(*result.module)))
    return error("the model has numbers that do not fit its tensors");
  return std::move(result);
}

std::vector<std::string> mlir::dist::frontend::supportedOperators() {
  return ConverterTable().names();
}

std::pair<int64_t, int64_t> mlir::dist::frontend::supportedOpsets() {
  return {kFirstOpset, kLastOpset};
}

llvm::Expected<ImportedModel>
mlir::dist::frontend::importModel(const Model &model, MLIRContext &context,
                                  const ImportOptions &options) {
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, DistDialect,
                      func::FuncDialect, linalg::LinalgDialect,
                      math::MathDialect, tensor::TensorDialect>();
  // A limit must be known before anything is made: again with those found.
  std::vector<SizeLimit> limits;
  while (true) {
    Importer importer(model, context, options, limits);
    llvm::Expected<ImportedModel> imported = importer.run();
    size_t count = limits.size();
    if (!imported)
      for (const SizeLimit &limit : importer.getFoundLimits())
        if (llvm::none_of(limits, [&](const SizeLimit &other) {
              return other.terms == limit.terms;
            }))
          limits.push_back(limit);
    if (limits.size() == count)
      return imported;
    llvm::consumeError(imported.takeError());
  }
}
