//===- Refusals.cpp - What cannot be imported -----------------------------===//

#include "frontends/onnx/Refusals.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir::dist::frontend;

void Refusals::add(const Node &node, const std::string &what) {
  auto [it, fresh] = entryOf.try_emplace(what, entries.size());
  if (fresh)
    entries.push_back({what, &node, 0});
  ++entries[it->second].count;
  nodes.insert(&node);
}

void Refusals::addSizes(const std::set<std::string> &names,
                        llvm::ArrayRef<SizeLimit> within) {
  openNames.insert(names.begin(), names.end());
  limits.insert(limits.end(), within.begin(), within.end());
}

std::string Refusals::describe(int64_t opset) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << nodes.size() << (nodes.size() == 1 ? " node" : " nodes")
     << " cannot be imported (opset " << opset << "):";
  for (const Entry &entry : entries)
    os << "\n  " << entry.count << " x " << entry.what << ", first in '"
       << entry.first->label() << "' (node " << entry.first->ordinal << ")";
  if (openNames.empty()) {
    os << "\n  docs/import.md says what is imported, and what to export "
          "instead";
    return text;
  }
  os << "\n  with these sizes given, it may be otherwise:";
  for (const std::string &name : openNames)
    os << " --bind " << name << "=N";
  return text;
}
