//===- NamePattern.cpp - Globs and regexes over dotted names --------------===//
//
// How a directive of a schedule names modules, parameters, inputs and outputs.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/names/NamePattern.h"
#include "passes/bounds/Bounds.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::dist;

/// The extended regular expression of `given`, for names with a dot before;
/// nullopt where braces do not match.
static std::optional<std::string> translateGlob(StringRef given,
                                                std::string &error) {
  std::string dotted = "." + given.str(), regex;
  StringRef glob = dotted;
  int depth = 0;
  for (size_t i = 0; i < glob.size(); ++i) {
    switch (glob[i]) {
    case '*':
      if (!glob.substr(i).starts_with("**")) {
        regex += "[^.]*";
      } else {
        regex += ".*";
        i += 1;
      }
      break;
    case '.':
      if (glob.substr(i).starts_with(".**.")) {
        regex += "(\\..*)?";
        i += 2; // The dot behind it is always there.
      } else {
        regex += "\\.";
      }
      break;
    case '?':
      regex += "[^.]";
      break;
    case '{':
      regex += "(";
      ++depth;
      break;
    case '}':
      if (--depth < 0) {
        error = "'}' without '{' in \"" + given.str() + "\"";
        return std::nullopt;
      }
      regex += ")";
      break;
    case ',':
      regex += depth ? "|" : ",";
      break;
    default:
      regex += llvm::Regex::escape(glob.substr(i, 1));
    }
  }
  if (depth) {
    error = "'{' without '}' in \"" + given.str() + "\"";
    return std::nullopt;
  }
  return regex;
}

/// The end of the bracket expression that opens at `regex[open]`, past it; npos
/// if it does not end.
static size_t skipBracket(StringRef regex, size_t open) {
  size_t at = open + 1;
  at += regex.substr(at).starts_with("^");
  at += regex.substr(at).starts_with("]");
  for (; at < regex.size() && regex[at] != ']'; ++at)
    if (regex.substr(at).starts_with("[:"))
      at = regex.find(":]", at) == StringRef::npos ? regex.size()
                                                   : regex.find(":]", at) + 1;
  return at < regex.size() ? at + 1 : StringRef::npos;
}

/// POSIX's name, within brackets, of a class that Perl has an escape for.
static StringRef getPerlClass(char escape) {
  switch (escape) {
  case 'd':
    return "0-9";
  case 'w':
    return "A-Za-z0-9_";
  case 's':
    return " \t";
  }
  return {};
}

/// The POSIX extended regular expression that is equivalent to `regex`, in the
/// dialect of Perl and Python; nullopt if there is none.
static std::optional<std::string> translateRegex(StringRef regex,
                                                 std::string &error) {
  auto refuse = [&](StringRef what) {
    error = "'" + what.str() + "' in \"" + regex.str() +
            "\" is not supported in regular expressions here";
    return std::nullopt;
  };
  std::string posix;
  for (size_t i = 0; i < regex.size(); ++i) {
    char c = regex[i];
    if (c == '\\' && i + 1 < regex.size()) {
      char escaped = regex[++i];
      StringRef both = regex.substr(i - 1, 2);
      if (StringRef inside = getPerlClass(escaped); !inside.empty())
        posix += "[" + inside.str() + "]";
      else if (StringRef lower = getPerlClass(llvm::toLower(escaped));
               !lower.empty())
        posix += "[^" + lower.str() + "]";
      else if (llvm::isAlnum(escaped))
        return refuse(both);
      else
        posix += both;
    } else if (c == '[') {
      size_t end = skipBracket(regex, i);
      if (end == StringRef::npos)
        return refuse("[");
      for (; i < end; ++i) {
        if (regex[i] != '\\' || i + 1 == end) {
          posix += regex[i];
          continue;
        }
        StringRef inside = getPerlClass(regex[++i]);
        if (!inside.empty())
          posix += inside;
        else if (llvm::isAlnum(regex[i]) || regex[i] == ']')
          return refuse(regex.substr(i - 1, 2));
        else
          posix += regex[i];
      }
      --i;
    } else if (c == '(' && regex.substr(i).starts_with("(?")) {
      if (!regex.substr(i).starts_with("(?:"))
        return refuse(regex.substr(i, 3));
      posix += "(";
      i += 2;
    } else if (c == '?' && i > 0 && StringRef("*+?}").contains(regex[i - 1]) &&
               (i < 2 || regex[i - 2] != '\\')) {
      // Lazy: which of several matches is found first makes no difference.
    } else {
      posix += c;
    }
  }
  return posix;
}

