//===- NameAutomaton.cpp - Regular expressions in linear time -------------===//

#include "passes/schedule/names/NameAutomaton.h"
#include "passes/bounds/Bounds.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <set>
#include <unordered_map>

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
/// Reads an expression and adds nodes; a repeated part is read as often as it
/// is repeated.
class AutomatonBuilder {
public:
  AutomatonBuilder(StringRef regex, NameAutomaton &automaton)
      : regex(regex), nodes(automaton.nodes), classes(automaton.classes),
        pieces(automaton.pieces) {}

  /// False with `error`.
  bool run(bool isDotted, unsigned &first) {
    Part whole;
    if (!isDotted)
      add({Node::One, '.', 0, 0});
    if (!addAlternatives(whole))
      return false;
    if (at < regex.size())
      return fail("parentheses not balanced");
    patch(whole, add({Node::Accept, 0, 0, 0}));
    first = isDotted ? whole.first : 0;
    if (!isDotted)
      nodes[first].next = whole.first;
    return true;
  }

  std::string error;

private:
  using Node = NameAutomaton::Node;
  using Characters = NameAutomaton::Characters;
  using Piece = NameAutomaton::Piece;

  /// Nodes from `first` on, and the ends that lead on: a node, and whether it
  /// is its other way. `repeats` is how often an inner part is repeated.
  /// `isFixed` if nothing in it may be left out or repeated at will.
  struct Part {
    unsigned first = 0;
    std::vector<std::pair<unsigned, bool>> ends;
    uint64_t repeats = 1;
    bool isFixed = true;
  };

  bool fail(StringRef what) {
    if (error.empty())
      error = what.str();
    return false;
  }
  unsigned add(Node node) {
    nodes.push_back(node);
    return nodes.size() - 1;
  }
  void patch(const Part &part, unsigned to) {
    for (auto [node, isOther] : part.ends)
      (isOther ? nodes[node].other : nodes[node].next) = to;
  }
  bool isMore() const { return at < regex.size(); }
  bool isAt(char c) const { return isMore() && regex[at] == c; }
  bool take(char c) {
    bool is = isAt(c);
    at += is;
    return is;
  }

  bool addAlternatives(Part &part);
  std::optional<std::string> takeWord();
  void addWords(const std::set<std::string> &words, Part &part);
  bool addSequence(Part &part);
  bool addRepeated(Part &part);
  bool addOne(Part &part);
  bool addBracket(Part &part);
  bool addClass(Characters characters, Part &part);
  bool readCounts(uint64_t &least, std::optional<uint64_t> &most);

  StringRef regex;
  size_t at = 0;
  std::vector<Node> &nodes;
  std::vector<Characters> &classes;
  std::vector<Piece> &pieces;
  std::unordered_map<Characters, unsigned> numbers;
};
} // namespace mlir::dist

/// The next alternative, if it is of plain characters only.
std::optional<std::string> AutomatonBuilder::takeWord() {
  std::string word;
  size_t end = at;
  for (; end < regex.size() && regex[end] != '|' && regex[end] != ')'; ++end) {
    bool isPlain = !StringRef("*+?{[(.^$").contains(regex[end]);
    if (regex[end] == '\\')
      ++end;
    if (!isPlain || end == regex.size())
      return std::nullopt;
    word += regex[end];
  }
  if (word.empty())
    return std::nullopt;
  at = end;
  return word;
}

/// Adds a tree of words, so that thousands of them are few places at a time.
void AutomatonBuilder::addWords(const std::set<std::string> &words,
                                Part &part) {
  StringRef last;
  std::vector<unsigned> path; // the nodes of the last word
  for (StringRef word : words) {
    size_t common = 0;
    while (common < std::min(last.size(), word.size()) &&
           last[common] == word[common])
      ++common;
    unsigned branch = nodes.size() + word.size() - common + 1;
    unsigned &before = common ? nodes[path[common - 1]].next : part.first;
    unsigned other =
        std::exchange(before, last.empty() ? nodes.size() : branch);
    path.resize(common);
    for (char c : word.drop_front(common)) {
      path.push_back(nodes.size());
      add({Node::One, c, 0, static_cast<unsigned>(nodes.size()) + 1});
    }
    part.ends.push_back({add({Node::Pass, 0, 0, 0}), false});
    if (!last.empty())
      add({Node::Split, 0, path[common], other});
    last = word;
  }
}

