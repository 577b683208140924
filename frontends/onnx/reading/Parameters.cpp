//===- Parameters.cpp - Initialisers by the model's own names -------------===//

#include "Parameters.h"
#include "frontends/bounds/Bounds.h"

#include "Signature.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>
#include <map>
#include <set>
#include <tuple>

using namespace mlir::dist::frontend;
using namespace llvm;

/// Names that an exporter makes up: onnx::MatMul_550, /layer/Constant_output_0,
/// val_113, 42.
static bool isMadeUp(StringRef name) {
  return name.contains(':') || name.contains('/') || name.starts_with("val_") ||
         name.find_first_not_of("0123456789_") == StringRef::npos;
}

/// The number of `onnx::MatMul_550`, which the script exporter counts up; -1 of
/// other names.
static int64_t numberOf(StringRef name) {
  int64_t number;
  if (!name.consume_front("onnx::") ||
      name.rsplit('_').second.getAsInteger(10, number))
    return -1;
  return number;
}

/// Whether a node's input `index` is a weight or bias of the node's module, and
/// which; the leaf of its name, or "".
static StringRef roleOf(const Node &node, size_t index, int64_t rank) {
  if (node.op == "MatMul")
    return index == 1 && rank == 2 ? "weight" : "";
  if (node.op == "Gemm" || node.op == "Conv" || node.op == "ConvTranspose")
    return index == 1 ? "weight" : index == 2 ? "bias" : "";
  // Tables and experts, by whatever name.
  if (node.op == "Gather" || node.op == "GatherND")
    return index == 0 && rank > 1 ? "*" : "";
  return "";
}

/// Whether the exporter stores an anonymous weight the other way round than
/// nn.Linear does, [in, out] for [out, in].
static bool isTransposedRole(const Node &node, size_t index, int64_t rank) {
  if (index != 1 || rank != 2)
    return false;
  if (node.op == "MatMul")
    return true;
  if (node.op != "Gemm")
    return false;
  auto it = node.attributes.find("transB");
  return it == node.attributes.end() || it->second.integer == 0;
}

namespace {
/// Reads a tensor in the model's layout.
struct OwnLayout {
  OwnLayout(const HostTensor &data, bool transposed)
      : data(data), transposed(transposed), size(sizeOf(data.getType())) {}
  Shape getShape() const {
    Shape shape(data.getShape());
    if (transposed)
      std::swap(shape[0], shape[1]);
    return shape;
  }
  const char *at(int64_t index) const {
    if (transposed) {
      int64_t rows = data.getShape()[0], columns = data.getShape()[1];
      index = index % rows * columns + index / rows;
    }
    return data.getBytes().data() + index * size;
  }
  const HostTensor &data;
  bool transposed;
  int64_t size;
};
} // namespace

static bool isEqual(const OwnLayout &a, const OwnLayout &b) {
  if (a.data.getType() != b.data.getType() || a.getShape() != b.getShape())
    return false;
  if (a.transposed == b.transposed)
    return a.data.hasSameData(b.data);
  for (int64_t i = 0, e = a.data.size(); i < e; ++i)
    if (std::memcmp(a.at(i), b.at(i), a.size) != 0)
      return false;
  return true;
}

/// Whether the node reads recorded statistics there, which no gradient changes.
static bool isStatistic(const Node &node, size_t index) {
  return node.op == "BatchNormalization" && (index == 3 || index == 4);
}

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

