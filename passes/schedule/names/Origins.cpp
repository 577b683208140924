//===- Origins.cpp - Where the tensors that an op reads come from ---------===//

#include "passes/schedule/names/Origins.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace mlir::dist;

SmallVector<OpOperand *, 4> mlir::dist::getDataOperands(Operation *op) {
  SmallVector<OpOperand *, 4> data;
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()) &&
        !(destination && destination.isDpsInit(&operand)))
      data.push_back(&operand);
  return data;
}

bool mlir::dist::holdsFactor(const TensorRule &tensor, unsigned factor) {
  return llvm::any_of(tensor.dims, [&](ArrayRef<unsigned> factors) {
    return llvm::is_contained(factors, factor);
  });
}

/// The tensor that the op behind `tensor` makes it from, if that is only one.
static OpOperand *getOnlySource(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return nullptr;
  SmallVector<OpOperand *, 4> data = getDataOperands(op);
  return data.size() == 1 ? data.front() : nullptr;
}

/// The kind of a value that comes from no single other one.
static Origin::Kind classify(Value root) {
  if (isa<BlockArgument>(root))
    return isArgumentWith(root, kParameterAttr) ? Origin::Parameter
                                                : Origin::Computed;
  Operation *op = root.getDefiningOp();
  // linalg.fill reads no tensor, and has a region.
  bool isConstant =
      (op->getNumRegions() == 0 || isa<DestinationStyleOpInterface>(op)) &&
      getDataOperands(op).empty();
  return isConstant ? Origin::Constant : Origin::Computed;
}

Origin Origins::get(Value tensor) {
  SmallVector<Value> passed;
  Origin origin;
  while (true) {
    if (auto found = known.find(tensor); found != known.end()) {
      origin = found->second;
      break;
    }
    passed.push_back(tensor);
    OpOperand *source = getOnlySource(tensor);
    if (!source) {
      origin = {classify(tensor), tensor};
      break;
    }
    tensor = source->get();
  }
  for (Value value : passed)
    known[value] = origin;
  return origin;
}

SmallVector<OpOperand *, 4> Origins::getChain(Value tensor) {
  SmallVector<OpOperand *, 4> chain;
  while (OpOperand *source = getOnlySource(tensor)) {
    chain.push_back(source);
    tensor = source->get();
  }
  return chain;
}

std::optional<NamedTensor> Origins::findParameter(Value tensor) {
  Origin origin = get(tensor);
  if (origin.kind != Origin::Parameter)
    return std::nullopt;
  auto argument = cast<BlockArgument>(origin.root);
  auto function = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  unsigned i = argument.getArgNumber();
  auto name = function.getArgAttrOfType<StringAttr>(i, kParameterAttr);
  return NamedTensor{name.getValue(), function, i, false};
}

std::optional<NamedTensor> Origins::findParameter(Operation *op) {
  for (OpOperand *operand : getDataOperands(op))
    if (auto parameter = findParameter(operand->get()))
      return parameter;
  return std::nullopt;
}

std::optional<FeatureContraction>
Origins::findFeatureContraction(Operation *op) {
  SmallVector<OpOperand *, 4> data = getDataOperands(op);
  if (data.size() < 2 || op->getNumResults() != 1)
    return std::nullopt;
  ShardingRule rule = getShardingRule(op);
  if (!rule.isContraction)
    return std::nullopt;
  // Weights are mostly the right operand: where both come from parameters, the
  // last is taken as the weight.
  for (OpOperand *parameter : llvm::reverse(data)) {
    if (get(parameter->get()).kind != Origin::Parameter)
      continue;
    for (OpOperand *activation : data) {
      if (activation == parameter)
        continue;
      for (unsigned i = 0, e = rule.factors.size(); i < e; ++i)
        if (rule.factors[i].kind == FactorKind::Reduction &&
            holdsFactor(rule.operands[parameter->getOperandNumber()], i) &&
            holdsFactor(rule.operands[activation->getOperandNumber()], i))
          return FeatureContraction{op, std::move(rule), parameter, activation};
    }
  }
  return std::nullopt;
}
