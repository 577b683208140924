//===- NamePattern.h - Globs and regexes over dotted names ------*- C++ -*-===//
//
// How a directive of a schedule names modules, parameters, inputs and outputs.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_NAMES_NAMEPATTERN_H
#define DIST_PASSES_SCHEDULE_NAMES_NAMEPATTERN_H

#include "mlir/Support/LLVM.h"
#include "passes/schedule/names/NameAutomaton.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::dist {

/// A pattern over names such as `transformer.h.0.attn`: a glob, in which
///   `*`      is any run of characters but a dot,
///   `**`     is any run of characters; `**.` may also be nothing,
///   `?`      is one character but a dot,
///   `{a,b}`  is either, each a glob itself,
///   `{2..5}` is any of these numbers,
/// or, between slashes, a regular expression: POSIX's extended ones with `\d`,
/// `\w`, `\s`, `(?:…)` and lazy repetitions of Perl's and Python's. A pattern
/// matches whole names only. The empty pattern matches the empty name only,
/// which the model itself has among its modules.
class NamePattern {
public:
  /// Returns nullopt and sets `error` if `text` is malformed.
  static std::optional<NamePattern> parse(StringRef text, std::string &error);

  bool matches(StringRef name) const;

  /// A pattern in which one of its braces (for a regular expression, one of its
  /// groups) is replaced by one of its alternatives.
  struct Alternative {
    std::string text, pattern;
  };
  /// Every alternative of every brace or group of `pattern`, which is
  /// well-formed. (`{a,b{c,d}}`: a, c and d.)
  static std::vector<Alternative> findAlternatives(StringRef pattern);

  /// What the pattern matches; null for a plain name.
  const NameAutomaton *getAutomaton() const {
    return automaton ? &*automaton : nullptr;
  }
  /// The only name that matches, if the pattern is a plain name.
  StringRef getLiteral() const { return literal; }

private:
  NamePattern() = default;

  std::string literal;
  std::optional<NameAutomaton> automaton;
};

/// The name that the author of `pattern`, which matches none of `names`, most
/// likely meant. It is a name that the pattern matches with a prefix, else the
/// nearest by edit distance. Empty if no name is near.
StringRef findNearMiss(StringRef pattern, ArrayRef<StringRef> names);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_NAMES_NAMEPATTERN_H