void Parameters::nameGroupNorms(const Model &model, const Scopes &scopes) {
  Signature signature(model);
  StringMap<const Node *> makers;
  StringSet<> taken;
  for (const Entry &entry : entries)
    taken.insert(entry.name);
  // Group norms, and what they have made so far; whether that is scaled.
  DenseMap<const Node *, bool> norms;
  auto getMaker = [&](StringRef value) { return makers.lookup(value); };
  for (const Node &node : model.nodes) {
    for (const std::string &output : node.outputs)
      makers[output] = &node;
    if (node.inputs.empty())
      continue;
    const Node *first = getMaker(node.inputs[0]);
    if (node.op == "Reshape" && first && first->op == "InstanceNormalization" &&
        scopes[*first] == scopes[node])
      norms[&node] = false;
    bool scales = node.op == "Mul";
    if ((!scales && node.op != "Add") || node.inputs.size() != 2)
      continue;
    for (size_t index : {0, 1}) {
      const Node *norm = getMaker(node.inputs[1 - index]);
      auto it = entryOf.find(node.inputs[index]);
      if (!norm || !norms.count(norm) || (scales && norms[norm]) ||
          it == entryOf.end() || scopes[*norm] != scopes[node])
        continue;
      norms[&node] = true;
      const Entry &entry = entries[it->second];
      ArrayRef<int64_t> shape = entry.data.getShape();
      if (!isFloat(entry.data.getType()) || shape.size() < 2 ||
          any_of(shape.drop_front(), [](int64_t size) { return size != 1; }) ||
          !isMadeUp(node.inputs[index]))
        continue;
      std::string name = joinPath(scopes[node], scales ? "weight" : "bias");
      if (!signature.empty()) {
        name.clear();
        // Its weight, then its bias, whatever they are called.
        for (StringRef reference : signature.getReferences(node))
          if (!entryOf.contains(reference) && !taken.contains(reference) &&
              (name.empty() || !scales))
            name = reference.str();
      }
      if (name.empty() || !taken.insert(name).second)
        continue;
      Entry &own = entries[makeOwn(node.inputs[index], node)];
      own.name = name;
      own.firstInput = index;
      own.padding = shape.size() - 1;
      break;
    }
  }
}