/// `glob` with the numbers of ranges written out: `{2..4}` is `{2,3,4}`. Sets
/// `error` for a range that is empty or endless.
static std::string expandRanges(StringRef glob, std::string &error) {
  std::string expanded;
  while (true) {
    auto [before, rest] = glob.split('{');
    expanded += before;
    if (before.size() == glob.size())
      return expanded;
    StringRef inside = rest.take_until([](char c) { return c == '}'; });
    glob = rest.drop_front(inside.size());
    auto [low, high] = inside.split("..");
    uint64_t first, last;
    expanded += "{";
    if (low.getAsInteger(10, first) || high.getAsInteger(10, last)) {
      // Braces within it are looked at by themselves.
      glob = rest;
      continue;
    }
    if (first > last || last - first >= kMostRangeNumbers) {
      error = "the range {" + inside.str() + "} is " +
              (first > last ? "empty" : "too long");
      return expanded;
    }
    // Counted, as the last number may have no next one.
    for (uint64_t i = 0; i <= last - first; ++i)
      expanded += (i == 0 ? "" : ",") + std::to_string(first + i);
  }
}

/// Whether the pattern is a regular expression between slashes.
static bool isRegexPattern(StringRef pattern) {
  return pattern.size() >= 2 && pattern.front() == '/' && pattern.back() == '/';
}

std::optional<NamePattern> NamePattern::parse(StringRef given,
                                              std::string &error) {
  error.clear();
  std::string expanded =
      isRegexPattern(given) ? given.str() : expandRanges(given, error);
  if (!error.empty())
    return std::nullopt;
  StringRef text = expanded;
  int depth = 0;
  for (char c : text) {
    depth += (c == '{' || c == '(') - (c == '}' || c == ')');
    if (depth > kMostNested) {
      error =
          "\"" + text.take_front(40).str() + "…\" is nested more than 64 deep";
      return std::nullopt;
    }
  }
  NamePattern pattern;
  std::string regex;
  if (isRegexPattern(text)) {
    std::optional<std::string> translated =
        translateRegex(text.drop_front().drop_back(), error);
    if (!translated)
      return std::nullopt;
    regex = std::move(*translated);
  } else if (text.find_first_of("*?{}") == StringRef::npos) {
    pattern.literal = text.str();
    return pattern;
  } else {
    std::optional<std::string> translated = translateGlob(text, error);
    if (!translated)
      return std::nullopt;
    regex = std::move(*translated);
  }
  std::string reason;
  pattern.automaton =
      NameAutomaton::compile(regex, /*isDotted=*/!isRegexPattern(text), reason);
  if (!pattern.automaton) {
    error = "\"" + given.str() + "\" is no valid pattern: " + reason;
    return std::nullopt;
  }
  return pattern;
}

namespace {
/// Finds alternatives of a glob, between braces, or of a regular expression,
/// between parentheses.
class AlternativeFinder {
public:
  explicit AlternativeFinder(bool isRegex)
      : isRegex(isRegex), open(isRegex ? '(' : '{'), close(isRegex ? ')' : '}'),
        separator(isRegex ? '|' : ',') {}

  /// The opening brackets in the part [begin, end) of `pattern`.
  void find(StringRef pattern, size_t begin, size_t end);

  std::vector<NamePattern::Alternative> found;

private:
  /// The place after the character, escape or bracket expression at `at`.
  size_t skip(StringRef pattern, size_t at) const {
    if (isRegex && pattern[at] == '\\')
      return std::min(at + 2, pattern.size());
    if (isRegex && pattern[at] == '[')
      return std::min(skipBracket(pattern, at), pattern.size());
    return at + 1;
  }

  bool isRegex;
  char open, close, separator;
};
} // namespace

