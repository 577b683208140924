//===- Interpreter.cpp - Evaluates modules on simulated devices -----------===//

#include "test/generator/Interpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

/// Work, in elements, that no test module takes: endless loops end here.
static constexpr int64_t kMaxSteps = 200'000'000;

LogicalResult Interpreter::fail(Operation *op, const Twine &why) {
  if (error.empty()) {
    llvm::raw_string_ostream os(error);
    os << op->getName() << " at " << op->getLoc() << ": " << why;
  }
  return failure();
}

Tensor Interpreter::indexTensor(int64_t value) {
  Scalar scalar;
  scalar.i = value;
  return Tensor::scalar(IndexType::get(module.getContext()), scalar);
}

SmallVector<int64_t> Interpreter::getInts(ArrayRef<OpFoldResult> list) {
  SmallVector<int64_t> out;
  for (OpFoldResult entry : list)
    out.push_back(isa<Attribute>(entry)
                      ? cast<IntegerAttr>(cast<Attribute>(entry)).getInt()
                      : getInt(cast<Value>(entry)));
  return out;
}

FailureOr<int64_t> Interpreter::getCommon(Operation *op, Value value) {
  const PerDevice &held = all(value);
  int64_t first = held[0].read()[0].i;
  for (const Tensor &other : held)
    if (other.read()[0].i != first)
      return fail(op, "devices go different ways: a value that steers it is " +
                          Twine(first) + " on one and " +
                          Twine(other.read()[0].i) + " on another");
  return first;
}

FailureOr<std::vector<PerDevice>>
Interpreter::run(func::FuncOp function, std::vector<PerDevice> arguments) {
  Values frame;
  Values *outer = values;
  values = &frame;
  auto results = runBlock(function.getBody().front(), std::move(arguments));
  values = outer;
  return results;
}

FailureOr<std::vector<PerDevice>>
Interpreter::runBlock(Block &block, std::vector<PerDevice> arguments) {
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), arguments))
    (*values)[argument] = std::move(value);
  for (Operation &op : block.without_terminator())
    if (failed(runOp(op)))
      return failure();
  std::vector<PerDevice> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(all(value));
  return results;
}

