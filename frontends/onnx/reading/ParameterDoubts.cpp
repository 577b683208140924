//===- ParameterDoubts.cpp - What an exporter computed --------------------===//

#include "frontends/onnx/reading/ParameterRoles.h"
#include "frontends/onnx/reading/Parameters.h"
#include "frontends/onnx/reading/Signature.h"

#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>

using namespace mlir::dist::frontend;
using namespace llvm;

/// Whether a constant is a number that the model's code has: one that is only
/// calculated with. Sizes and tables may be computed of others before.
static bool isLiteral(const Node &node,
                      const StringMap<SmallVector<const Node *, 1>> &readers) {
  auto value = node.attributes.find("value");
  return node.op == "Constant" && value != node.attributes.end() &&
         value->second.tensor.getRank() == 0 &&
         isFloat(value->second.tensor.getType()) &&
         all_of(readers.lookup(node.outputs[0]), [](const Node *reader) {
           return is_contained({"Add", "Sub", "Mul", "Div", "Pow"},
                               StringRef(reader->op));
         });
}

void Parameters::findComputedWeights(const Model &model) {
  Signature signature(model);
  StringMap<SmallVector<const Node *, 1>> readers;
  for (const Node &node : model.nodes)
    for (const std::string &input : node.inputs)
      readers[input].push_back(&node);
  // By number, where it is first read; and how many constants are before, all
  // and those that are no literals.
  std::map<int64_t, std::pair<const Node *, size_t>> numbered;
  SmallVector<size_t> constants{0}, computed{0};
  for (const Node &node : model.nodes) {
    bool isConstant = node.op == "Constant";
    constants.push_back(constants.back() + isConstant);
    computed.push_back(computed.back() +
                       (isConstant && !isLiteral(node, readers)));
    if (isAlias(node))
      continue;
    for (auto [index, input] : enumerate(node.inputs)) {
      auto it = entryOf.find(input);
      if (it == entryOf.end())
        continue;
      Entry &entry = entries[it->second];
      if (int64_t number = numberOf(input); number >= 0)
        numbered.try_emplace(number, &node, index);
      // A plain layer's weight keeps its name, unless it is transposed.
      bool isKept = node.op == "Conv" || node.op == "ConvTranspose" ||
                    (node.op == "Gemm" &&
                     !isTransposedRole(node, index, entry.data.getRank()));
      bool isLost = signature.empty() && isKept && numberOf(input) >= 0 &&
                    !roleOf(node, index, entry.data.getRank()).empty();
      if ((isLost || (hasBatchNorm(node) && index > 0)) && entry.doubt.empty())
        entry.doubt = kComputed;
    }
  }
  // Transposing a weight takes one number, and computing it takes more. So do
  // constants that are computed before, which leave nodes. Literals take none,
  // or one for a conversion; a weight norm takes three. The first number is the
  // next after those of the results, if these have numbers.
  if (!signature.empty())
    return;
  constexpr int64_t kWeightNormNumbers = 3;
  int64_t last = -1;
  for (const ValueInfo &output : model.outputs) {
    int64_t number;
    if (!StringRef(output.name).getAsInteger(10, number))
      last = std::max(last, number);
  }
  const Node *before = nullptr;
  for (auto [number, use] : numbered) {
    auto [node, index] = use;
    Entry &entry = entries[entryOf.lookup(node->inputs[index])];
    int64_t start = before ? before->ordinal : 0, end = node->ordinal - 1;
    bool isAll = before && constants[start] == constants[end];
    if (last >= 0 && start <= node->ordinal &&
        number - last > (isAll ? 1 : kWeightNormNumbers) &&
        computed[start] == computed[end] &&
        isTransposedRole(*node, index, entry.data.getRank()) &&
        entry.doubt.empty())
      entry.doubt = kComputed;
    last = number;
    before = node;
  }
}

