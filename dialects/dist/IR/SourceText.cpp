//===- SourceText.cpp - Text that MLIR's parser may be given --------------===//

#include "dialects/dist/IR/SourceText.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

std::string mlir::dist::findTooDeep(StringRef text) {
  constexpr int kMostNested = 512;
  int depth = 0, signs = 0, arrows = 0;
  unsigned line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool isSign = false;
    switch (c) {
    case '\n':
      ++line;
      continue;
    case ' ':
    case '\t':
    case '\r':
      continue;
    case '"': // a string, with escapes
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
      arrows = 0;
      break;
    case '/':
      if (text.substr(i).starts_with("//")) {
        i = std::min(text.find('\n', i), text.size()) - 1;
        continue;
      }
      break;
    case '-':
      if (text.substr(i).starts_with("->")) {
        ++arrows;
        ++i;
      } else {
        isSign = true;
        ++signs;
      }
      break;
    case '(':
    case '[':
    case '<':
      ++depth;
      break;
    case '{':
      ++depth;
      arrows = 0;
      break;
    case ')':
    case ']':
    case '>':
      depth = std::max(depth - 1, 0);
      break;
    case '}':
      depth = std::max(depth - 1, 0);
      arrows = 0;
      break;
    case '=':
    case ',':
    case '@':
    case '%':
      arrows = 0;
      break;
    default:
      break;
    }
    if (!isSign)
      signs = 0;
    if (depth > kMostNested || signs > kMostNested || arrows > kMostNested)
      return std::to_string(line) + ": nested more than " +
             std::to_string(kMostNested) + " deep";
  }
  return "";
}
