//===- Parameters.cpp - Initialisers by the model's own names -------------===//

#include "frontends/onnx/reading/Parameters.h"
#include "frontends/onnx/reading/ParameterRoles.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir::dist::frontend;
using namespace llvm;

Parameters::Parameters(const Model &model, const Scopes &scopes) {
  // A safetensors file has another use for it.
  parameterNames.insert("__metadata__");
  for (const auto &[name, data] : model.initializers) {
    entryOf[name] = entries.size();
    entries.emplace_back().data = data;
  }
  // Equal initialisers are stored once; Identity nodes give them their names
  // back. Equal to the last bit and not all the same number: one tensor with
  // several names. All the same number: several that are alike by chance, such
  // as the scales of norms that were never trained.
  for (const Node &node : model.nodes) {
    if (node.op != "Identity" || node.inputs.size() != 1)
      continue;
    auto it = entryOf.find(node.inputs[0]);
    if (it == entryOf.end())
      continue;
    size_t entry = it->second;
    if (!isMadeUp(node.outputs[0]) && entries[entry].data.isSplat()) {
      HostTensor data = entries[entry].data;
      entry = entries.size();
      entries.emplace_back().data = data;
    }
    entryOf[node.outputs[0]] = entry;
  }
  for (const Node &node : model.nodes) {
    if (isAlias(node))
      continue;
    for (auto [index, input] : enumerate(node.inputs)) {
      auto it = entryOf.find(input);
      if (it == entryOf.end())
        continue;
      Entry &entry = entries[it->second];
      entry.isStatistic |= isStatistic(node, index);
      if (entry.firstUser)
        continue;
      entry.firstUser = &node;
      entry.firstInput = index;
    }
  }
  name(model, scopes);
  nameGroupNorms(model, scopes);
  findComputedWeights(model);
  merge(model, scopes);
}

bool Parameters::isAlias(const Node &node) const {
  return node.op == "Identity" && node.inputs.size() == 1 &&
         entryOf.contains(node.inputs[0]);
}

size_t Parameters::makeOwn(StringRef value, const Node &user) {
  HostTensor data = entries[entryOf.lookup(value)].data;
  size_t index = entries.size();
  entryOfUse[value.str() + std::string(1, '\0') + utostr(user.ordinal)] = index;
  Entry &entry = entries.emplace_back();
  entry.data = data;
  entry.firstUser = &user;
  return index;
}

size_t Parameters::addConstant(StringRef name, const HostTensor &data) {
  Parameter &parameter = parameters.emplace_back();
  parameter.data = data;
  parameter.name = name.str();
  while (!parameterNames.insert(parameter.name).second)
    parameter.name += "_";
  return parameters.size() - 1;
}

std::optional<Parameters::Use> Parameters::lookup(StringRef value,
                                                  const Node &user) const {
  std::string use = value.str() + std::string(1, '\0') + utostr(user.ordinal);
  const Entry *entry = nullptr;
  if (auto it = entryOfUse.find(use); it != entryOfUse.end())
    entry = &entries[it->second];
  else if (auto it = entryOf.find(value); it != entryOf.end())
    entry = &entries[it->second];
  if (!entry || !entry->parameter)
    return std::nullopt;
  return Use{*entry->parameter, entry->transposed};
}

const HostTensor *Parameters::constant(StringRef value) const {
  auto it = entryOf.find(value);
  return it == entryOf.end() ? nullptr : &entries[it->second].data;
}
