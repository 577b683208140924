//===- ParseBody.cpp - Statements and operands of functions ---------------===//

#include "runtime/emulated/Decoder.h"

#include <algorithm>
#include <charconv>
#include <cstring>

using namespace dist;
using namespace dist::emulated;

// Bounds of memory, far above what programs have: a frame of registers takes at
// most 16 MiB a warp.
static constexpr uint32_t kMostRegisters = 1 << 16;
static constexpr uint64_t kMostLocalBytes = 512 << 10; // the hardware's
static constexpr uint32_t kMostSharedBytes = 232'448;

uint32_t Parser::labelTarget(const std::string &label) {
  auto it = labels.find(label);
  return it == labels.end() ? ~0u : it->second;
}

void Parser::parseBody() {
  scopes.assign(1, {});
  used.assign(1, {});
  labels.clear();
  fixups.clear();
  tables.clear();
  constants.clear();
  location = 0;
  function->registerBytes = 64; // the mask of carries
  usedRegisters = 0;
  Kernel &interface = function->interface;
  for (auto *list : {&interface.parameters, &function->results})
    for (const Parameter &parameter : *list) {
      Symbol symbol;
      symbol.kind = Symbol::Param;
      symbol.address = parameter.offset;
      symbol.bytes = parameter.bytes;
      if (!scopes[0].emplace(parameter.name, symbol).second)
        lexer.fail("the parameter " + Lexer::quote(parameter.name) +
                   " is there twice");
    }
  parseBlock(0);
  // Running past the end returns.
  Operation last;
  last.kind = Kind::Return;
  last.line = lexer.peek().line;
  function->operations.push_back(last);
  resolveLabels();
}

void Parser::parseBlock(unsigned depth) {
  if (depth > 64)
    lexer.fail("blocks are nested too deep");
  while (!lexer.take('}')) {
    if (lexer.take('{')) {
      scopes.emplace_back();
      used.emplace_back();
      parseBlock(depth + 1);
      scopes.pop_back();
      used.pop_back();
      continue;
    }
    const Token &token = lexer.peek();
    if (token.is(".reg")) {
      parseRegisters();
    } else if (token.is(".shared")) {
      parseBodyVariable(Space::Shared);
    } else if (token.is(".local")) {
      parseBodyVariable(Space::Local);
    } else if (token.is(".param")) {
      parseBodyVariable(Space::Param);
    } else if (token.is(".loc")) {
      parseLocation();
    } else if (token.is(".file")) {
      lexer.next();
      parseFile();
    } else if (token.is(".pragma")) {
      lexer.next();
      lexer.next();
      lexer.expect(';');
    } else {
      parseInstruction();
    }
  }
}

void Parser::parseRegisters() {
  lexer.expectWord(".reg");
  Token word = lexer.expectWord("a type");
  Type type = parseType(word.text, word.line);
  if (bitsOf(type) == 8)
    lexer.fail(word.line, "registers of 8 bits are not supported");
  do {
    Token token = lexer.expectWord("a register");
    Symbol symbol;
    symbol.type = type;
    if (lexer.take('<')) {
      symbol.kind = Symbol::Registers;
      symbol.count = parseInteger(1 << 30, "a number of registers");
      lexer.expect('>');
    }
    if (!scopes.back().emplace(std::string(token.text), symbol).second)
      lexer.fail(token.line, Lexer::quote(token.text) + " is there twice");
  } while (lexer.take(','));
  lexer.expect(';');
}

