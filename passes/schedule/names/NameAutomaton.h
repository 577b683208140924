//===- NameAutomaton.h - Regular expressions in linear time -----*- C++ -*-===//
//
// A nondeterministic automaton, which is run on all its states at once
// (Thompson 1968). Names are looked at character by character, so that those
// with a common prefix are looked at together (NameTrie).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_NAMES_NAMEAUTOMATON_H
#define DIST_PASSES_SCHEDULE_NAMES_NAMEAUTOMATON_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <bitset>
#include <optional>
#include <string>
#include <vector>

namespace mlir::dist {

class NameAutomaton {
public:
  /// Of a POSIX extended regular expression for whole names. Nullopt with
  /// `error` if it is malformed, or repeats too much (kMostRepetitions).
  static std::optional<NameAutomaton> compile(StringRef regex,
                                              std::string &error);

  /// Where the automaton may be after a prefix; empty if nothing that begins so
  /// matches.
  using Places = SmallVector<unsigned, 8>;
  Places begin() const;
  Places advance(const Places &places, char next) const;
  /// Whether the name may end there.
  bool accepts(const Places &places) const;

  bool matches(StringRef name) const;

private:
  friend class AutomatonBuilder;
  using Characters = std::bitset<256>;

  struct Node {
    enum Kind : unsigned char { One, Class, Split, Begin, End, Accept } kind;
    /// Of One.
    char character;
    /// Of Class: its number. Of Split: the other way on.
    unsigned other;
    unsigned next;
  };

  /// Adds `node` and where it leads without a character.
  void follow(unsigned node, bool isBegin, Places &places) const;

  std::vector<Node> nodes;
  std::vector<Characters> classes;
  unsigned first = 0;
  /// Of the last call that saw a node; for `follow`.
  mutable std::vector<unsigned> seen;
  mutable unsigned round = 0;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_NAMES_NAMEAUTOMATON_H
