//===- NamePattern.cpp - Globs and regexes over dotted names --------------===//
//
// How a directive of a schedule names modules, parameters, inputs and outputs.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/NamePattern.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dist;

/// The extended regular expression of `glob`; nullopt where braces do not
/// match.
static std::optional<std::string> translateGlob(StringRef glob,
                                                std::string &error) {
  std::string regex;
  int depth = 0;
  for (size_t i = 0; i < glob.size(); ++i) {
    bool startsComponent = i == 0 || glob[i - 1] == '.';
    switch (glob[i]) {
    case '*':
      if (!glob.substr(i).starts_with("**")) {
        regex += "[^.]*";
      } else if (startsComponent && glob.substr(i).starts_with("**.")) {
        regex += "(.*\\.)?";
        i += 2;
      } else {
        regex += ".*";
        i += 1;
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
        error = "'}' without '{' in \"" + glob.str() + "\"";
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
    error = "'{' without '}' in \"" + glob.str() + "\"";
    return std::nullopt;
  }
  return regex;
}

std::optional<NamePattern> NamePattern::parse(StringRef text,
                                              std::string &error) {
  NamePattern pattern;
  std::string regex;
  if (text.size() >= 2 && text.front() == '/' && text.back() == '/') {
    regex = text.drop_front().drop_back().str();
  } else if (text.find_first_of("*?{}") == StringRef::npos) {
    if (text.empty()) {
      error = "the empty pattern names nothing";
      return std::nullopt;
    }
    pattern.literal = text.str();
    pattern.split(text);
    return pattern;
  } else {
    std::optional<std::string> translated = translateGlob(text, error);
    if (!translated)
      return std::nullopt;
    regex = std::move(*translated);
    pattern.split(text);
  }
  pattern.regex.emplace("^(" + regex + ")$");
  std::string reason;
  if (!pattern.regex->isValid(reason)) {
    error = "\"" + text.str() + "\" is no valid pattern: " + reason;
    return std::nullopt;
  }
  return pattern;
}

void NamePattern::split(StringRef glob) {
  std::vector<Component> split;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= glob.size(); ++i) {
    bool isEnd = i == glob.size() || (glob[i] == '.' && depth == 0);
    if (!isEnd) {
      depth += (glob[i] == '{') - (glob[i] == '}');
      if (glob[i] == '.') // between braces
        return;
      continue;
    }
    StringRef text = glob.slice(start, i);
    start = i + 1;
    if (text == "*" || text == "**") {
      split.push_back(
          {text == "*" ? Component::Any : Component::AnyRun, "", std::nullopt});
    } else if (text.contains("**")) {
      return;
    } else if (text.find_first_of("*?{}") == StringRef::npos) {
      split.push_back({Component::Literal, text.str(), std::nullopt});
    } else {
      std::string error;
      std::optional<std::string> regex = translateGlob(text, error);
      if (!regex)
        return;
      split.push_back(
          {Component::Glob, text.str(), llvm::Regex("^(" + *regex + ")$")});
    }
  }
  components = std::move(split);
}

bool NamePattern::matches(StringRef name) const {
  return regex ? regex->match(name) : name == literal;
}

StringRef mlir::dist::findNearMiss(StringRef pattern,
                                   ArrayRef<StringRef> names) {
  std::string error;
  if (pattern.starts_with("/"))
    return {};
  if (auto prefixed = NamePattern::parse("**." + pattern.str(), error))
    for (StringRef name : names)
      if (prefixed->matches(name))
        return name;
  StringRef best;
  unsigned limit = std::max<unsigned>(3, pattern.size() / 4);
  for (StringRef name : names) {
    unsigned distance = pattern.edit_distance(name, true, limit);
    if (distance < limit || (best.empty() && distance == limit)) {
      best = name;
      limit = distance;
    }
  }
  return best;
}
