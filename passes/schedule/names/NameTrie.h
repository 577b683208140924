//===- NameTrie.h - Dotted names by their components ------------*- C++ -*-===//
//
// A tree of names such as `transformer.h.0.attn`, one component for each level.
// A pattern looks only at prefixes that it may match.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_NAMES_NAMETRIE_H
#define DIST_PASSES_SCHEDULE_NAMES_NAMETRIE_H

#include "passes/schedule/names/NamePattern.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <map>

namespace mlir::dist {

class NameTrie {
public:
  /// The root, which stands for no component.
  static constexpr unsigned kRoot = 0;

  NameTrie() { nodes.emplace_back(); }

  /// The node of `name`, which must outlive the tree. Nodes are numbered in the
  /// order of their creation, parents before children.
  unsigned insert(StringRef name);

  size_t size() const { return nodes.size(); }
  /// The name from the root to `node`.
  StringRef getName(unsigned node) const { return nodes[node].name; }
  ArrayRef<unsigned> getChildren(unsigned node) const {
    return nodes[node].children;
  }

  /// The nodes whose names `pattern` matches, by number. Only the empty pattern
  /// matches the root.
  SmallVector<unsigned> match(const NamePattern &pattern) const;

private:
  struct Node {
    StringRef name, component;
    SmallVector<unsigned, 2> children;
  };

  std::vector<Node> nodes;
  llvm::DenseMap<std::pair<unsigned, StringRef>, unsigned> childOf;
  /// All nodes but the root, in order.
  std::map<StringRef, unsigned> ordered;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_NAMES_NAMETRIE_H
