//===- NameTrie.cpp - Dotted names by their components --------------------===//

#include "passes/schedule/names/NameTrie.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dist;

unsigned NameTrie::insert(StringRef name) {
  unsigned node = kRoot;
  for (size_t start = 0; start <= name.size();) {
    size_t end = std::min(name.find('.', start), name.size());
    StringRef component = name.slice(start, end);
    auto [entry, isNew] = childOf.try_emplace({node, component}, nodes.size());
    if (isNew) {
      nodes[node].children.push_back(entry->second);
      nodes.push_back({name.take_front(end), component, {}});
    }
    node = entry->second;
    start = end + 1;
  }
  return node;
}

SmallVector<unsigned> NameTrie::match(const NamePattern &pattern) const {
  using Component = NamePattern::Component;
  SmallVector<unsigned> found;
  if (!pattern.getComponents()) {
    for (unsigned node = kRoot + 1; node < nodes.size(); ++node)
      if (pattern.matches(nodes[node].name))
        found.push_back(node);
    return found;
  }

  ArrayRef<Component> components = *pattern.getComponents();
  // Whether the glob of a component matches a text, cached by text.
  std::vector<llvm::DenseMap<StringRef, bool>> answers(components.size());
  auto matches = [&](unsigned number, StringRef text) {
    auto [answer, isNew] = answers[number].try_emplace(text, false);
    if (isNew)
      answer->second = components[number].regex->match(text);
    return answer->second;
  };
  // A node and the number of components that led there. `**` leads to a node
  // in several ways.
  llvm::DenseSet<std::pair<unsigned, unsigned>> seen;
  SmallVector<std::pair<unsigned, unsigned>> pending;
  auto visit = [&](unsigned node, unsigned number) {
    if (seen.insert({node, number}).second)
      pending.push_back({node, number});
  };
  visit(kRoot, 0);
  while (!pending.empty()) {
    auto [node, number] = pending.pop_back_val();
    if (number == components.size()) {
      found.push_back(node);
      continue;
    }
    const Component &component = components[number];
    bool isLast = number + 1 == components.size();
    switch (component.kind) {
    case Component::Literal:
      if (auto child = childOf.find({node, component.text});
          child != childOf.end())
        visit(child->second, number + 1);
      break;
    case Component::Any:
      for (unsigned child : nodes[node].children)
        visit(child, number + 1);
      break;
    case Component::Glob:
      for (unsigned child : nodes[node].children)
        if (matches(number, nodes[child].component))
          visit(child, number + 1);
      break;
    case Component::AnyRun:
      // Any number of components; at the end of a pattern, one or more.
      for (unsigned child : nodes[node].children) {
        visit(child, number);
        if (isLast)
          visit(child, number + 1);
      }
      if (!isLast)
        visit(node, number + 1);
      break;
    }
  }
  llvm::sort(found);
  return found;
}