void AlternativeFinder::find(StringRef pattern, size_t begin, size_t end) {
  for (size_t start = begin; start < end;) {
    if (pattern[start] != open) {
      start = skip(pattern, start);
      continue;
    }
    SmallVector<size_t> ends{start}; // of what lies before each alternative
    if (pattern.substr(start).starts_with("(?:"))
      ends.front() += 2;
    size_t at = start + 1;
    for (int depth = 1; at < pattern.size(); at = skip(pattern, at)) {
      depth += (pattern[at] == open) - (pattern[at] == close);
      if (depth == 0)
        break;
      if (pattern[at] == separator && depth == 1)
        ends.push_back(at);
    }
    if (at >= pattern.size()) // not well-formed
      return;
    ends.push_back(at);
    bool isRepeated = isRegex && at + 1 < pattern.size() &&
                      StringRef("*+?{").contains(pattern[at + 1]);
    for (auto [before, after] : llvm::zip(ends, llvm::drop_begin(ends))) {
      StringRef text = pattern.slice(before + 1, after);
      // Several of the repeated parts may be needed to match at all.
      if (isRepeated || (isRegex && ends.size() == 2)) {
        if (!isRepeated)
          find(pattern, before + 1, after);
        continue;
      }
      std::string inner = isRegex ? "(" + text.str() + ")" : text.str();
      std::string one =
          (pattern.take_front(start) + inner + pattern.drop_front(at + 1))
              .str();
      if (text.contains(open))
        find(one, start + isRegex, start + isRegex + text.size());
      if (!text.contains(open) || isRegex)
        found.push_back({text.str(), std::move(one)});
    }
    start = at + 1;
  }
}

std::vector<NamePattern::Alternative>
NamePattern::findAlternatives(StringRef pattern) {
  bool isRegex = isRegexPattern(pattern);
  AlternativeFinder finder(isRegex);
  if (!isRegex) {
    std::string error, expanded = expandRanges(pattern, error);
    finder.find(expanded, 0, expanded.size());
    return std::move(finder.found);
  }
  // The whole may have alternatives, too.
  StringRef regex = pattern.drop_front().drop_back();
  std::string grouped = "(" + regex.str() + ")";
  finder.find(grouped, 0, grouped.size());
  for (Alternative &one : finder.found)
    one.pattern = "/" + one.pattern + "/";
  return std::move(finder.found);
}

bool NamePattern::matches(StringRef name) const {
  return automaton ? automaton->matches(name) : name == literal;
}

/// A name as a regular expression might mean it: the first of alternatives, a
/// character for a class, no repetitions.
static std::string sampleName(StringRef regex) {
  std::string name;
  SmallVector<bool> skips; // of each open group: after its first alternative
  auto add = [&](char c) {
    if (!llvm::is_contained(skips, true))
      name += c;
  };
  for (size_t i = 0; i < regex.size(); ++i) {
    switch (regex[i]) {
    case '\\':
      if (++i < regex.size())
        add(regex[i] == 'd' ? '0' : regex[i] == 'w' ? 'a' : regex[i]);
      break;
    case '[': {
      size_t end = skipBracket(regex, i);
      if (end == StringRef::npos)
        return name;
      add(regex[i + 1]);
      i = end - 1;
      break;
    }
    case '(':
      skips.push_back(false);
      if (regex.substr(i).starts_with("(?:"))
        i += 2;
      break;
    case ')':
      if (!skips.empty())
        skips.pop_back();
      break;
    case '|':
      if (skips.empty())
        return name;
      skips.back() = true;
      break;
    case '{':
      i = std::min(regex.find('}', i), regex.size());
      break;
    case '*':
    case '+':
    case '?':
    case '^':
    case '$':
      break;
    default:
      add(regex[i]);
    }
  }
  return name;
}

StringRef mlir::dist::findNearMiss(StringRef pattern,
                                   ArrayRef<StringRef> names) {
  std::string error, sample;
  if (isRegexPattern(pattern)) {
    sample = sampleName(pattern.drop_front().drop_back());
    pattern = sample;
  }
  if (auto prefixed = NamePattern::parse("**." + pattern.str(), error))
    for (StringRef name : names)
      if (prefixed->matches(name))
        return name;
  StringRef best;
  // A mistake in five letters, and what stands for others.
  unsigned limit = 1 + pattern.size() / 5 + pattern.count('*');
  for (StringRef name : names) {
    unsigned distance = pattern.edit_distance(name, true, limit);
    if (distance < limit || (best.empty() && distance == limit)) {
      best = name;
      limit = distance;
    }
  }
  return best;
}
