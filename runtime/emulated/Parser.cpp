//===- Parser.cpp - The structure of a module -----------------------------===//
//
// What is not known is an error. Numbers are bounded before memory is asked
// for. What is inside of functions is in ParseBody.cpp and Decode*.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulated/Parser.h"

#include <algorithm>
#include <cstring>

using namespace dist;
using namespace dist::emulated;

// The hardware's limits, but for that of a module's variables together.
static constexpr uint64_t kMostVariableBytes = uint64_t(64) << 20;

unsigned emulated::bitsOf(Type type) {
  switch (type) {
  case Type::Pred:
    return 1;
  case Type::B8:
  case Type::U8:
  case Type::S8:
    return 8;
  case Type::B16:
  case Type::U16:
  case Type::S16:
  case Type::F16:
  case Type::BF16:
    return 16;
  case Type::B32:
  case Type::U32:
  case Type::S32:
  case Type::F32:
  case Type::F16x2:
  case Type::BF16x2:
    return 32;
  default:
    return 64;
  }
}

bool emulated::isSigned(Type type) {
  return type >= Type::S8 && type <= Type::S64;
}

bool emulated::isFloat(Type type) { return type >= Type::F16; }

uint64_t emulated::placeVariable(uint64_t offset, uint64_t alignment) {
  offset = (offset + alignment - 1) / alignment * alignment;
  if (alignment < 128 && offset / alignment % 2 == 0)
    offset += alignment;
  return offset;
}

Parser::Parser(std::string_view text, Code &code, Memory &memory)
    : lexer(text, code.name), code(code), memory(memory) {}

Type Parser::parseType(std::string_view word, uint32_t line) {
  static const std::unordered_map<std::string_view, Type> types = {
      {".pred", Type::Pred}, {".b8", Type::B8},       {".b16", Type::B16},
      {".b32", Type::B32},   {".b64", Type::B64},     {".u8", Type::U8},
      {".u16", Type::U16},   {".u32", Type::U32},     {".u64", Type::U64},
      {".s8", Type::S8},     {".s16", Type::S16},     {".s32", Type::S32},
      {".s64", Type::S64},   {".f16", Type::F16},     {".f16x2", Type::F16x2},
      {".f32", Type::F32},   {".f64", Type::F64},     {".bf16", Type::BF16},
      {".bf16x2", Type::BF16x2}, {".f32x2", Type::F32x2}};
  auto it = types.find(word);
  if (it == types.end())
    lexer.fail(line, "expected a type instead of " + Lexer::quote(word));
  return it->second;
}

uint64_t Parser::parseInteger(uint64_t most, const char *what) {
  if (lexer.peek().kind != Token::Number)
    lexer.fail(std::string("expected ") + what);
  Token token = lexer.peek();
  Operand number = parseNumber(false);
  if (number.kind != Operand::Integer || number.value > most)
    lexer.fail(token.line, std::string(what) + " " + Lexer::quote(token.text) +
                               " is beyond " + std::to_string(most));
  return number.value;
}

void Parser::parseVersion() {
  Token token = lexer.next();
  auto isDigit = [&](size_t at) {
    return token.text[at] >= '0' && token.text[at] <= '9';
  };
  if (token.kind != Token::Number || token.text.size() != 3 || !isDigit(0) ||
      token.text[1] != '.' || !isDigit(2))
    lexer.fail(token.line, "expected the version of PTX, such as 7.0");
  int version = (token.text[0] - '0') * 10 + (token.text[2] - '0');
  if (version < 60 || version > 88)
    lexer.fail(token.line, "PTX " + Lexer::quote(token.text) +
                               " is not known; versions 6.0 to 8.8 are");
  if (version < 81)
    mostParameterBytes = 4'352;
}

/// .file 1 "name" and what may come behind.
void Parser::parseFile() {
  uint32_t index = parseInteger(1 << 20, "a file's number");
  if (lexer.peek().kind != Token::String)
    lexer.fail("expected a file's name");
  std::string name(lexer.next().text);
  while (lexer.take(','))
    parseInteger(~uint64_t(0), "a file's time or size");
  code.files[index] = name.substr(name.rfind('/') + 1);
}

