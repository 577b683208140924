//===- ScopeIndex.cpp - The ops of a program by module path ---------------===//
//
// One walk over the program; directives then look only at what they name.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/names/ScopeIndex.h"
#include "dialects/dist/IR/Attributes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/ErrorHandling.h"

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

std::string mlir::dist::joinPaths(StringRef outer, StringRef inner) {
  return (outer + (outer.empty() ? "" : ".") + inner).str();
}

ScopeIndex::ScopeIndex(ModuleOp module)
    : scopeName(StringAttr::get(module.getContext(), kScopeAttr)),
      module(module) {
  for (auto function : module.getOps<FunctionOpInterface>()) {
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
      if (auto name =
              function.getArgAttrOfType<StringAttr>(i, kParameterAttr)) {
        addTensor(TargetKind::Parameter, {name, function, i, false});
        addTiedNames(function.getArgAttrOfType<ArrayAttr>(i, kTiedAttr));
      }
      if (auto name = function.getArgAttrOfType<StringAttr>(i, kInputAttr))
        addTensor(TargetKind::Input, {name, function, i, false});
    }
    for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
      if (auto name = function.getResultAttrOfType<StringAttr>(i, kOutputAttr))
        addTensor(TargetKind::Output, {name, function, i, true});
  }
  opsOf.emplace_back();
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    positions[op] = positions.size() + 1;
    add(op);
  });
}

ScopeIndex::TensorNames &ScopeIndex::getTensorNames(TargetKind kind) {
  switch (kind) {
  case TargetKind::Parameter:
    return parameters;
  case TargetKind::Input:
    return inputs;
  case TargetKind::Output:
    return outputs;
  case TargetKind::Value:
    return valueNames;
  case TargetKind::Module:
    break;
  }
  llvm_unreachable("modules are no tensors");
}

const ScopeIndex::TensorNames &
ScopeIndex::getTensorNames(TargetKind kind) const {
  return const_cast<ScopeIndex *>(this)->getTensorNames(kind);
}

void ScopeIndex::addTensor(TargetKind kind, NamedTensor tensor) {
  TensorNames &names = getTensorNames(kind);
  names.numbers[names.names.insert(tensor.name)].push_back(tensors.size());
  tensors.push_back(tensor);
}

void ScopeIndex::addTiedNames(ArrayAttr names) {
  if (!names)
    return;
  for (auto name : names.getAsRange<StringAttr>())
    parameters.numbers[parameters.names.insert(name.getValue())].push_back(
        tensors.size() - 1);
}

/// The name of the node of the model that `op` came from, if it has one.
static StringAttr getNodeName(Operation *op) {
  auto name = op->getLoc()->findInstanceOf<NameLoc>();
  return name && !name.getName().empty() ? name.getName() : StringAttr();
}

void ScopeIndex::addValueNames() {
  if (hasValueNames)
    return;
  hasValueNames = true;
  llvm::DenseMap<Attribute, unsigned> numbers;
  auto addOp = [&](Operation *op) {
    StringAttr name = getNodeName(op);
    // Destinations and constants are made where they are used.
    if (!name || op->hasTrait<OpTrait::ConstantLike>() ||
        isa<tensor::EmptyOp, linalg::FillOp>(op))
      return;
    for (Value result : op->getResults()) {
      if (!isa<RankedTensorType>(result.getType()) ||
          llvm::all_of(result.getUsers(), [&](Operation *user) {
            return getNodeName(user) == name;
          }))
        continue;
      auto [entry, isNew] = numbers.try_emplace(name, values.size());
      if (isNew) {
        values.push_back({name.getValue(), {}});
        valueNames.numbers[valueNames.names.insert(name.getValue())].push_back(
            entry->second);
      }
      values[entry->second].values.push_back(result);
    }
  };
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    addOp(op);
    return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                     : WalkResult::advance();
  });
}

void ScopeIndex::add(Operation *op) {
  auto scope =
      llvm::dyn_cast_or_null<StringAttr>(op->getDiscardableAttr(scopeName));
  if (!scope)
    return;
  auto [entry, isNew] = numberOf.try_emplace(scope, 0);
  if (isNew) {
    entry->second =
        scope.empty() ? NameTrie::kRoot : paths.insert(scope.getValue());
    opsOf.resize(paths.size());
  }
  opsOf[entry->second].push_back(op);
}

SmallVector<unsigned> ScopeIndex::match(TargetKind kind,
                                        const NamePattern &pattern) const {
  if (kind == TargetKind::Module)
    return paths.match(pattern);
  SmallVector<unsigned> found;
  const TensorNames &names = getTensorNames(kind);
  for (unsigned node : names.names.match(pattern))
    if (auto tensors = names.numbers.find(node); tensors != names.numbers.end())
      llvm::append_range(found, tensors->second);
  llvm::sort(found);
  // One may have several names.
  found.erase(llvm::unique(found), found.end());
  return found;
}

SmallVector<StringRef> ScopeIndex::getNames(TargetKind kind) const {
  SmallVector<StringRef> names;
  const NameTrie &trie =
      kind == TargetKind::Module ? paths : getTensorNames(kind).names;
  for (unsigned node = NameTrie::kRoot + 1; node < trie.size(); ++node)
    if (kind == TargetKind::Module || getTensorNames(kind).numbers.count(node))
      names.push_back(trie.getName(node));
  return names;
}

SmallVector<Operation *> ScopeIndex::getOps(unsigned scope) const {
  SmallVector<Operation *> ops;
  SmallVector<unsigned> pending{scope};
  while (!pending.empty()) {
    unsigned next = pending.pop_back_val();
    llvm::append_range(ops, opsOf[next]);
    ArrayRef<unsigned> children = paths.getChildren(next);
    pending.append(children.rbegin(), children.rend());
  }
  return ops;
}