void Parser::parseBodyVariable(Space space) {
  Token word = lexer.next();
  uint64_t most = space == Space::Shared  ? kMostSharedBytes
                  : space == Space::Local ? kMostLocalBytes
                                          : 32'764;
  do {
    Declared declared = parseDeclared(most);
    if (declared.isUnsized)
      lexer.fail(word.line, Lexer::quote(declared.name) + " has no size");
    Symbol symbol;
    symbol.bytes = declared.bytes();
    symbol.alignment = declared.alignment;
    uint64_t end;
    if (space == Space::Param) {
      // Of calls: what a callee gets and gives.
      symbol.kind = Symbol::Param;
      symbol.address = (uint64_t(function->paramBytes) + 15) / 16 * 16;
      end = symbol.address + symbol.bytes;
      most = 1 << 18;
      function->paramBytes = end;
    } else if (space == Space::Local) {
      // Functions have memory apart from each other: none calls itself.
      symbol.kind = Symbol::Local;
      uint32_t &bytes =
          function->isKernel ? function->localBytes : code.localBytes;
      symbol.address = placeVariable(bytes, declared.alignment);
      end = symbol.address + symbol.bytes;
      bytes = end;
      if (function->isKernel)
        symbol.address += kKernelLocal;
    } else {
      symbol.kind = Symbol::Shared;
      // Behind those of the module; a function's own behind all, so that they
      // do not overlap its callers'.
      uint32_t &bytes = function->interface.sharedBytes;
      uint32_t start = function->isKernel ? code.sharedBytes : sharedEnd;
      bytes = std::max(bytes, start);
      symbol.address = placeVariable(bytes, declared.alignment);
      end = symbol.address + symbol.bytes;
      bytes = end;
      sharedEnd = std::max<uint32_t>(sharedEnd, end);
    }
    if (end > most)
      lexer.fail(word.line, "more than " + std::to_string(most) + " bytes of " +
                                std::string(word.text.substr(1)) +
                                " variables");
    if (!scopes.back().emplace(declared.name, symbol).second)
      lexer.fail(word.line, Lexer::quote(declared.name) + " is there twice");
  } while (lexer.take(','));
  lexer.expect(';');
}

/// .loc file line column, function_name label, inlined_at file line column
void Parser::parseLocation() {
  lexer.next();
  SourceLocation place;
  place.file = parseInteger(1 << 20, "a file's number");
  place.line = parseInteger(~0u, "a line");
  place.column = parseInteger(~0u, "a column");
  while (lexer.take(',')) {
    Token token = lexer.expectWord("function_name or inlined_at");
    if (token.text == "inlined_at") {
      for (int i = 0; i < 3; ++i)
        parseInteger(~0u, "a place");
    } else if (token.text == "function_name") {
      lexer.expectWord("a label");
      if (lexer.take('+'))
        parseInteger(~0u, "an offset");
    } else {
      lexer.fail(token.line, Lexer::quote(token.text) + " in .loc");
    }
  }
  code.locations.push_back(place);
  location = code.locations.size() - 1;
}

void Parser::parseBranchTargets(const std::string &label) {
  uint32_t table = function->tables.size();
  function->tables.emplace_back();
  if (!tables.emplace(label, table).second)
    lexer.fail("the label " + Lexer::quote(label) + " is there twice");
  do {
    Token token = lexer.expectWord("a label");
    fixups.push_back({~0u, table, uint32_t(function->tables[table].size()),
                      std::string(token.text), token.line});
    function->tables[table].push_back(0);
  } while (lexer.take(','));
  lexer.expect(';');
}

const Symbol *Parser::findSymbol(const std::string &name) const {
  for (size_t i = scopes.size(); i-- > 0;)
    if (auto it = scopes[i].find(name); it != scopes[i].end())
      return &it->second;
  return nullptr;
}

Slot Parser::newRegister(Type type) {
  if (++usedRegisters > kMostRegisters)
    lexer.fail("more than " + std::to_string(kMostRegisters) +
               " registers are used in one function");
  uint32_t bytes = type == Type::Pred ? 4 : bytesOf(type) * kLanes;
  uint32_t &end = function->registerBytes;
  uint32_t alignment = type == Type::Pred ? 4 : 64;
  end = (end + alignment - 1) / alignment * alignment;
  Slot slot = slotAt(RegisterBase, end);
  end += bytes;
  return slot;
}

