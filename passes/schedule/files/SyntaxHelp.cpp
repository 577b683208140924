//===- SyntaxHelp.cpp - What to type in place of a mistake ----------------===//
//
// MLIR's parser knows what it expected, not what one who writes a schedule for
// the first time took it for. What it found tells.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/files/SyntaxHelp.h"
#include "dialects/dist/IR/Directive.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/SourceText.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::dist;

/// Where the text at `place` or after it begins. What is missing is told of at
/// the end of what is before.
static size_t findOffset(StringRef text, SourcePlace place) {
  size_t offset = 0;
  for (unsigned line = 1; line < place.line; ++line) {
    offset = text.find('\n', offset);
    if (offset == StringRef::npos)
      return text.size();
    ++offset;
  }
  return std::min(text.find_first_not_of(" \t\r\n", offset + place.column - 1),
                  text.size());
}

static SourcePlace findPlace(StringRef text, size_t offset) {
  StringRef before = text.take_front(offset);
  return {static_cast<unsigned>(before.count('\n') + 1),
          static_cast<unsigned>(offset - (before.rfind('\n') + 1) + 1)};
}

static bool isOfWord(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$';
}

/// Whether the comment of another language is at the end of `before`, or
/// begins `rest`, its line after that; then sets `comment` to its text.
static bool isComment(StringRef before, StringRef rest, StringRef &comment) {
  StringRef line = before.substr(before.rfind('\n') + 1).ltrim();
  if (rest.starts_with("/*")) {
    comment = rest.drop_front(2).split("*/").first;
    return true;
  }
  if (line.empty() || !line.starts_with("#"))
    line = rest;
  else
    line = StringRef(line.data(), rest.end() - line.data());
  comment = line.drop_while([](char c) { return c == '#'; });
  // "#map" is an attribute, "#map = …" defines one; a word follows in prose.
  StringRef after = comment.drop_while(isOfWord).ltrim();
  bool isProse = comment.starts_with(" ") ||
                 (!after.empty() && llvm::isAlnum(after.front()));
  return line.starts_with("#") && isProse;
}

/// Of a word in a directive, a clause that it may be meant for.
static StringRef findClause(StringRef before, StringRef word) {
  StringRef best;
  // A directive begins a line, and fills two at most.
  size_t begin = before.rfind("dist.");
  if (begin == StringRef::npos || before.drop_front(begin).count('\n') > 1 ||
      !before.take_front(begin).rtrim(" \t").ends_with("\n"))
    return best;
  // One mistake in three letters.
  unsigned least = word.size() / 3 + 1;
  for (StringRef clause : kClauseWords)
    if (unsigned distance = word.edit_distance(clause);
        distance < least && clause.size() > 2) {
      least = distance;
      best = clause;
    }
  return best;
}

/// What to type at `offset` in place of what is there; "" if that is not known.
static std::string findHelp(MLIRContext *context, StringRef text,
                            size_t offset) {
  StringRef before = text.take_front(offset);
  StringRef rest =
      text.drop_front(offset).take_until([](char c) { return c == '\n'; });
  StringRef comment, word = rest.take_while(isOfWord);
  if (isComment(before, rest, comment))
    return ("a comment begins with //: write // " + comment.trim()).str();
  for (auto [open, close] :
       {std::pair<StringRef, StringRef>{"'", "'"}, {"`", "`"}, {"“", "”"}})
    if (rest.starts_with(open))
      return ("a name is in double quotes: write \"" +
              rest.drop_front(open.size()).split(close).first + "\"")
          .str();
  if (rest.starts_with("\xef\xbb\xbf"))
    return "the file begins with a byte order mark: save it without";
  if (rest.starts_with("}") && !findUnclosed(before))
    return "this '}' closes nothing: leave it out";
  if (rest.starts_with(";"))
    return "nothing stands at the end of a directive: leave out ';'";
  StringRef left = before.rtrim();
  StringRef previous =
      left.drop_front(left.find_last_not_of("abcdefghijklmnopqrstuvwxyz.") + 1);
  StringRef name =
      rest.starts_with("\"") ? rest.drop_front().split('"').first : word;
  bool isSymbol = previous == MeshOp::getOperationName() ||
                  previous == ScheduleOp::getOperationName() ||
                  previous == "on";
  if (isSymbol && !name.empty())
    return ("the names of meshes and schedules begin with @: write @" + name)
        .str();
  if (word.empty())
    return "";
  // An op begins its line.
  if (before.rtrim(" \t").ends_with("\n") || left.empty()) {
    StringRef next = rest.drop_front(word.size()).ltrim().take_while(isOfWord);
    std::string lower = word.lower();
    for (std::string op : {lower, "dist." + lower, lower + "." + next.lower()})
      if (op != word && RegisteredOperationName::lookup(op, context))
        return "write " + op;
  }
  if (StringRef clause = findClause(before, word);
      !clause.empty() && clause != word)
    return ("'" + word + "' is no clause of a directive; did you mean '" +
            clause + "'?")
        .str();
  return "";
}

SyntaxHelp::SyntaxHelp(MLIRContext *context, StringRef text)
    : ScopedDiagnosticHandler(context) {
  setHandler([this, context, text](Diagnostic &diagnostic) -> LogicalResult {
    auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation());
    if (isHelping || !place || place.getLine() == 0 ||
        diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    SourcePlace found = {place.getLine(), place.getColumn()};
    std::string help;
    // The parser would report it at the end of the text, in other words.
    if (std::optional<SourcePlace> unclosed = findUnclosed(text)) {
      found = *unclosed;
      help = "no '}' closes this '{'";
    } else {
      size_t offset = findOffset(text, found);
      found = findPlace(text, offset);
      help = findHelp(context, text, offset);
    }
    if (help.empty())
      return failure();
    llvm::SaveAndRestore<bool> guard(isHelping, true);
    emitError(
        FileLineColLoc::get(place.getFilename(), found.line, found.column))
        << help;
    return success();
  });
}
