//===- ParameterTies.cpp - Parameters with several names ------------------===//

#include "frontends/bounds/Bounds.h"
#include "frontends/onnx/reading/ParameterRoles.h"
#include "frontends/onnx/reading/Parameters.h"
#include "frontends/onnx/reading/Signature.h"

#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>
#include <tuple>

using namespace mlir::dist::frontend;
using namespace llvm;

/// The model has the parameter by that name, too.
static void addAlias(Parameter &parameter, StringRef name) {
  if (!name.empty() && name != parameter.name && !isMadeUp(name) &&
      !is_contained(parameter.aliases, name))
    parameter.aliases.push_back(name.str());
}

void Parameters::merge(const Model &model, const Scopes &scopes) {
  Signature signature(model);
  SmallVector<size_t> order;
  for (auto [i, entry] : enumerate(entries))
    if (!entry.name.empty() && entry.firstUser)
      order.push_back(i);
  llvm::sort(order, [&](size_t a, size_t b) {
    auto place = [&](size_t i) {
      const Entry &entry = entries[i];
      // What is in doubt is perhaps another one.
      return std::make_tuple(!entry.doubt.empty(), entry.firstUser->ordinal,
                             entry.firstInput, i);
    };
    return place(a) < place(b);
  });

  // By type, shape and some elements, so that few are compared as a whole.
  std::map<std::string, SmallVector<size_t, 1>> alike;
  auto getKey = [](const OwnLayout &own) {
    std::string key = nameOf(own.data.getType()) + toString(own.getShape());
    int64_t size = own.data.size();
    for (int64_t i = 0, n = std::min<int64_t>(64, size); i < n; ++i)
      key.append(own.at(size / n * i), own.size);
    return key;
  };
  auto findEqual = [&](const Entry &entry,
                       const OwnLayout &own) -> std::optional<size_t> {
    bool splat = entry.data.isSplat();
    for (size_t index : alike[getKey(own)]) {
      const Entry &other = entries[index];
      // Two names in the file are two parameters, even with equal values (deep
      // copies of a layer); so are two that nodes refer to. A tied parameter is
      // in the file once, and perhaps also as an exporter has folded it.
      bool areTwo = (entry.isNamed && other.isNamed) ||
                    (entry.isReferenced && other.isReferenced &&
                     entry.name != other.name);
      if (!areTwo &&
          (splat ? other.name == entry.name
                 : isEqual(own, OwnLayout(other.data, other.transposed))))
        return other.parameter;
    }
    return std::nullopt;
  };
  for (size_t index : order) {
    Entry &entry = entries[index];
    OwnLayout own(entry.data, entry.transposed);
    entry.parameter = findEqual(entry, own);
    // The layout, too, is a guess: `x @ weight` of another module's.
    if (!entry.parameter && entry.doubt == kComputed &&
        entry.data.getRank() == 2) {
      entry.parameter =
          findEqual(entry, OwnLayout(entry.data, !entry.transposed));
      entry.transposed ^= entry.parameter.has_value();
    }
    if (entry.parameter)
      continue;
    alike[getKey(own)].push_back(index);
    entry.parameter = parameters.size();
    Parameter &parameter = parameters.emplace_back();
    parameter.data = entry.data;
    parameter.transposed = entry.transposed;
    parameter.padding = entry.padding;
    parameter.name = entry.name;
    parameter.doubt = entry.doubt;
    parameter.isBuffer =
        signature.empty() ? entry.isStatistic : signature.isBuffer(entry.name);

    // A table that is first used for lookups and last as a factor gets either
    // name; its scope is the module of the lookup.
    const Node &user = *entry.firstUser;
    StringRef scope = scopes[user], module = modulePath(entry.name);
    if (user.op == "Gather" && entry.firstInput == 0 &&
        leafName(entry.name) == "weight" && !scope.empty() &&
        leafName(module) != leafName(scope) && !isWithin(scope, module) &&
        !isWithin(module, scope)) {
      std::string place = joinPath(scope, "weight");
      bool free =
          signature.empty()
              ? none_of(entries,
                        [&](const Entry &other) {
                          return isWithin(modulePath(other.name), scope);
                        })
              : signature.hasTarget(place) && !entryOf.contains(place);
      if (free)
        parameter.name = place;
    }
    // Different data under one name: keep both, tell them apart.
    while (!parameterNames.insert(parameter.name).second) {
      parameter.name += "_" + utostr(user.ordinal);
      parameter.doubt = kGuessed;
    }
  }
  StringSet<> around;
  for (const Node &node : model.nodes) {
    StringRef scope = scopes[node];
    while (!scope.empty() && around.insert(scope = modulePath(scope)).second)
      ;
  }
  // Under all names that the file has for them, they are found, too.
  for (const auto &it : entryOf) {
    const Entry &entry = entries[it.second];
    if (!entry.parameter)
      continue;
    // A module with others inside multiplies by a parameter, but has none.
    if (entry.isNamed ||
        (signature.empty() ? !around.contains(modulePath(entry.name))
                           : signature.hasTarget(entry.name)))
      addAlias(parameters[*entry.parameter], entry.name);
    if (entry.isNamed && (signature.empty() || signature.hasTarget(it.first())))
      addAlias(parameters[*entry.parameter], it.first());
  }
  // Where a module that has such a parameter reads another's, they are tied; if
  // it reads several, it is unknown to which.
  std::map<std::string, std::set<size_t>> readFor;
  for (const Node &node : model.nodes) {
    SmallVector<StringRef> references = signature.getReferences(node);
    for (const std::string &input : node.inputs) {
      auto it = entryOf.find(input);
      if (it == entryOf.end())
        continue;
      const Entry &entry = entries[it->second];
      std::string own = joinPath(scopes[node], leafName(entry.name));
      if (entry.parameter && is_contained(references, entry.name) &&
          signature.hasTarget(own) && !entryOf.contains(own))
        readFor[own].insert(*entry.parameter);
    }
  }
  for (const auto &[own, read] : readFor)
    if (read.size() == 1)
      addAlias(parameters[*read.begin()], own);
  for (Parameter &parameter : parameters) {
    llvm::erase_if(parameter.aliases, [&](const std::string &name) {
      return parameterNames.contains(name);
    });
    llvm::sort(parameter.aliases);
  }
}