std::optional<Operand> Parser::findRegister(const std::string &name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  uint64_t index = 0;
  bool isNumbered = digits < name.size() && digits > 0 &&
                    std::from_chars(name.data() + digits,
                                    name.data() + name.size(), index)
                            .ec == std::errc();
  std::string stem = name.substr(0, digits);
  for (size_t i = scopes.size(); i-- > 0;) {
    auto it = scopes[i].find(name);
    bool isOne = it != scopes[i].end() && it->second.kind == Symbol::Register;
    if (!isOne && isNumbered) {
      it = scopes[i].find(stem);
      isOne = it != scopes[i].end() && it->second.kind == Symbol::Registers &&
              index < it->second.count;
    }
    if (!isOne)
      continue;
    Operand operand;
    operand.kind = Operand::Register;
    operand.type = it->second.type;
    auto [slot, isNew] = used[i].try_emplace(name, kNoSlot);
    if (isNew)
      slot->second = newRegister(operand.type);
    operand.slot = slot->second;
    return operand;
  }
  return std::nullopt;
}

Operand Parser::parseNumber(bool isMinus) {
  Token token = lexer.next();
  std::string_view text = token.text;
  Operand operand;
  auto bad = [&] {
    lexer.fail(token.line, Lexer::quote(text) + " is no number");
  };
  if (token.kind != Token::Number)
    bad();
  auto read = [&](std::string_view digits, int base) {
    uint64_t value = 0;
    auto end = std::from_chars(digits.data(), digits.data() + digits.size(),
                               value, base);
    if (digits.empty() || end.ec != std::errc() ||
        end.ptr != digits.data() + digits.size())
      bad();
    return value;
  };
  char second = text.size() > 1 ? text[1] | 0x20 : 0;
  if (text[0] == '0' && (second == 'f' || second == 'd')) {
    operand.kind = Operand::Float;
    operand.isDouble = second == 'd';
    if (text.size() != (operand.isDouble ? 18u : 10u))
      bad();
    operand.value = read(text.substr(2), 16);
    if (isMinus)
      operand.value ^= uint64_t(1) << (operand.isDouble ? 63 : 31);
    return operand;
  }
  if (text.find('.') != text.npos) {
    double value = 0;
    auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size())
      bad();
    operand.kind = Operand::Float;
    operand.isDouble = true;
    value = isMinus ? -value : value;
    std::memcpy(&operand.value, &value, 8);
    return operand;
  }
  operand.kind = Operand::Integer;
  operand.isMinus = isMinus;
  if (text.back() == 'U')
    text.remove_suffix(1);
  if (text.size() > 1 && text[0] == '0' && second == 'x')
    operand.value = read(text.substr(2), 16);
  else if (text.size() > 1 && text[0] == '0' && second == 'b')
    operand.value = read(text.substr(2), 2);
  else if (text.size() > 1 && text[0] == '0')
    operand.value = read(text.substr(1), 8);
  else
    operand.value = read(text, 10);
  if (isMinus && operand.value > uint64_t(1) << 63)
    bad();
  if (isMinus)
    operand.value = -operand.value;
  return operand;
}

Operand Parser::parseAddress() {
  Operand operand;
  operand.kind = Operand::Address;
  bool isMinus = lexer.take('-');
  if (lexer.peek().kind == Token::Number || isMinus) {
    Operand number = parseNumber(isMinus);
    if (number.kind != Operand::Integer)
      lexer.fail("an address is no float");
    operand.offset = number.value;
  } else {
    Token token = lexer.expectWord("an address");
    operand.name = token.text;
    if (std::optional<Operand> base = findRegister(operand.name)) {
      operand.slot = base->slot;
      operand.type = base->type;
      if (bitsOf(operand.type) != 64 && bitsOf(operand.type) != 32)
        lexer.fail(token.line, Lexer::quote(operand.name) +
                                   " is no register for addresses");
    }
    if (lexer.take('+') || lexer.peek().is('-')) {
      bool minus = lexer.take('-');
      Operand number = parseNumber(minus);
      if (number.kind != Operand::Integer)
        lexer.fail("an offset is no float");
      operand.offset = number.value;
    }
  }
  lexer.expect(']');
  return operand;
}