void Parameters::name(const Model &model, const Scopes &scopes) {
  Signature signature(model);
  StringSet<> taken;
  auto isStateName = [&](StringRef name) {
    if (signature.empty())
      return !isMadeUp(name);
    StringRef fused = name;
    return signature.hasTarget(name) ||
           (fused.consume_back("_bias") && signature.hasTarget(fused));
  };

  // Names that the file still has.
  for (const auto &it : entryOf) {
    Entry &entry = entries[it.second];
    if (!isStateName(it.first()) ||
        (!entry.name.empty() && entry.name < it.first()))
      continue;
    StringRef name = it.first();
    // A norm folded into the convolution before it leaves `stem.weight_bias`.
    if (name.ends_with(".weight_bias") && !signature.empty())
      entry.name = joinPath(modulePath(name), "bias");
    else
      entry.name = name.str();
    entry.isNamed = true;
    entry.isReferenced = signature.hasTarget(entry.name);
  }
  for (const Entry &entry : entries)
    if (!entry.name.empty())
      taken.insert(entry.name);

  // The reader of a parameter that was merged with another names it.
  if (!signature.empty()) {
    for (const Node &node : model.nodes) {
      SmallVector<StringRef> references = signature.getReferences(node);
      for (const std::string &input : node.inputs) {
        auto it = entryOf.find(input);
        if (it == entryOf.end() || entries[it->second].name.empty() ||
            is_contained(references, entries[it->second].name))
          continue;
        for (StringRef reference : references) {
          // A node that a batch norm was folded into refers to the norm's.
          if (leafName(reference) != leafName(entries[it->second].name) ||
              entryOf.contains(reference) ||
              (!entries[it->second].data.isSplat() &&
               modulePath(reference) != scopes[node]))
            continue;
          Entry &own = entries[makeOwn(input, node)];
          own.name = reference.str();
          own.isReferenced = true;
          taken.insert(reference);
          break;
        }
      }
    }
  }

  // Names that were lost: from the node that reads it, the exporter's remarks
  // on it, and the bias that is added next.
  StringMap<SmallVector<const Node *, 1>> readers;
  for (const Node &node : model.nodes)
    for (const std::string &input : node.inputs)
      readers[input].push_back(&node);
  for (const Node &node : model.nodes) {
    for (auto [index, input] : enumerate(node.inputs)) {
      auto it = entryOf.find(input);
      if (it == entryOf.end())
        continue;
      Entry &entry = entries[it->second];
      int64_t rank = entry.data.getRank();
      StringRef role = roleOf(node, index, rank);
      // Of several that are equal the file may have one.
      bool isOther = !entry.name.empty() && !entry.isNamed &&
                     !signature.empty() && entry.firstUser != &node;
      if ((!entry.name.empty() && !isOther) || role.empty() ||
          !isFloat(entry.data.getType()))
        continue;
      StringRef scope = scopes[node];
      bool transposed = isTransposedRole(node, index, rank);
      std::string name;
      if (!signature.empty()) {
        for (StringRef reference : signature.getReferences(node)) {
          if (role != "*" && !leafName(reference).contains(role))
            continue;
          // The file may have it as it was besides, where it is tied.
          auto kept = entryOf.find(reference);
          if (kept != entryOf.end() &&
              !isEqual(OwnLayout(entry.data, transposed),
                       OwnLayout(entries[kept->second].data, false)))
            continue;
          name = reference.str();
          break;
        }
        // Computed from parameters (a weight norm): the module has no
        // parameter of that name, but it has some.
        std::string guess = joinPath(scope, role);
        if (name.empty() && role != "*" && !scope.empty() &&
            signature.hasModule(scope) && !entryOf.contains(guess))
          name = guess;
      } else if (role != "*") {
        name = joinPath(scope, role);
        // nn.MultiheadAttention applies its projections itself: the bias, whose
        // name is kept, tells (`attn.in_proj_bias`, `attn.out_proj.bias`).
        for (const Node *next : readers.lookup(node.outputs[0])) {
          if (next->op != "Add" || role != "weight")
            continue;
          for (const std::string &other : next->inputs) {
            auto bias = entryOf.find(other);
            if (bias == entryOf.end() || isMadeUp(other))
              continue;
            StringRef stem = other;
            if (isWithin(modulePath(stem), scope) && stem.consume_back("bias"))
              name = stem.str() + "weight";
            else if (isWithin(scope, modulePath(stem)) &&
                     modulePath(stem) != scope && scopes[*next] == scope &&
                     leafName(stem) == "bias" &&
                     entries[bias->second].firstUser == next &&
                     taken.insert(joinPath(scope, "bias")).second)
              // A tied bias gets the first of its names; its scope is the
              // module that adds it.
              entries[bias->second].name = joinPath(scope, "bias");
          }
        }
      }
      if (name.empty() || (isOther && !taken.insert(name).second))
        continue;
      Entry &named = isOther ? entries[makeOwn(input, node)] : entry;
      named.name = name;
      named.transposed = transposed;
      named.isReferenced = signature.hasTarget(name);
      if (scopes.isGuess(node))
        named.doubt = kGuessed;
      else if (!signature.empty() && !signature.hasTarget(name))
        named.doubt = kComputed;
      taken.insert(name);
    }
  }

  for (const auto &it : entryOf) {
    Entry &entry = entries[it.second];
    bool floating = isFloat(entry.data.getType());
    bool small =
        entry.data.size() <= (floating ? kConstantElements : kConstantIntegers);
    bool isNumber = sizeOf(entry.data.getType()) != 0;
    if (!isNumber || (!floating && small))
      entry.name.clear();
    else if (entry.name.empty() && !small && !entry.data.isSplat()) {
      entry.name = it.first().str();
      if (signature.empty() ? numberOf(it.first()) >= 0
                            : !signature.isBuffer(it.first()))
        entry.doubt = kComputed;
    }
  }
}

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
    auto rule = node.metadata.find("pkg.onnxscript.rewriter.rule_name");
    bool isFused = rule != node.metadata.end() &&
                   StringRef(rule->second).contains("FuseBatchNorm");
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
      if ((isLost || (isFused && index > 0)) && entry.doubt.empty())
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

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

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

std::vector<std::string> Parameters::findFolded(const Model &model,
                                                const Scopes &scopes) const {
  Signature signature(model);
  std::set<std::string> folded;
  auto isSure = [&](const Entry &entry) {
    return entry.parameter && parameters[*entry.parameter].doubt.empty();
  };
  // Without numbers of the exporter's own, other than parameters that it has
  // renamed or transposed, nothing was folded.
  if (!signature.empty() && none_of(entryOf, [&](const auto &it) {
        return isFloat(entries[it.second].data.getType()) &&
               !signature.hasTarget(it.first()) &&
               !signature.isBuffer(it.first()) &&
               !signature.hasPlaceholder(it.first()) &&
               !isSure(entries[it.second]);
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
    for (const Node &node : model.nodes)
      for (StringRef reference : signature.getReferences(node))
        if (modulePath(reference) != scopes[node])
          known.insert(joinPath(scopes[node], leafName(reference)));
    for (const std::string &name : signature.getParameters())
      if (!known.contains(name))
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
