//===- Lexer.h - The words of PTX -------------------------------*- C++ -*-===//

#ifndef DIST_RUNTIME_EMULATED_LEXER_H
#define DIST_RUNTIME_EMULATED_LEXER_H

#include "dist/Tensor.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace dist::emulated {

struct Token {
  enum Kind : uint8_t { End, Word, Number, String, Sign };
  Kind kind = End;
  std::string_view text; // a string without its quotes
  uint32_t line = 0;

  bool is(char sign) const { return kind == Sign && text[0] == sign; }
  bool is(std::string_view word) const { return kind == Word && text == word; }
};

/// Words are names, directives (.reg) and instructions with their modifiers
/// (ld.global.b32); comments are passed over.
class Lexer {
public:
  Lexer(std::string_view text, std::string name);

  const Token &peek() const { return token; }
  Token next();
  /// Takes a sign or word if it comes next.
  bool take(char sign);
  bool take(std::string_view word);
  Token expect(char sign);
  Token expectWord(const char *what);
  /// Passes over a block in braces whose opening one was taken.
  void skipBlock();

  [[noreturn]] void fail(const std::string &what) const;
  [[noreturn]] void fail(uint32_t line, const std::string &what) const;
  /// A word of the file as a message shows it: of bounded length.
  static std::string quote(std::string_view text);

private:
  void advance();
  void skipBlanks();

  std::string_view text;
  std::string name;
  size_t at = 0;
  uint32_t line = 1;
  Token token;
};

} // namespace dist::emulated

#endif // DIST_RUNTIME_EMULATED_LEXER_H