bool AutomatonBuilder::addAlternatives(Part &part) {
  std::set<std::string> words;
  size_t outer = pieces.size(), count = 0;
  Piece either;
  auto join = [&](Part other) {
    if (count++ == 0) {
      part = std::move(other);
      return;
    }
    part.first = add({Node::Split, 0, other.first, part.first});
    part.repeats = std::max(part.repeats, other.repeats);
    part.isFixed &= other.isFixed;
    llvm::append_range(part.ends, other.ends);
  };
  bool haveAll = true;
  do {
    if (std::optional<std::string> word = takeWord()) {
      words.insert(std::move(*word));
      continue;
    }
    Part one;
    size_t inner = pieces.size();
    if (!addSequence(one))
      return false;
    join(std::move(one));
    // One of the longest pieces of each is in every name.
    auto longest = std::max_element(
        pieces.begin() + inner, pieces.end(), [](auto &a, auto &b) {
          return a.ends.back() - a.firsts[0] < b.ends.back() - b.firsts[0];
        });
    if (longest == pieces.end()) {
      haveAll = false;
      continue;
    }
    llvm::append_range(either.firsts, longest->firsts);
    llvm::append_range(either.ends, longest->ends);
  } while (take('|'));
  if (!words.empty()) {
    Part tree;
    addWords(words, tree);
    join(std::move(tree));
    haveAll = false;
  }
  if (count == 1)
    return true;
  pieces.resize(outer);
  if (haveAll)
    pieces.push_back(std::move(either));
  return true;
}

bool AutomatonBuilder::addSequence(Part &part) {
  bool isFirst = true;
  std::optional<unsigned> run; // where the fixed parts before begin
  auto endRun = [&] {
    if (!run)
      return;
    unsigned mark = add({Node::Pass, 0, 0, 0});
    patch(part, mark);
    part.ends = {{mark, false}};
    pieces.push_back({{*run}, {mark}});
    run.reset();
  };
  while (isMore() && regex[at] != '|' && regex[at] != ')') {
    Part next;
    if (!addRepeated(next))
      return false;
    if (!next.isFixed)
      endRun();
    else if (!run)
      run = next.first;
    if (isFirst) {
      part = std::move(next);
    } else {
      patch(part, next.first);
      part.ends = std::move(next.ends);
      part.repeats = std::max(part.repeats, next.repeats);
      part.isFixed &= next.isFixed;
    }
    isFirst = false;
  }
  if (!part.isFixed)
    endRun();
  return !isFirst || fail("empty (sub)expression");
}

/// The numbers after '{'.
bool AutomatonBuilder::readCounts(uint64_t &least,
                                  std::optional<uint64_t> &most) {
  StringRef counts = regex.drop_front(at).take_until(
      [](char c) { return c == '}'; });
  at += counts.size();
  if (!take('}'))
    return fail("braces not balanced");
  auto [from, to] = counts.split(',');
  uint64_t last = 0;
  most = std::nullopt;
  if (from.getAsInteger(10, least))
    return fail("invalid repetition count(s)");
  if (!counts.contains(','))
    most = least;
  else if (!to.empty() && to.getAsInteger(10, last))
    return fail("invalid repetition count(s)");
  else if (!to.empty())
    most = last;
  if (most && *most < least)
    return fail("invalid repetition count(s)");
  return true;
}

