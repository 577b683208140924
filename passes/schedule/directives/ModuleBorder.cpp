//===- ModuleBorder.cpp - What goes into a module and out -----------------===//
//
// Finds borders by the ops' scopes and the origins of their operands.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/directives/ModuleBorder.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::commutesWithSum(Operation *op, ArrayRef<OpOperand *> flagged) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface)
    return false;
  SmallVector<bool> partial(op->getNumOperands(), false);
  for (OpOperand *operand : flagged)
    partial[operand->getOperandNumber()] = true;
  return iface.getPartialResult(partial, ReductionKind::Sum) ==
         PartialResult::Partial;
}

bool ModuleBorder::contains(Operation *op) {
  for (; op && !isa<FunctionOpInterface>(op); op = op->getParentOp())
    if (auto scope = op->getAttrOfType<StringAttr>(kScopeAttr))
      return isWithin(scope);
  return false;
}

bool ModuleBorder::isWithin(StringAttr scope) {
  auto [entry, inserted] = known.try_emplace(scope, false);
  if (inserted) {
    StringRef rest = scope.getValue();
    entry->second = path.empty() || (rest.consume_front(path) &&
                                     (rest.empty() || rest.front() == '.'));
  }
  return entry->second;
}

bool ModuleBorder::isOutside(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || !contains(op);
}

/// Ops that directives insert do not change the order of inputs: they count as
/// their readers.
ModuleBorder::ReadPlace ModuleBorder::getReadPlace(OpOperand &use) {
  Operation *reader = use.getOwner();
  if (unsigned position = scopes.getPosition(reader))
    return {position, use.getOperandNumber()};
  ReadPlace first(~0u, ~0u);
  for (OpOperand &next : reader->getUses())
    if (contains(next.getOwner()))
      first = std::min(first, getReadPlace(next));
  return first;
}

template <typename Place>
static void
sortByPlace(SmallVectorImpl<std::tuple<Place, unsigned, Value>> &values) {
  llvm::sort(values, [](const auto &a, const auto &b) {
    return std::make_pair(std::get<0>(a), std::get<1>(a)) <
           std::make_pair(std::get<0>(b), std::get<1>(b));
  });
}

ModuleBorder::Reads ModuleBorder::findReads() {
  // Ops within an op that say nothing else belong to its module.
  Reads reads;
  if (ops.empty())
    return reads;
  auto scopeName = StringAttr::get(ops.front()->getContext(), kScopeAttr);
  for (Operation *op : ops)
    op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
      if (nested != op && nested->getDiscardableAttr(scopeName))
        return WalkResult::skip();
      for (OpOperand &operand : nested->getOpOperands())
        if (isa<RankedTensorType>(operand.get().getType()) &&
            isOutside(operand.get()))
          reads[operand.get()].push_back(&operand);
      return WalkResult::advance();
    });
  return reads;
}

std::pair<ModuleBorder::Inputs, ModuleBorder::Inputs>
ModuleBorder::findActivations() {
  Inputs features, all;
  for (Operation *op : ops) {
    if (auto contraction = origins.findFeatureContraction(op)) {
      Value value = contraction->activation->get();
      while (!isOutside(value)) {
        Operation *maker = value.getDefiningOp();
        SmallVector<OpOperand *, 4> data = getDataOperands(maker);
        if (data.size() != 1 ||
            !(isa<ShardingConstraintOp>(maker) || commutesWithSum(maker, data)))
          break;
        value = data.front()->get();
      }
      if (isOutside(value))
        features.insert(value);
    }
    for (OpOperand *operand : getDataOperands(op))
      if (isOutside(operand->get()) &&
          origins.get(operand->get()).kind == Origin::Computed)
        all.insert(operand->get());
  }
  return {features, all};
}

ModuleBorder::Reads ModuleBorder::sortInputs(const Inputs &inputs,
                                             Reads reads) {
  SmallVector<std::tuple<ReadPlace, unsigned, Value>> ordered;
  for (Value input : inputs) {
    ReadPlace first(~0u, ~0u);
    for (OpOperand *use : reads[input])
      first = std::min(first, getReadPlace(*use));
    ordered.emplace_back(first, ordered.size(), input);
  }
  sortByPlace(ordered);
  Reads sorted;
  for (auto &[place, number, input] : ordered)
    sorted[input] = std::move(reads[input]);
  return sorted;
}

