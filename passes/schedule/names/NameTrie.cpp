//===- NameTrie.cpp - Dotted names by their components --------------------===//

#include "passes/schedule/names/NameTrie.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace mlir;
using namespace mlir::dist;

/// How many characters of a suffix are looked at; names that have these are
/// looked at whole.
static constexpr size_t kMostSuffix = 64;
/// How often all names are looked at before their suffixes are sorted, which
/// takes about as long.
static constexpr size_t kSuffixWork = 8;

unsigned NameTrie::insert(StringRef name) {
  unsigned node = kRoot;
  for (size_t start = 0; start <= name.size();) {
    size_t end = std::min(name.find('.', start), name.size());
    StringRef component = name.slice(start, end);
    auto [entry, isNew] = childOf.try_emplace({node, component}, nodes.size());
    if (isNew) {
      length += end;
      if (nodes[node].children.empty())
        length -= nodes[node].name.size();
      nodes[node].children.push_back(entry->second);
      nodes.push_back({name.take_front(end), component, {}, node});
    }
    node = entry->second;
    start = end + 1;
  }
  return node;
}

void NameTrie::sortNames() const {
  std::vector<Entry> old = std::move(names), added;
  for (unsigned node = old.size() + 1; node < nodes.size(); ++node)
    added.push_back({nodes[node].name, node});
  auto isBefore = [](const Entry &a, const Entry &b) {
    return a.text < b.text;
  };
  llvm::sort(added, isBefore);
  names.clear();
  std::merge(old.begin(), old.end(), added.begin(), added.end(),
             std::back_inserter(names), isBefore);
}

void NameTrie::sortSuffixes() const {
  suffixes.clear();
  dotted.Reset();
  for (unsigned node = kRoot + 1; node < nodes.size(); ++node) {
    if (!nodes[node].children.empty())
      continue;
    size_t size = nodes[node].name.size() + 1;
    char *text = dotted.Allocate<char>(size);
    text[0] = '.';
    llvm::copy(nodes[node].name, text + 1);
    StringRef name(text, size);
    for (; !name.empty(); name = name.drop_front())
      suffixes.push_back({name.take_front(kMostSuffix), node});
  }
  llvm::sort(suffixes, [](const Entry &a, const Entry &b) {
    return std::tie(a.text, a.node) < std::tie(b.text, b.node);
  });
  suffixed = nodes.size();
  work = 0;
}

bool NameTrie::walk(ArrayRef<Entry> sorted, const NameAutomaton &automaton,
                    const NameAutomaton::Piece *piece, size_t most,
                    size_t &work, SmallVector<unsigned> &found) {
  /// Entries of which all have a prefix that has led to `places`.
  struct Group {
    NameAutomaton::Places places;
    size_t prefix;
    ArrayRef<Entry> entries;
  };
  std::vector<Group> pending;
  NameAutomaton::Places start =
      piece ? automaton.begin(*piece) : automaton.begin();
  if (!sorted.empty() && !start.empty())
    pending.push_back({std::move(start), 0, sorted});
  while (!pending.empty()) {
    auto [places, prefix, entries] = std::move(pending.back());
    pending.pop_back();
    StringRef last = entries.back().text;
    // The shorter ones come first.
    for (; !entries.empty() && entries.front().text.size() == prefix;
         entries = entries.drop_front())
      if (piece ? prefix == kMostSuffix : automaton.accepts(places))
        found.push_back(entries.front().node);
    while (!entries.empty()) {
      // Those with the same next character; the last has the largest.
      unsigned char next = entries.front().text[prefix];
      ArrayRef<Entry> same = entries;
      if (static_cast<unsigned char>(last[prefix]) != next)
        same = entries.take_front(
            llvm::partition_point(entries,
                                  [&](const Entry &entry) {
                                    return static_cast<unsigned char>(
                                               entry.text[prefix]) <= next;
                                  }) -
            entries.begin());
      entries = entries.drop_front(same.size());
      NameAutomaton::Places after = automaton.advance(places, next);
      bool isOver = piece && automaton.hasPassed(*piece);
      work += isOver ? same.size() : 1;
      if (work > most)
        return false;
      if (isOver)
        for (const Entry &entry : same)
          found.push_back(entry.node);
      else if (!after.empty())
        pending.push_back({std::move(after), prefix + 1, same});
    }
  }
  return true;
}

SmallVector<unsigned> NameTrie::match(const NamePattern &pattern) const {
  SmallVector<unsigned> found;
  const NameAutomaton *automaton = pattern.getAutomaton();
  if (names.size() + 1 < nodes.size())
    sortNames();
  if (!automaton) {
    StringRef name = pattern.getLiteral();
    auto entry = llvm::partition_point(
        names, [&](const Entry &entry) { return entry.text < name; });
    if (name.empty())
      found.push_back(kRoot);
    else if (entry != names.end() && entry->text == name)
      found.push_back(entry->node);
    return found;
  }
  // Names are looked at from the beginning, until that takes long.
  if (work > kSuffixWork * length && suffixed != nodes.size())
    sortSuffixes();
  ArrayRef<NameAutomaton::Piece> pieces = automaton->getPieces();
  if (suffixed != nodes.size())
    pieces = {};
  // The way that needs least looks at as much as another one has at most.
  for (size_t most = pieces.empty() ? SIZE_MAX : 256;; most *= 2) {
    size_t used = 0;
    bool isDone =
        walk(names, *automaton, /*piece=*/nullptr, most, used, found);
    work += used;
    if (isDone)
      break;
    for (const NameAutomaton::Piece &piece : pieces) {
      found.clear();
      used = 0;
      if (!walk(suffixes, *automaton, &piece, most, used, found))
        continue;
      // The names, and those that are prefixes of them.
      llvm::DenseSet<unsigned> seen;
      for (unsigned node : found)
        for (; node != kRoot && used <= most && seen.insert(node).second;
             node = nodes[node].parent)
          used += nodes[node].name.size();
      if (used > most)
        continue;
      found.assign(seen.begin(), seen.end());
      llvm::erase_if(found, [&](unsigned node) {
        return !automaton->matches(nodes[node].name);
      });
      llvm::sort(found);
      return found;
    }
    found.clear();
  }
  llvm::sort(found);
  return found;
}
