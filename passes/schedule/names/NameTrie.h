//===- NameTrie.h - Dotted names by their components ------------*- C++ -*-===//
//
// A tree of names such as `transformer.h.0.attn`, one component for each level.
// A pattern looks only at prefixes that it may match, or, where it may begin
// with anything, at names that contain a part of it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_NAMES_NAMETRIE_H
#define DIST_PASSES_SCHEDULE_NAMES_NAMETRIE_H

#include "passes/schedule/names/NamePattern.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"

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
    unsigned parent;
  };
  struct Entry {
    StringRef text;
    unsigned node;
  };

  /// Adds the nodes of entries that the automaton accepts, or, with `piece`,
  /// those that may begin with it. `work` counts characters; false if they are
  /// more than `most`.
  static bool walk(ArrayRef<Entry> sorted, const NameAutomaton &automaton,
                   const NameAutomaton::Piece *piece, size_t most, size_t &work,
                   SmallVector<unsigned> &found);
  void sortNames() const;
  void sortSuffixes() const;

  std::vector<Node> nodes;
  llvm::DenseMap<std::pair<unsigned, StringRef>, unsigned> childOf;
  /// The length of all names that are no prefixes of others.
  size_t length = 0;
  /// All nodes but the root, in order, but for the last ones.
  mutable std::vector<Entry> names;
  /// Each end of a name that is no prefix of another, with a dot before, in
  /// order of its first characters; if `suffixed` is the number of nodes.
  mutable std::vector<Entry> suffixes;
  mutable llvm::BumpPtrAllocator dotted;
  mutable size_t suffixed = 0;
  /// What was looked at since, in units of `length`, tells whether suffixes
  /// are worth their while.
  mutable size_t work = 0;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_NAMES_NAMETRIE_H
