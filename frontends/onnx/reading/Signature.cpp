//===- Signature.cpp - The dynamo exporter's parameters -------------------===//

#include "Signature.h"

#include "Scopes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir::dist::frontend;
using namespace llvm;

Signature::Signature(const Model &model) {
  auto it =
      model.metadata.find("pkg.torch.export.ExportedProgram.graph_signature");
  if (it == model.metadata.end())
    return;
  present = true;
  for (StringRef line : split(it->second, '\n')) {
    auto [placeholder, rest] = line.split(": ");
    auto [kind, tail] = rest.split(" target='");
    std::string target = tail.split('\'').first.str();
    if (target.empty())
      continue;
    targetOf[placeholder] = target;
    if (kind == "PARAMETER")
      parameters.push_back(target);
    else
      buffers.insert(target);
    // What is not saved is no part of the state_dict.
    if (kind == "PARAMETER" || !tail.contains("persistent=False"))
      if (targets.insert(target).second)
        modules.insert(modulePath(target).str());
  }
  // "['fc.weight', 'val_3']": all that it was computed from.
  for (const ValueInfo &value : model.values) {
    auto from = value.metadata.find("pkg.onnxscript.optimizer.folded_from");
    if (from == value.metadata.end())
      continue;
    foldings = true;
    bool isConstant = true;
    for (StringRef name : split(from->second, '\''))
      if (targets.contains(name) && !buffers.contains(name)) {
        folded.insert(name);
        isConstant = false;
      }
    if (isConstant)
      buffers.insert(value.name);
  }
}

SmallVector<StringRef> Signature::getReferences(const Node &node) const {
  SmallVector<StringRef> found;
  auto it = node.metadata.find("pkg.torch.onnx.fx_node");
  if (it == node.metadata.end())
    return found;
  StringRef text = it->second;
  while (!text.empty()) {
    text = text.drop_front(std::min(text.find('%'), text.size()));
    text.consume_front("%");
    StringRef name =
        text.take_while([](char c) { return isAlnum(c) || c == '_'; });
    if (auto target = targetOf.find(name); target != targetOf.end())
      found.push_back(target->second);
    text = text.drop_front(name.size());
  }
  return found;
}

bool Signature::hasModule(StringRef path) const {
  if (path.empty())
    return !targets.empty();
  auto inside = modules.lower_bound(path.str() + ".");
  return modules.count(path.str()) ||
         (inside != modules.end() && isWithin(*inside, path));
}
