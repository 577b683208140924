//===- ScopeIndex.cpp - The ops of a program by module path ---------------===//
//
// One walk over the program; directives then look only at what they name.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/ScopeIndex.h"

using namespace mlir;
using namespace mlir::dist;

Type NamedTensor::getType() const {
  FunctionOpInterface f = function;
  return isResult ? f.getResultTypes()[index] : f.getArgumentTypes()[index];
}

std::string NamedTensor::describe() const {
  return (isResult ? "result " : "argument ") + std::to_string(index) + " (\"" +
         name.str() + "\")";
}

ScopeIndex::ScopeIndex(ModuleOp module) {
  for (auto function : module.getOps<FunctionOpInterface>()) {
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
      if (auto name = function.getArgAttrOfType<StringAttr>(i, kParameterAttr))
        parameters.push_back({name.getValue(), function, i, false});
      if (auto name = function.getArgAttrOfType<StringAttr>(i, kInputAttr))
        inputs.push_back({name.getValue(), function, i, false});
    }
    for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
      if (auto name = function.getResultAttrOfType<StringAttr>(i, kOutputAttr))
        outputs.push_back({name.getValue(), function, i, true});
  }

  module.walk<WalkOrder::PreOrder>([&](Operation *op) { add(op); });
}

void ScopeIndex::add(Operation *op) {
  auto scope = op->getAttrOfType<StringAttr>(kScopeAttr);
  if (!scope || scope.empty())
    return;
  auto [entry, inserted] = numberOf.try_emplace(scope, 0);
  if (inserted)
    entry->second = addPath(scope.getValue());
  scopes[entry->second].ops.push_back(op);
}

unsigned ScopeIndex::addPath(StringRef path) {
  if (auto found = numbers.find(path); found != numbers.end())
    return found->second;
  size_t dot = path.rfind('.');
  std::optional<unsigned> parent;
  if (dot != StringRef::npos && dot != 0)
    parent = addPath(path.take_front(dot));
  unsigned number = paths.size();
  paths.push_back(path);
  scopes.emplace_back();
  numbers.try_emplace(path, number);
  if (parent)
    scopes[*parent].children.push_back(number);
  return number;
}

SmallVector<Operation *> ScopeIndex::getOps(StringRef path) const {
  SmallVector<Operation *> ops;
  auto found = numbers.find(path);
  if (found == numbers.end())
    return ops;
  SmallVector<unsigned> pending{found->second};
  while (!pending.empty()) {
    const Scope &scope = scopes[pending.pop_back_val()];
    llvm::append_range(ops, scope.ops);
    pending.append(scope.children.rbegin(), scope.children.rend());
  }
  return ops;
}

ArrayRef<NamedTensor> ScopeIndex::getTensors(ShardTarget kind) const {
  switch (kind) {
  case ShardTarget::Parameter:
    return parameters;
  case ShardTarget::Input:
    return inputs;
  case ShardTarget::Output:
    return outputs;
  case ShardTarget::Column:
  case ShardTarget::Row:
    break;
  }
  return {};
}