bool AutomatonBuilder::addRepeated(Part &part) {
  size_t start = at, outer = pieces.size();
  if (!addOne(part))
    return false;
  uint64_t least = 1;
  std::optional<uint64_t> most = 1;
  if (take('*')) {
    least = 0;
    most = std::nullopt;
  } else if (take('+')) {
    most = std::nullopt;
  } else if (take('?')) {
    least = 0;
  } else if (isAt('{') && at + 1 < regex.size() &&
             llvm::isDigit(regex[at + 1])) {
    ++at;
    if (!readCounts(least, most))
      return false;
  } else {
    return true;
  }
  if (isMore() && StringRef("*+?").contains(regex[at]))
    return fail("repetition-operator operand invalid");
  uint64_t count = std::max<uint64_t>(most.value_or(least), 1);
  if (count > kMostRepetitions ||
      part.repeats * count > kMostRepetitions)
    return fail("it repeats a part more than " +
                std::to_string(kMostRepetitions) + " times in all");
  part.repeats *= count;
  size_t end = at;
  // Each time it is read again; those that may be left out lead on at once.
  std::vector<std::pair<unsigned, bool>> leaving;
  Part all;
  all.repeats = part.repeats;
  all.isFixed = part.isFixed && least > 0 && most == least;
  for (uint64_t number = 0; number < count; ++number) {
    Part one;
    if (number == 0) {
      one = std::move(part);
    } else {
      at = start;
      if (!addOne(one))
        return false;
    }
    bool isLast = number + 1 == count;
    if (isLast && !most) {
      unsigned again = add({Node::Split, 0, one.first, 0});
      patch(one, again);
      one.ends = {{again, false}};
      if (number >= least)
        one.first = again;
    } else if (number >= least) {
      one.first = add({Node::Split, 0, 0, one.first});
      leaving.push_back({one.first, true});
    }
    if (number == 0)
      all.first = one.first;
    else
      patch(all, one.first);
    all.ends = std::move(one.ends);
  }
  at = end;
  if (most == 0) { // of what is never there
    all.first = add({Node::Split, 0, 0, all.first});
    all.ends.clear();
    leaving = {{all.first, true}, {all.first, false}};
  }
  llvm::append_range(all.ends, leaving);
  pieces.resize(outer);
  part = std::move(all);
  return true;
}

bool AutomatonBuilder::addClass(Characters characters, Part &part) {
  auto [known, isNew] = numbers.try_emplace(characters, classes.size());
  if (isNew)
    classes.push_back(characters);
  part.first = add({Node::Class, 0, known->second, 0});
  part.ends = {{part.first, false}};
  return true;
}

/// What [:name:] holds.
static bool (*getNamedClass(StringRef name))(int) {
  return llvm::StringSwitch<bool (*)(int)>(name)
      .Case("alnum", [](int c) { return isalnum(c) != 0; })
      .Case("alpha", [](int c) { return isalpha(c) != 0; })
      .Case("blank", [](int c) { return c == ' ' || c == '\t'; })
      .Case("cntrl", [](int c) { return iscntrl(c) != 0; })
      .Case("digit", [](int c) { return isdigit(c) != 0; })
      .Case("graph", [](int c) { return isgraph(c) != 0; })
      .Case("lower", [](int c) { return islower(c) != 0; })
      .Case("print", [](int c) { return isprint(c) != 0; })
      .Case("punct", [](int c) { return ispunct(c) != 0; })
      .Case("space", [](int c) { return isspace(c) != 0; })
      .Case("upper", [](int c) { return isupper(c) != 0; })
      .Case("xdigit", [](int c) { return isxdigit(c) != 0; })
      .Default(nullptr);
}

/// After '['.
bool AutomatonBuilder::addBracket(Part &part) {
  Characters characters;
  bool isNegated = take('^');
  for (bool isFirst = true; isFirst || !isAt(']'); isFirst = false) {
    if (!isMore())
      return fail("brackets ([ ]) not balanced");
    StringRef rest = regex.drop_front(at);
    if (rest.starts_with("[.") || rest.starts_with("[="))
      return fail("invalid collating element");
    if (rest.starts_with("[:")) {
      size_t end = rest.find(":]");
      auto holds = getNamedClass(
          end == StringRef::npos ? "" : rest.slice(2, end));
      if (!holds)
        return fail("invalid character class");
      for (unsigned c = 0; c < 128; ++c)
        if (holds(c))
          characters.set(c);
      at += end + 2;
      continue;
    }
    unsigned char low = regex[at++], high = low;
    if (isAt('-') && at + 1 < regex.size() && regex[at + 1] != ']') {
      high = regex[at + 1];
      at += 2;
    }
    if (high < low)
      return fail("invalid character range");
    for (unsigned c = low; c <= high; ++c)
      characters.set(c);
  }
  ++at;
  return addClass(isNegated ? ~characters : characters, part);
}

