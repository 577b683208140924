//===- LayerPaths.cpp - Texts that differ in layers' numbers --------------===//

#include "dialects/dist/Utils/LayerPaths.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A part of a text: a number of a path, or what stands between two of them.
struct Piece {
  StringRef text;
  bool isNumber;
};
} // namespace

static bool isPathChar(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Cuts "h.0.attn" into "h.", 0 and ".attn".
static std::vector<Piece> cutAtNumbers(StringRef text) {
  std::vector<Piece> pieces;
  size_t start = 0;
  for (size_t i = 0; i < text.size();) {
    if (!llvm::isDigit(text[i]) || (i > 0 && isPathChar(text[i - 1]))) {
      ++i;
      continue;
    }
    size_t end = std::min(
        text.find_if_not([](char c) { return llvm::isDigit(c); }, i),
        text.size());
    bool hasBefore = i > 1 && text[i - 1] == '.' && isPathChar(text[i - 2]);
    bool hasAfter = end + 1 < text.size() && text[end] == '.' &&
                    isPathChar(text[end + 1]);
    bool isAll = i == 0 && end == text.size();
    bool isPart = end == text.size() || !isPathChar(text[end]);
    if (isPart && (hasBefore || hasAfter || isAll)) {
      pieces.push_back({text.slice(start, i), false});
      pieces.push_back({text.slice(i, end), true});
      start = end;
    }
    i = end;
  }
  pieces.push_back({text.substr(start), false});
  return pieces;
}

/// "{0..11}", "{1,3}", or "7" alone.
static std::string describeNumbers(const std::set<std::string> &seen) {
  if (seen.size() == 1)
    return *seen.begin();
  SmallVector<StringRef> numbers(seen.begin(), seen.end());
  // By size: what has fewer digits is smaller.
  llvm::sort(numbers, [](StringRef a, StringRef b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  bool isRange = numbers.size() > 2;
  for (size_t i = 0; i + 1 < numbers.size(); ++i) {
    int64_t here, next;
    isRange &= !numbers[i].getAsInteger(10, here) &&
               !numbers[i + 1].getAsInteger(10, next) && next == here + 1;
  }
  if (isRange)
    return ("{" + numbers.front() + ".." + numbers.back() + "}").str();
  return "{" + llvm::join(numbers, ",") + "}";
}

std::string LayerPaths::getPattern(StringRef text) {
  std::string pattern;
  for (const Piece &piece : cutAtNumbers(text))
    pattern += piece.isNumber ? StringRef("*") : piece.text;
  return pattern;
}

void LayerPaths::add(StringRef text) {
  if (numbers.empty())
    first = text.str();
  size_t place = 0;
  for (const Piece &piece : cutAtNumbers(text)) {
    if (!piece.isNumber)
      continue;
    if (place == numbers.size())
      numbers.emplace_back();
    numbers[place++].insert(piece.text.str());
  }
}

std::string LayerPaths::describe() const {
  std::string text;
  size_t place = 0;
  for (const Piece &piece : cutAtNumbers(first))
    text += piece.isNumber
                ? describeNumbers(numbers[place++])
                : piece.text.str();
  return text;
}