void Parser::parse() {
  if (!lexer.take(".version"))
    lexer.fail("a module begins with .version");
  parseVersion();
  bool hasTarget = false;
  while (lexer.peek().kind != Token::End) {
    bool isExtern = false;
    while (lexer.peek().is(".visible") || lexer.peek().is(".weak") ||
           lexer.peek().is(".extern") || lexer.peek().is(".common"))
      isExtern |= lexer.next().text == ".extern";
    Token token = lexer.expectWord("a directive");
    if (token.text == ".target") {
      hasTarget = true;
      do
        lexer.expectWord("a target");
      while (lexer.take(','));
    } else if (token.text == ".address_size") {
      if (parseInteger(64, "the size of addresses") != 64)
        lexer.fail(token.line, "addresses of 32 bits are not supported");
    } else if (token.text == ".file") {
      parseFile();
    } else if (token.text == ".section") {
      lexer.expectWord("a section");
      lexer.expect('{');
      lexer.skipBlock();
    } else if (!hasTarget) {
      lexer.fail(token.line, ".target comes before " +
                                 Lexer::quote(token.text));
    } else if (token.text == ".entry" || token.text == ".func") {
      parseFunction(token.text == ".entry");
    } else if (token.text == ".global") {
      parseVariable(Space::Global, isExtern);
    } else if (token.text == ".const") {
      parseVariable(Space::Const, isExtern);
    } else if (token.text == ".shared") {
      parseVariable(Space::Shared, isExtern);
    } else {
      lexer.fail(token.line, "the directive " + Lexer::quote(token.text) +
                                 " is not supported");
    }
  }
  finish();
}

Parser::Declared Parser::parseDeclared(uint64_t mostBytes) {
  Declared declared;
  for (;;) {
    Token token = lexer.expectWord("a type");
    if (token.text == ".align") {
      declared.alignment = parseInteger(1 << 16, "an alignment");
      if (declared.alignment == 0 ||
          (declared.alignment & (declared.alignment - 1)))
        lexer.fail(token.line, "an alignment is a power of two");
    } else if (token.text == ".ptr") {
      // What a pointer of a kernel's leads to.
      while (lexer.peek().is(".global") || lexer.peek().is(".shared") ||
             lexer.peek().is(".const") || lexer.peek().is(".local"))
        lexer.next();
      if (lexer.take(".align"))
        parseInteger(1 << 16, "an alignment");
      break;
    } else if (token.text == ".attribute") {
      lexer.expect('(');
      while (!lexer.take(')'))
        if (lexer.next().kind == Token::End)
          lexer.fail("expected ')'");
    } else {
      declared.type = parseType(token.text, token.line);
      if (declared.type == Type::Pred)
        lexer.fail(token.line, "a variable is no predicate");
      if (!lexer.peek().is(".ptr"))
        break;
    }
  }
  Token name = lexer.expectWord("a name");
  declared.name = name.text;
  while (lexer.take('[')) {
    declared.isArray = true;
    if (lexer.take(']')) {
      declared.isUnsized = true;
      declared.count = 0;
      continue;
    }
    uint64_t size = parseInteger(mostBytes, "an array's size");
    lexer.expect(']');
    if (__builtin_mul_overflow(declared.count, size, &declared.count) ||
        declared.count > mostBytes)
      declared.count = mostBytes + 1;
  }
  uint32_t natural = bytesOf(declared.type);
  if (!declared.alignment)
    declared.alignment = natural;
  if (declared.bytes() > mostBytes)
    lexer.fail(name.line, Lexer::quote(name.text) +
                              " is larger than the limit of " +
                              std::to_string(mostBytes) + " bytes");
  return declared;
}

void Parser::writeInitialValue(Type type, uint8_t *data) {
  uint64_t value = 0;
  Token token = lexer.peek();
  std::string name;
  bool isMinus = lexer.take('-');
  if (lexer.peek().kind == Token::Number) {
    Operand number = parseNumber(isMinus);
    value = number.value;
    if (number.kind == Operand::Float && type == Type::F32 &&
        number.isDouble) {
      double wide;
      std::memcpy(&wide, &value, 8);
      float narrow = static_cast<float>(wide);
      uint32_t bits;
      std::memcpy(&bits, &narrow, 4);
      value = bits;
    }
  } else {
    name = lexer.expectWord("a value").text;
    if (lexer.take('(')) {
      if (name != "generic")
        lexer.fail(token.line, Lexer::quote(name) + " is not supported here");
      name = lexer.expectWord("a variable").text;
      lexer.expect(')');
    }
    auto it = code.variables.find(name);
    if (it == code.variables.end() || bitsOf(type) != 64)
      lexer.fail(token.line, Lexer::quote(name) + " is no variable whose "
                                                  "address fits here");
    value = it->second.address;
    if (lexer.take('+'))
      value += parseInteger(kMostVariableBytes, "an offset");
  }
  std::memcpy(data, &value, bytesOf(type));
}

