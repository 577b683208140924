//===- Decoder.h - One statement to one operation ---------------*- C++ -*-===//

#ifndef DIST_RUNTIME_EMULATED_DECODER_H
#define DIST_RUNTIME_EMULATED_DECODER_H

#include "runtime/emulated/Parser.h"

#include <initializer_list>

namespace dist::emulated {

struct Statement {
  uint32_t line = 0;
  Slot guard = kNoSlot;
  bool isNegated = false;
  std::string_view text; // the instruction with its modifiers
  std::vector<Operand> operands;
};

/// Decodes one statement into the function that the parser is at. Modifiers are
/// taken in the order that PTX gives them; one that is left is an error.
class Decoder {
public:
  Decoder(Parser &parser, Statement &statement);
  void decode();

private:
  using Method = void (Decoder::*)();
  static const std::unordered_map<std::string_view, Method> &methods();

  // DecodeArithmetic.cpp
  void decodeSum();        // add, sub
  void decodeProduct();    // mul
  void decodeMultiplyAdd(); // mad
  void decodeFma();
  void decodeDivision();   // div, rem
  void decodeExtremum();   // min, max
  void decodeSign();       // abs, neg
  void decodeBits();       // and, or, xor, not
  void decodeShift();      // shl, shr
  void decodeFunnel();     // shf
  void decodeField();      // bfe, bfi
  void decodeCount();      // popc, clz, brev, bfind
  void decodePermute();    // prmt
  void decodeLogic3();     // lop3
  void decodeDifference(); // sad
  void decodeFunction();   // rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh
  void decodeCopySign();
  void decodeTestProperty();
  void decodeConvert();
  void decodeCompare();    // setp
  void decodeSet();
  void decodeSelect();
  // DecodeMoves.cpp
  void decodeMove();
  void decodeAddress();    // cvta
  void decodeIsSpace();
  void decodeLoad();
  void decodeStore();
  void decodeAtomic();     // atom, red
  void decodeBranch();
  void decodeBranchTable();
  void decodeCall();
  void decodeReturn();     // ret, exit
  void decodeTrap();
  void decodeBarrier();    // bar, barrier
  void decodeFence();      // fence, membar
  void decodeShuffle();
  void decodeVote();
  void decodeMatch();
  void decodeReduce();
  void decodeActiveMask();
  void decodeNothing();    // prefetch, nanosleep

  // Modifiers.
  bool take(std::string_view modifier);
  /// The index of the one that is there; `none` if it may be missing.
  int takeOneOf(std::initializer_list<std::string_view> modifiers,
                bool mayMiss = false);
  Type takeType(std::initializer_list<Type> allowed);
  Rounding takeRounding(bool isNeeded);
  bool takeAtomicOrder();
  Space takeSpace();
  void takeCacheHints();

  // Operands.
  void expectOperands(size_t fewest, size_t most);
  /// A register to write, or an error; kNoSlot for `_`.
  Slot destination(const Operand &operand, Type type);
  /// A register or constant of exactly the type's size.
  Slot source(const Operand &operand, Type type);
  Slot predicate(const Operand &operand, bool &isNegated);
  Slot predicateDestination(const Operand &operand);
  Slot constant(uint64_t bits, unsigned bytes);
  uint64_t immediate(const Operand &operand, Type type);
  uint64_t symbolAddress(const Operand &operand, bool isGeneric);
  void setAddress(const Operand &operand, bool isParam);
  void setTernary(Type type, Type third);

  void decodeFloatBinary(int which, Type type);
  void add() { parser.function->operations.push_back(op); }
  void takeAccess();
  std::vector<Operand> takeElements(const Operand &operand);
  void noteAccess();
  [[noreturn]] void fail(const std::string &what) const;
  std::string quoted() const { return Lexer::quote(statement.text); }

  Parser &parser;
  Statement &statement;
  Operation op;
  std::vector<std::string_view> modifiers; // the first is the instruction
  size_t at = 1;
};

} // namespace dist::emulated

#endif // DIST_RUNTIME_EMULATED_DECODER_H