Operand Parser::parseOperand() {
  Operand operand;
  if (lexer.take('['))
    return parseAddress();
  if (lexer.peek().is('{') || lexer.peek().is('(')) {
    char end = lexer.next().is('{') ? '}' : ')';
    operand.kind = Operand::Vector;
    if (lexer.take(end))
      return operand;
    do {
      if (lexer.peek().is('{') || lexer.peek().is('(') || lexer.peek().is('['))
        lexer.fail("an operand within a vector is simple");
      operand.elements.push_back(parseOperand());
    } while (lexer.take(','));
    lexer.expect(end);
    return operand;
  }
  bool isNegated = lexer.take('!');
  bool isMinus = !isNegated && lexer.take('-');
  if (!isNegated && lexer.peek().kind == Token::Number)
    return parseNumber(isMinus);
  if (isMinus)
    lexer.fail("expected a number behind '-'");
  Token token = lexer.expectWord("an operand");
  if (token.text == "_")
    return operand;
  std::string name(token.text);
  if (std::optional<Operand> found = findRegister(name)) {
    operand = *found;
    operand.isNegated = isNegated;
    if (lexer.take('|')) {
      Token other = lexer.expectWord("a predicate");
      if (other.text != "_") {
        std::optional<Operand> second = findRegister(std::string(other.text));
        if (!second || second->type != Type::Pred)
          lexer.fail(other.line, Lexer::quote(other.text) +
                                     " is no predicate");
        operand.second = second->slot;
      }
    }
    return operand;
  }
  if (isNegated)
    lexer.fail(token.line, Lexer::quote(name) + " is no predicate");
  operand.kind = Operand::Name;
  operand.name = std::move(name);
  if (lexer.take('+'))
    operand.offset = parseInteger(uint64_t(1) << 32, "an offset");
  return operand;
}

void Parser::parseInstruction() {
  Statement statement;
  statement.line = lexer.peek().line;
  if (lexer.take('@')) {
    statement.isNegated = lexer.take('!');
    Token token = lexer.expectWord("a predicate");
    std::optional<Operand> guard = findRegister(std::string(token.text));
    if (!guard || guard->type != Type::Pred)
      lexer.fail(token.line, Lexer::quote(token.text) + " is no predicate");
    statement.guard = guard->slot;
  }
  Token word = lexer.expectWord("an instruction");
  if (statement.guard == kNoSlot && lexer.take(':')) {
    std::string label(word.text);
    if (lexer.take(".branchtargets")) {
      parseBranchTargets(label);
      return;
    }
    if (lexer.peek().kind == Token::Word && lexer.peek().text[0] == '.' &&
        lexer.peek().text.starts_with(".call"))
      lexer.fail("calls by pointers to functions are not supported");
    if (!labels.emplace(label, function->operations.size()).second)
      lexer.fail(word.line, "the label " + Lexer::quote(label) +
                                " is there twice");
    return;
  }
  statement.text = word.text;
  if (!lexer.peek().is(';'))
    do
      statement.operands.push_back(parseOperand());
    while (lexer.take(','));
  lexer.expect(';');
  Decoder(*this, statement).decode();
}

void Parser::resolveLabels() {
  for (const Fixup &fixup : fixups) {
    uint32_t target;
    if (fixup.table == ~0u) {
      target = labelTarget(fixup.label);
    } else if (fixup.operation == ~0u) {
      target = labelTarget(fixup.label);
    } else {
      auto it = tables.find(fixup.label);
      target = it == tables.end() ? ~0u : it->second;
    }
    if (target == ~0u)
      lexer.fail(fixup.line, "the label " + Lexer::quote(fixup.label) +
                                 " is not defined in this function");
    if (fixup.operation == ~0u)
      function->tables[fixup.table][fixup.entry] = target;
    else
      function->operations[fixup.operation].target = target;
  }
}