void Parser::writeInitializer(Type type, uint8_t *data, uint64_t count,
                              uint64_t &index, unsigned depth) {
  if (!lexer.take('{')) {
    if (index >= count)
      lexer.fail("more values than the variable has elements");
    writeInitialValue(type, data + index++ * bytesOf(type));
    return;
  }
  if (depth > 8)
    lexer.fail("braces are nested too deep");
  if (lexer.take('}'))
    return;
  do
    writeInitializer(type, data, count, index, depth + 1);
  while (lexer.take(','));
  lexer.expect('}');
}

void Parser::parseVariable(Space space, bool isExtern) {
  uint32_t line = lexer.peek().line;
  Declared declared = parseDeclared(
      space == Space::Shared ? 232'448 : kMostVariableBytes);
  if (code.variables.count(declared.name) ||
      code.functionIndex.count(declared.name))
    lexer.fail(line, Lexer::quote(declared.name) + " is there twice");
  Variable &variable = code.variables[declared.name];
  variable.space = space;
  variable.bytes = declared.bytes();
  variable.alignment = declared.alignment;
  if (space == Space::Shared) {
    if (declared.isUnsized && isExtern) {
      if (code.dynamicAlignment && code.dynamicAlignment != declared.alignment)
        lexer.fail(line, "dynamic shared memory has two alignments");
      code.dynamicAlignment = declared.alignment;
      variable.bytes = ~uint64_t(0);
      variable.address = placeVariable(kDynamicShared, declared.alignment);
    } else {
      variable.address = placeVariable(sharedEnd, declared.alignment);
      if (variable.address + variable.bytes > 232'448)
        lexer.fail(line, "more than 232448 bytes of shared memory");
      sharedEnd = code.sharedBytes = variable.address + variable.bytes;
    }
    lexer.expect(';');
    return;
  }
  if (isExtern || declared.isUnsized)
    lexer.fail(line, Lexer::quote(declared.name) + " is defined in no module");
  variableBytes += variable.bytes + declared.alignment;
  if (variableBytes > kMostVariableBytes)
    lexer.fail(line, "more than " + std::to_string(kMostVariableBytes) +
                         " bytes of variables");
  auto *data = static_cast<uint8_t *>(
      std::calloc(1, variable.bytes + 2 * declared.alignment));
  if (!data)
    throw std::bad_alloc();
  // As well aligned as it asks for, and no better.
  uint64_t misplaced = reinterpret_cast<uint64_t>(data) % declared.alignment;
  uint8_t *place = data + (misplaced ? declared.alignment - misplaced : 0);
  if (reinterpret_cast<uint64_t>(place) / declared.alignment % 2 == 0)
    place += declared.alignment;
  code.buffers.push_back(data);
  variable.address = memory.addressOf(place);
  if (lexer.take('=')) {
    uint64_t index = 0;
    writeInitializer(declared.type, place, declared.count, index, 0);
  }
  lexer.expect(';');
  if (variable.bytes)
    memory.add(place, variable.bytes, declared.name, /*isWritten=*/true);
}

std::vector<Parameter> Parser::parseParameters(uint32_t &bytes,
                                               uint32_t limit) {
  std::vector<Parameter> parameters;
  if (!lexer.take('(') || lexer.take(')'))
    return parameters;
  do {
    Token token = lexer.expectWord("a parameter");
    if (token.text == ".reg")
      lexer.fail(token.line, "parameters in registers are not supported");
    if (token.text != ".param")
      lexer.fail(token.line, "expected .param");
    Declared declared = parseDeclared(limit);
    if (declared.isUnsized)
      lexer.fail(token.line, "variable arguments are not supported");
    Parameter parameter;
    parameter.name = declared.name;
    parameter.alignment = declared.alignment;
    parameter.bytes = declared.bytes();
    uint64_t offset = (uint64_t(bytes) + declared.alignment - 1) /
                      declared.alignment * declared.alignment;
    if (offset + parameter.bytes > limit)
      lexer.fail(token.line, "more than " + std::to_string(limit) +
                                 " bytes of parameters");
    parameter.offset = offset;
    bytes = offset + parameter.bytes;
    parameters.push_back(std::move(parameter));
  } while (lexer.take(','));
  lexer.expect(')');
  return parameters;
}

/// .maxntid and its like, which come before the body.
void Parser::parseLimits(Kernel &kernel) {
  while (lexer.peek().kind == Token::Word) {
    Token token = lexer.next();
    if (token.text == ".maxntid" || token.text == ".reqntid") {
      auto &limit =
          token.text == ".maxntid" ? kernel.mostThreads : kernel.exactThreads;
      limit = {1, 1, 1};
      for (unsigned i = 0; i < 3; ++i) {
        limit[i] = parseInteger(1024, "a number of threads");
        if (!lexer.take(','))
          break;
      }
    } else if (token.text == ".minnctapersm" || token.text == ".maxnreg") {
      parseInteger(1 << 16, "a number");
    } else if (token.text == ".pragma") {
      lexer.next();
      lexer.expect(';');
    } else if (token.text != ".noreturn") {
      lexer.fail(token.line, "the directive " + Lexer::quote(token.text) +
                                 " is not supported");
    }
  }
}

void Parser::parseFunction(bool isKernel) {
  uint32_t line = lexer.peek().line;
  Function parsed;
  parsed.isKernel = isKernel;
  parsed.line = line;
  if (!isKernel)
    parsed.results = parseParameters(parsed.paramBytes, mostParameterBytes);
  Token name = lexer.expectWord("a function's name");
  parsed.interface.name = name.text;
  parsed.interface.parameters =
      parseParameters(parsed.paramBytes, mostParameterBytes);
  parsed.interface.parameterBytes = parsed.paramBytes;
  parseLimits(parsed.interface);
  auto [it, isNew] = code.functionIndex.try_emplace(parsed.interface.name,
                                                    code.functions.size());
  if (code.variables.count(parsed.interface.name))
    lexer.fail(name.line, Lexer::quote(name.text) + " is there twice");
  if (isNew)
    code.functions.push_back(std::move(parsed));
  uint32_t index = it->second;
  if (!isNew) {
    Function &earlier = code.functions[index];
    if (earlier.isDefined || earlier.isKernel != isKernel)
      lexer.fail(name.line, Lexer::quote(name.text) + " is there twice");
    auto same = [](const std::vector<Parameter> &a,
                   const std::vector<Parameter> &b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                        [](const Parameter &x, const Parameter &y) {
                          return x.offset == y.offset && x.bytes == y.bytes;
                        });
    };
    if (!same(earlier.interface.parameters, parsed.interface.parameters) ||
        !same(earlier.results, parsed.results))
      lexer.fail(name.line, Lexer::quote(name.text) +
                                " was declared with other parameters");
    earlier.line = line;
    earlier.interface = std::move(parsed.interface);
    earlier.results = std::move(parsed.results);
  }
  if (lexer.take(';'))
    return;
  lexer.expect('{');
  function = &code.functions[index];
  function->isDefined = true;
  parseBody();
  function = nullptr;
}

/// Finds a function that calls itself, by way of others or not.
void Parser::checkRecursion() {
  std::vector<uint8_t> state(code.functions.size());
  // A stack of its own: the depth is the input's.
  std::vector<std::pair<uint32_t, size_t>> path;
  for (uint32_t root = 0; root < code.functions.size(); ++root) {
    if (state[root])
      continue;
    path.push_back({root, 0});
    state[root] = 1;
    while (!path.empty()) {
      auto &[index, next] = path.back();
      const Function &caller = code.functions[index];
      if (next == caller.calls.size()) {
        state[index] = 2;
        path.pop_back();
        continue;
      }
      uint32_t callee = caller.calls[next++].function;
      if (state[callee] == 1)
        lexer.fail(code.functions[callee].line,
                   "the function " +
                       Lexer::quote(code.functions[callee].interface.name) +
                       " calls itself, which is not supported");
      if (!state[callee]) {
        state[callee] = 1;
        path.push_back({callee, 0});
      }
    }
  }
}

/// Sizes that depend on what is called, and calls of what is only declared.
void Parser::finish() {
  for (Function &caller : code.functions)
    for (Operation &op : caller.operations)
      if (op.kind == Kind::Call) {
        const Function &callee =
            code.functions[caller.calls[op.target].function];
        if (!callee.isDefined)
          lexer.fail(op.line, "the function " +
                                  Lexer::quote(callee.interface.name) +
                                  " is defined in no module");
      }
  checkRecursion();
  // What a callee needs its callers need, too.
  for (bool changed = true; changed;) {
    changed = false;
    for (Function &caller : code.functions)
      for (const CallSite &call : caller.calls) {
        const Function &callee = code.functions[call.function];
        auto join = [&](uint32_t &mine, uint32_t other) {
          changed |= mine != other;
          mine = other;
        };
        join(caller.globalGranule,
             std::min(caller.globalGranule, callee.globalGranule));
        join(caller.sharedGranule,
             std::min(caller.sharedGranule, callee.sharedGranule));
        join(caller.interface.sharedBytes,
             std::max(caller.interface.sharedBytes,
                      callee.interface.sharedBytes));
      }
  }
  for (Function &one : code.functions)
    one.interface.localBytes = one.localBytes + code.localBytes;
}
