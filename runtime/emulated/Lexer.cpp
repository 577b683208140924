//===- Lexer.cpp - The words of PTX ---------------------------------------===//

#include "runtime/emulated/Lexer.h"

#include <cctype>
#include <cstring>

using namespace dist;
using namespace dist::emulated;

Lexer::Lexer(std::string_view text, std::string name)
    : text(text), name(std::move(name)) {
  advance();
}

std::string Lexer::quote(std::string_view text) {
  constexpr size_t most = 60;
  std::string shown = "'";
  for (char c : text.substr(0, most))
    shown += std::isprint(static_cast<unsigned char>(c)) ? c : '?';
  return shown + (text.size() > most ? "…'" : "'");
}

void Lexer::fail(uint32_t at, const std::string &what) const {
  throw Error(name + ":" + std::to_string(at) + ": " + what);
}

void Lexer::fail(const std::string &what) const { fail(token.line, what); }

void Lexer::skipBlanks() {
  while (at < text.size()) {
    char c = text[at];
    if (c == '\n') {
      ++line;
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      size_t end = text.find("*/", at + 2);
      if (end == text.npos)
        fail(line, "a comment without its end");
      for (; at < end + 2; ++at)
        line += text[at] == '\n';
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skipBlanks();
  token = {Token::End, {}, line};
  if (at == text.size())
    return;
  auto isWord = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '$' || c == '%' || c == '.';
  };
  size_t start = at;
  char c = text[at];
  if (isWord(c)) {
    token.kind = std::isdigit(static_cast<unsigned char>(c)) ? Token::Number
                                                             : Token::Word;
    // Of `shared::cta`, but not of a label's end.
    while (at < text.size() &&
           (isWord(text[at]) ||
            (text.substr(at, 2) == "::" && at + 2 < text.size() &&
             isWord(text[at + 2]) && (++at, true))))
      ++at;
    token.text = text.substr(start, at - start);
    return;
  }
  if (c == '"') {
    size_t end = text.find_first_of("\"\n", at + 1);
    if (end == text.npos || text[end] == '\n')
      fail(line, "a string without its end");
    token.kind = Token::String;
    token.text = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return;
  }
  if (c == '\0' || !std::strchr("{}[]()<>,;:=+-!@|", c))
    fail(line, "the character " + quote(text.substr(at, 1)) +
                   " has no place in PTX");
  token.kind = Token::Sign;
  token.text = text.substr(at++, 1);
}

Token Lexer::next() {
  Token current = token;
  advance();
  return current;
}

bool Lexer::take(char sign) {
  bool is = token.is(sign);
  if (is)
    advance();
  return is;
}

bool Lexer::take(std::string_view word) {
  bool is = token.is(word);
  if (is)
    advance();
  return is;
}

Token Lexer::expect(char sign) {
  if (!token.is(sign))
    fail(std::string("expected '") + sign + "' before " +
         (token.kind == Token::End ? "the end" : quote(token.text)));
  return next();
}

Token Lexer::expectWord(const char *what) {
  if (token.kind != Token::Word)
    fail(std::string("expected ") + what + " before " +
         (token.kind == Token::End ? "the end" : quote(token.text)));
  return next();
}

void Lexer::skipBlock() {
  for (unsigned depth = 1; depth;) {
    if (token.kind == Token::End)
      fail("a block without its '}'");
    depth += token.is('{');
    depth -= token.is('}');
    advance();
  }
}