ModuleBorder::Reads ModuleBorder::findInputs() {
  // The tensor that a weight is applied to is the module's input; masks and the
  // like are read as well.
  auto [features, all] = findActivations();
  return sortInputs(features.empty() ? all : features, findReads());
}

/// Ops that only place a value, or add rows to it.
static bool keepsRows(Operation *op) {
  return isa<SyncOp, ShardingConstraintOp, tensor::PadOp>(op);
}

/// Also values of others that the module only adds rows to.
static bool isReadInWindows(OpOperand &use, int64_t dim) {
  Operation *reader = use.getOwner();
  if (keepsRows(reader))
    return llvm::any_of(reader->getResult(0).getUses(), [&](OpOperand &next) {
      return isReadInWindows(next, dim);
    });
  return reader->getNumResults() > 0 &&
         llvm::is_contained(getDataOperands(reader), &use) &&
         getShardingRule(reader).operands[use.getOperandNumber()].getWindow(
             dim) != nullptr;
}

bool ModuleBorder::isReadInWindows(Value value, int64_t dim) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    return contains(use.getOwner()) && ::isReadInWindows(use, dim);
  });
}

bool ModuleBorder::isAddedUpAlong(Value value, int64_t dim) {
  SmallVector<std::pair<Value, int64_t>> todo = {{value, dim}};
  llvm::SmallDenseSet<std::pair<Value, int64_t>> seen(todo.begin(), todo.end());
  while (!todo.empty()) {
    auto [at, along] = todo.pop_back_val();
    for (OpOperand &use : at.getUses()) {
      Operation *reader = use.getOwner();
      if (!contains(reader) ||
          !llvm::is_contained(getDataOperands(reader), &use))
        continue;
      ShardingRule rule = getShardingRule(reader);
      for (unsigned factor :
           rule.operands[use.getOperandNumber()].dims[along]) {
        if (rule.factors[factor].kind != FactorKind::Parallel)
          return true;
        for (auto [number, result] : llvm::enumerate(rule.results))
          for (auto [place, factors] : llvm::enumerate(result.dims))
            if (std::pair<Value, int64_t> next(reader->getResult(number),
                                               place);
                llvm::is_contained(factors, factor) && seen.insert(next).second)
              todo.push_back(next);
      }
    }
  }
  return false;
}

ModuleBorder::Reads ModuleBorder::findHaloInputs(int64_t dim) {
  auto [features, all] = findActivations();
  auto choose = [&](const Inputs &inputs,
                    bool (ModuleBorder::*isChosen)(Value, int64_t)) {
    Inputs chosen;
    for (Value input : inputs) {
      int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
      if (dim >= -rank && dim < rank &&
          (this->*isChosen)(input, dim < 0 ? dim + rank : dim))
        chosen.insert(input);
    }
    return chosen;
  };
  Inputs chosen = choose(all, &ModuleBorder::isReadInWindows);
  if (chosen.empty())
    chosen = choose(features.empty() ? all : features,
                    &ModuleBorder::isAddedUpAlong);
  return sortInputs(chosen.empty() ? features : chosen, findReads());
}

SmallVector<Value> ModuleBorder::findOutputs() {
  SmallVector<Value> outputs;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (isa<RankedTensorType>(result.getType()) &&
          llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !contains(user); }) &&
          origins.get(result).kind == Origin::Computed)
        outputs.push_back(result);
  // An op that directives put after a value counts as the value.
  auto getPosition = [&](Value output) {
    Operation *op = output.getDefiningOp();
    while (op && scopes.getPosition(op) == 0) {
      SmallVector<OpOperand *, 4> data = getDataOperands(op);
      op = data.empty() ? nullptr : data.front()->get().getDefiningOp();
    }
    return op ? scopes.getPosition(op) : 0;
  };
  SmallVector<std::tuple<unsigned, unsigned, Value>> ordered;
  for (Value output : outputs)
    ordered.emplace_back(getPosition(output), ordered.size(), output);
  sortByPlace(ordered);
  outputs.clear();
  for (auto &[place, number, output] : ordered)
    outputs.push_back(output);
  return outputs;
}

SmallVector<OpOperand *> ModuleBorder::findOutsideUses(Value output) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : output.getUses())
    if (!contains(use.getOwner()))
      uses.push_back(&use);
  return uses;
}
