//===- NameTrie.cpp - Dotted names by their components --------------------===//

#include "passes/schedule/names/NameTrie.h"
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
      ordered[name.take_front(end)] = entry->second;
    }
    node = entry->second;
    start = end + 1;
  }
  return node;
}

SmallVector<unsigned> NameTrie::match(const NamePattern &pattern) const {
  SmallVector<unsigned> found;
  const NameAutomaton *automaton = pattern.getAutomaton();
  if (!automaton) {
    auto node = ordered.find(pattern.getLiteral());
    if (pattern.getLiteral().empty())
      found.push_back(kRoot);
    else if (node != ordered.end())
      found.push_back(node->second);
    return found;
  }
  /// Names of which all have a prefix that has led to `places`.
  struct Group {
    NameAutomaton::Places places;
    size_t prefix;
    decltype(ordered)::const_iterator begin, end;
  };
  std::vector<Group> pending;
  if (!ordered.empty())
    pending.push_back({automaton->begin(), 0, ordered.begin(), ordered.end()});
  while (!pending.empty()) {
    auto [places, prefix, begin, end] = std::move(pending.back());
    pending.pop_back();
    // What all have in common is looked at once.
    StringRef first = begin->first, last = std::prev(end)->first;
    for (; prefix < first.size() && prefix < last.size() &&
           first[prefix] == last[prefix] && !places.empty();
         ++prefix)
      places = automaton->advance(places, first[prefix]);
    if (places.empty())
      continue;
    if (first.size() == prefix) {
      if (automaton->accepts(places))
        found.push_back(begin->second);
      ++begin;
    }
    while (begin != end) {
      // Those with the same next character; the last name has the largest.
      unsigned char next = begin->first[prefix];
      auto behind = end;
      if (static_cast<unsigned char>(last[prefix]) != next) {
        std::string bound = begin->first.take_front(prefix).str();
        bound += static_cast<char>(next + 1);
        behind = ordered.lower_bound(bound);
      }
      NameAutomaton::Places after = automaton->advance(places, next);
      if (!after.empty())
        pending.push_back({std::move(after), prefix + 1, begin, behind});
      begin = behind;
    }
  }
  llvm::sort(found);
  return found;
}