std::vector<std::string> Parameters::findFolded(const Model &model,
                                                const Scopes &scopes) const {
  Signature signature(model);
  std::set<std::string> folded;
  auto isSure = [&](StringRef name, const Entry &entry) {
    return entry.parameter ? parameters[*entry.parameter].doubt.empty()
                           : signature.hasTarget(name) ||
                                 signature.isBuffer(name) ||
                                 signature.hasPlaceholder(name);
  };
  // Without numbers of the exporter's own, other than parameters that it has
  // renamed or transposed, nothing was folded.
  if (!signature.empty() && !signature.hasFoldings() &&
      none_of(entryOf, [&](const auto &it) {
        const Entry &entry = entries[it.second];
        return isFloat(entry.data.getType()) && !isSure(it.first(), entry);
      }))
    return {};
  if (!signature.empty()) {
    StringSet<> known;
    for (const auto &it : entryOf)
      known.insert(it.first());
    for (const Parameter &parameter : parameters)
      known.insert(parameter.name);
    for (const Entry &entry : entries)
      known.insert(entry.name);
    // Without initialisers they are inputs.
    for (const ValueInfo &input : model.inputs)
      known.insert(input.name);
    // Where a module reads another's parameter as its own, they are tied.
    StringSet<> referenced;
    for (const Node &node : model.nodes)
      for (StringRef reference : signature.getReferences(node)) {
        referenced.insert(reference);
        if (modulePath(reference) != scopes[node])
          known.insert(joinPath(scopes[node], leafName(reference)));
      }
    // What nothing was computed from is tied, or not read at all.
    for (const std::string &name : signature.getParameters())
      if (!known.contains(name) &&
          (!signature.hasFoldings() || signature.isFolded(name) ||
           referenced.contains(name)))
        folded.insert(name);
    return {folded.begin(), folded.end()};
  }
  // For values that are read under the file's names. An initializer may have
  // several, and some of its readers may have a parameter of their own.
  StringSet<> seen;
  for (const Node &node : model.nodes) {
    if (isAlias(node))
      continue;
    for (const std::string &input : node.inputs) {
      auto it = entryOf.find(input);
      if (it == entryOf.end() || !StringRef(input).starts_with("onnx::"))
        continue;
      const Entry &entry = entries[it->second];
      if (entry.parameter || !isFloat(entry.data.getType()) ||
          entry.data.size() < 2 ||
          entryOfUse.contains(input + std::string(1, '\0') +
                              utostr(node.ordinal)) ||
          !seen.insert(input).second)
        continue;
      StringRef scope = scopes[node];
      folded.insert(input + (scope.empty() ? "" : " of ") + scope.str());
    }
  }
  return {folded.begin(), folded.end()};
}

/// Whether there are more than two numbers, as masks have.
static bool isTable(const HostTensor &data) {
  if (!isFloat(data.getType()) || data.size() < 3)
    return false;
  double first = data.getFloat(0), second = first;
  for (int64_t i = 1, e = data.size(); i < e; ++i) {
    double value = data.getFloat(i);
    if (value == first || value == second)
      continue;
    if (second != first)
      return true;
    second = value;
  }
  return false;
}

std::vector<std::string> Parameters::findComputed(const Model &model) const {
  Signature signature(model);
  std::vector<std::string> computed;
  if (signature.empty())
    return computed;
  for (const auto &it : entryOf) {
    const Entry &entry = entries[it.second];
    StringRef name = it.first();
    bool isRead = entry.firstUser && !entry.parameter && entry.name.empty() &&
                  !entryOfUse.contains(name.str() + std::string(1, '\0') +
                                       utostr(entry.firstUser->ordinal));
    if (isRead && !signature.hasTarget(name) && !signature.isBuffer(name) &&
        !signature.hasPlaceholder(name) && isTable(entry.data))
      computed.push_back(name.str());
  }
  llvm::sort(computed);
  return computed;
}