bool AutomatonBuilder::addOne(Part &part) {
  if (nodes.size() > kMostAutomatonNodes)
    return fail("it is too long");
  char c = regex[at++];
  switch (c) {
  case '(':
    if (!addAlternatives(part))
      return false;
    return take(')') || fail("parentheses not balanced");
  case '[':
    return addBracket(part);
  case '.':
    return addClass(Characters().set(), part);
  case '^':
  case '$':
    part.first = add({c == '^' ? Node::Begin : Node::End, 0, 0, 0});
    part.ends = {{part.first, false}};
    part.isFixed = false; // names that contain it need not begin or end there
    return true;
  case '*':
  case '+':
  case '?':
    return fail("repetition-operator operand invalid");
  case '{':
    if (isMore() && llvm::isDigit(regex[at]))
      return fail("repetition-operator operand invalid");
    break;
  case '\\':
    if (!isMore())
      return fail("trailing backslash (\\)");
    c = regex[at++];
    break;
  }
  part.first = add({Node::One, c, 0, 0});
  part.ends = {{part.first, false}};
  return true;
}

std::optional<NameAutomaton> NameAutomaton::compile(StringRef regex,
                                                    bool isDotted,
                                                    std::string &error) {
  NameAutomaton automaton;
  AutomatonBuilder builder(regex, automaton);
  if (!builder.run(isDotted, automaton.first)) {
    error = std::move(builder.error);
    return std::nullopt;
  }
  automaton.seen.resize(automaton.nodes.size());
  return automaton;
}

void NameAutomaton::follow(unsigned node, bool isBegin, Places &places) const {
  SmallVector<unsigned> pending{node};
  while (!pending.empty()) {
    unsigned next = pending.pop_back_val();
    if (std::exchange(seen[next], round) == round)
      continue;
    const Node &at = nodes[next];
    if (at.kind == Node::Split) {
      pending.push_back(at.other);
      pending.push_back(at.next);
    } else if (at.kind == Node::Pass) {
      pending.push_back(at.next);
    } else if (at.kind != Node::Begin) {
      places.push_back(next);
    } else if (isBegin) {
      pending.push_back(at.next);
    }
  }
}

NameAutomaton::Places NameAutomaton::begin() const {
  Places places;
  ++round;
  follow(first, /*isBegin=*/false, places);
  return advance(places, '.', /*isBegin=*/true);
}

NameAutomaton::Places NameAutomaton::begin(const Piece &piece) const {
  Places places;
  ++round;
  for (unsigned node : piece.firsts)
    follow(node, /*isBegin=*/false, places);
  return places;
}

bool NameAutomaton::hasPassed(const Piece &piece) const {
  return llvm::any_of(piece.ends,
                      [&](unsigned node) { return seen[node] == round; });
}

NameAutomaton::Places NameAutomaton::advance(const Places &places,
                                             char next, bool isBegin) const {
  Places after;
  ++round;
  for (unsigned place : places) {
    const Node &node = nodes[place];
    bool leads = node.kind == Node::One ? node.character == next
                 : node.kind == Node::Class
                     ? classes[node.other][static_cast<unsigned char>(next)]
                     : false;
    if (leads)
      follow(node.next, isBegin, after);
  }
  return after;
}

bool NameAutomaton::accepts(const Places &places) const {
  Places ends(places);
  ++round;
  for (size_t number = 0; number < ends.size(); ++number) {
    const Node &node = nodes[ends[number]];
    if (node.kind == Node::Accept)
      return true;
    if (node.kind == Node::End)
      follow(node.next, /*isBegin=*/false, ends);
  }
  return false;
}

bool NameAutomaton::matches(StringRef name) const {
  Places places = begin();
  for (char c : name) {
    if (places.empty())
      return false;
    places = advance(places, c);
  }
  return accepts(places);
}
