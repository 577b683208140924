//===- Parser.h - PTX to decoded operations ---------------------*- C++ -*-===//

#ifndef DIST_RUNTIME_EMULATED_PARSER_H
#define DIST_RUNTIME_EMULATED_PARSER_H

#include "runtime/emulated/Code.h"
#include "runtime/emulated/Lexer.h"

#include <optional>

namespace dist::emulated {

/// An operand as it is written.
struct Operand {
  enum Kind : uint8_t { Register, Integer, Float, Address, Vector, Name, Sink };
  Kind kind = Sink;
  bool isNegated = false; // !p
  /// Of a register.
  Slot slot = kNoSlot;
  Type type = Type::B32;
  /// Of `p|q` the second register.
  Slot second = kNoSlot;
  /// An integer, or the bits of a float.
  uint64_t value = 0;
  bool isMinus = false, isDouble = false;
  /// A name; of an address its base, unless that is a register in `slot`.
  std::string name;
  int64_t offset = 0;
  /// Of a vector, or of a list in parentheses.
  std::vector<Operand> elements;
};

struct Symbol {
  enum Kind : uint8_t { Register, Registers, Shared, Local, Param };
  Kind kind = Register;
  Type type = Type::B32;
  uint64_t count = 0; // of registers of a range
  Slot slot = kNoSlot;
  uint64_t address = 0, bytes = 0;
  uint32_t alignment = 1;
};

/// Parses a module into `code`; variables go to `memory`.
class Parser {
public:
  Parser(std::string_view text, Code &code, Memory &memory);
  void parse();

private:
  friend class Decoder;

  // The module.
  void parseVersion();
  void parseFile();
  void parseFunction(bool isKernel);
  void parseVariable(Space space, bool isExtern);
  void writeInitializer(Type type, uint8_t *data, uint64_t count,
                        uint64_t &index, unsigned depth);
  void writeInitialValue(Type type, uint8_t *data);
  void checkRecursion();
  void finish();

  // A function.
  std::vector<Parameter> parseParameters(uint32_t &bytes, uint32_t limit);
  void parseLimits(Kernel &kernel);
  void parseBody();
  void parseBlock(unsigned depth);
  void parseRegisters();
  void parseBodyVariable(Space space);
  void parseLocation();
  void parseBranchTargets(const std::string &label);
  void parseInstruction();
  Operand parseOperand();
  Operand parseAddress();
  Operand parseNumber(bool isMinus);
  void resolveLabels();

  struct Declared {
    std::string name;
    Type type = Type::B8;
    uint32_t alignment = 0;
    uint64_t count = 1;
    bool isArray = false, isUnsized = false;
    uint64_t bytes() const { return count * bytesOf(type); }
  };
  /// `.align 4 .b8 name[16]`
  Declared parseDeclared(uint64_t mostBytes);
  Type parseType(std::string_view word, uint32_t line);
  uint64_t parseInteger(uint64_t most, const char *what);

  const Symbol *findSymbol(const std::string &name) const;
  /// The slot of a register, which has one from its first use on.
  std::optional<Operand> findRegister(const std::string &name);
  Slot newRegister(Type type);
  uint32_t labelTarget(const std::string &label);

  Lexer lexer;
  Code &code;
  Memory &memory;

  Function *function = nullptr;
  std::vector<std::unordered_map<std::string, Symbol>> scopes;
  /// Registers of ranges, by name and scope.
  std::vector<std::unordered_map<std::string, Slot>> used;
  std::unordered_map<std::string, uint32_t> labels;
  struct Fixup {
    uint32_t operation, table, entry;
    std::string label;
    uint32_t line;
  };
  std::vector<Fixup> fixups;
  std::unordered_map<std::string, uint32_t> tables;
  std::map<std::pair<uint64_t, unsigned>, Slot> constants;
  uint32_t location = 0;
  uint32_t sharedEnd = 0, usedRegisters = 0;
  uint64_t variableBytes = 0;
  /// Of a kernel: the hardware's limit, as this version of PTX has it.
  uint32_t mostParameterBytes = 32'764;
};

} // namespace dist::emulated

#endif // DIST_RUNTIME_EMULATED_PARSER_H
