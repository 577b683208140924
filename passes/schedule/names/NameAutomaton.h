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
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <bitset>
#include <optional>
#include <string>
#include <vector>

namespace mlir::dist {

class NameAutomaton {
public:
  /// Of a POSIX extended regular expression for whole names; with `isDotted`,
  /// for names with a dot before. Nullopt with `error` if it is malformed, or
  /// repeats too much (kMostRepetitions).
  static std::optional<NameAutomaton> compile(StringRef regex, bool isDotted,
                                              std::string &error);

  /// A part of the expression that is in every name which matches, as it is not
  /// optional. (That name has a dot before.) It leads from one of `firsts` to
  /// one of `ends`.
  struct Piece {
    SmallVector<unsigned, 1> firsts, ends;
  };
  ArrayRef<Piece> getPieces() const { return pieces; }

  /// Where the automaton may be after a prefix; empty if nothing that begins so
  /// matches.
  using Places = SmallVector<unsigned, 8>;
  Places begin() const;
  /// Where it may be before a piece.
  Places begin(const Piece &piece) const;
  Places advance(const Places &places, char next, bool isBegin = false) const;
  /// Whether the last call of `advance` led to the end of the piece.
  bool hasPassed(const Piece &piece) const;
  /// Whether the name may end there.
  bool accepts(const Places &places) const;

  bool matches(StringRef name) const;

private:
  friend class AutomatonBuilder;
  using Characters = std::bitset<256>;

  struct Node {
    enum Kind : unsigned char {
      One,
      Class,
      Split,
      Pass, ///< leads on
      Begin,
      End,
      Accept
    } kind;
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
  std::vector<Piece> pieces;
  unsigned first = 0;
  /// Of the last call that saw a node; for `follow`.
  mutable std::vector<unsigned> seen;
  mutable unsigned round = 0;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_NAMES_NAMEAUTOMATON_H