LogicalResult Interpreter::runOp(Operation &op) {
  for (Value result : op.getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      if (type.hasStaticShape())
        steps += type.getNumElements() * devices.getCount();
  if (++steps > kMaxSteps)
    return fail(&op, "runs too long");

  LogicalResult done = success();
  if (auto call = dyn_cast<func::CallOp>(op))
    done = runCall(call);
  else if (auto loop = dyn_cast<scf::ForOp>(op))
    done = runFor(loop);
  else if (auto loop = dyn_cast<scf::WhileOp>(op))
    done = runWhile(loop);
  else if (auto branch = dyn_cast<scf::IfOp>(op))
    done = runIf(branch);
  else if (auto branch = dyn_cast<scf::IndexSwitchOp>(op))
    done = runSwitch(branch);
  else if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    done = runLinalg(structured);
  else if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op))
    done = runSoftmax(softmax);
  else if (auto attention = dyn_cast<AttentionLikeOpInterface>(op))
    done = runAttention(attention);
  else {
    bool isKnown = false;
    done = runTensorOp(&op, isKnown);
    if (!isKnown)
      done = runCollective(&op, isKnown);
    if (!isKnown)
      done = runElementwise(&op);
  }
  if (failed(done))
    return failure();
  // Ops that lie about their results' sizes.
  for (Value result : op.getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      continue;
    for (const Tensor &tensor : all(result))
      for (auto [size, expected] :
           llvm::zip_equal(tensor.getShape(), type.getShape()))
        if (size != expected && !ShapedType::isDynamic(expected))
          return fail(
              &op, "makes a tensor of shape " + printIndex(tensor.getShape()) +
                       ", but its type says " + printIndex(type.getShape()));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Whole programs
//===----------------------------------------------------------------------===//

FailureOr<std::vector<Tensor>>
mlir::dist::test::runWhole(ModuleOp module, ArrayRef<Tensor> arguments,
                           Garbage garbage, std::string &error) {
  auto entry = cast<func::FuncOp>(getEntryFunction(module));
  Devices one;
  Interpreter interpreter(module, one, garbage);
  std::vector<PerDevice> inputs;
  for (const Tensor &argument : arguments)
    inputs.push_back({argument});
  auto results = interpreter.run(entry, std::move(inputs));
  if (failed(results)) {
    error = interpreter.getError();
    return failure();
  }
  std::vector<Tensor> out;
  for (PerDevice &result : *results)
    out.push_back(result[0]);
  return out;
}

/// A placement that a level-3 module may leave away: replicated.
static ShardingAttr orReplicated(ShardingAttr sharding, MLIRContext *context,
                                 int64_t rank) {
  return sharding ? sharding
                  : ShardingAttr::getReplicated(
                        FlatSymbolRefAttr::get(context, "m"), rank);
}

Devices mlir::dist::test::getDevices(ModuleOp module) {
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? Devices() : Devices((*meshes.begin()).getAxes());
}

FailureOr<std::vector<PerDevice>>
mlir::dist::test::cutArguments(func::FuncOp entry, const Devices &devices,
                               ArrayRef<Tensor> arguments, Garbage &garbage,
                               std::string &error) {
  std::vector<PerDevice> inputs;
  for (auto [number, whole] : llvm::enumerate(arguments)) {
    auto type = dyn_cast<RankedTensorType>(entry.getArgument(number).getType());
    ShardingAttr sharding = orReplicated(
        entry.getArgAttrOfType<ShardingAttr>(number, kShardingAttr),
        entry.getContext(), whole.getRank());
    PerDevice parts;
    for (int64_t device = 0; device < devices.getCount(); ++device) {
      parts.push_back(devices.cut(whole, sharding, device, garbage));
      for (int64_t dim = 0; type && dim < type.getRank(); ++dim)
        if (!type.isDynamicDim(dim) &&
            type.getDimSize(dim) != parts.back().getShape()[dim]) {
          llvm::raw_string_ostream(error)
              << "argument " << number << " is of type " << type
              << ", but its placement gives " << parts.back().getShape()[dim]
              << " on dimension " << dim;
          return failure();
        }
    }
    inputs.push_back(std::move(parts));
  }
  return inputs;
}

FailureOr<std::vector<Tensor>>
mlir::dist::test::joinResults(func::FuncOp entry, const Devices &devices,
                              ArrayRef<PerDevice> results, std::string &error) {
  std::vector<Tensor> out;
  for (auto [number, parts] : llvm::enumerate(results)) {
    auto sharding =
        entry.getResultAttrOfType<ShardingAttr>(number, kShardingAttr);
    if (sharding && sharding.isPartial()) {
      error = "result " + std::to_string(number) + " is left pending";
      return failure();
    }
    SmallVector<int64_t> shape(parts[0].getShape());
    // A size that only running tells is divided evenly.
    if (auto global =
            entry.getResultAttrOfType<TypeAttr>(number, kGlobalTypeAttr))
      for (auto [dim, size] : llvm::enumerate(
               cast<RankedTensorType>(global.getValue()).getShape()))
        shape[dim] =
            !ShapedType::isDynamic(size) ? size
            : sharding
                ? shape[dim] *
                      devices.getSize(sharding.getDims()[dim].getAllAxes())
                : shape[dim];
    std::string problem;
    out.push_back(devices.join(
        parts, parts[0].getElementType(), shape,
        orReplicated(sharding, entry.getContext(), shape.size()), problem));
    if (!problem.empty()) {
      error = "result " + std::to_string(number) + ": " + problem;
      return failure();
    }
  }
  return out;
}

FailureOr<std::vector<Tensor>>
mlir::dist::test::runOnDevices(ModuleOp module, ArrayRef<Tensor> arguments,
                               Garbage garbage, std::string &error) {
  auto entry = cast<func::FuncOp>(getEntryFunction(module));
  Devices devices = getDevices(module);
  auto inputs = cutArguments(entry, devices, arguments, garbage, error);
  if (failed(inputs))
    return failure();
  Interpreter interpreter(module, devices, garbage);
  auto results = interpreter.run(entry, std::move(*inputs));
  if (failed(results)) {
    error = interpreter.getError();
    return failure();
  }
  return joinResults(entry, devices, *results, error);
}
