//===- ParameterNames.cpp - What the model calls an initialiser -----------===//

#include "frontends/bounds/Bounds.h"
#include "frontends/onnx/reading/ParameterRoles.h"
#include "frontends/onnx/reading/Parameters.h"
#include "frontends/onnx/reading/Signature.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir::dist::frontend;
using namespace llvm;

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
      // Such a node refers to the norm's.
      if (hasBatchNorm(node))
        continue;
      SmallVector<StringRef> references = signature.getReferences(node);
      for (const std::string &input : node.inputs) {
        auto it = entryOf.find(input);
        if (it == entryOf.end() || entries[it->second].name.empty() ||
            is_contained(references, entries[it->second].name))
          continue;
        for (StringRef reference : references) {
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
            signature.hasModule(scope) && !entryOf.contains(guess) &&
            !signature.isBuffer(input))
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
