//===- DecodeMoves.cpp - Moves, memory, control and warps -----------------===//

#include "runtime/emulated/Decoder.h"
#include "runtime/emulated/Lanes.h"

#include <algorithm>

using namespace dist;
using namespace dist::emulated;

static constexpr auto kStored = {
    Type::B8,  Type::B16, Type::B32, Type::B64, Type::U8,  Type::U16,
    Type::U32, Type::U64, Type::S8,  Type::S16, Type::S32, Type::S64,
    Type::F16, Type::BF16, Type::F16x2, Type::BF16x2, Type::F32, Type::F64};

static Type bitsAs(unsigned bytes) {
  return bytes <= 2 ? Type::B16 : bytes == 4 ? Type::B32 : Type::B64;
}

void Decoder::decodeMove() {
  expectOperands(2, 2);
  const Operand &to = statement.operands[0], &from = statement.operands[1];
  if (take("pred")) {
    op.kind = Kind::Logic;
    op.mode = uint8_t(BoolOp::Move);
    bool negates = false;
    op.d = predicateDestination(to);
    op.a = predicate(from, negates);
    op.negatesA = negates;
    return add();
  }
  op.type = takeType({Type::B16, Type::B32, Type::B64, Type::U16, Type::U32,
                      Type::U64, Type::S16, Type::S32, Type::S64, Type::F16,
                      Type::BF16, Type::F16x2, Type::BF16x2, Type::F32,
                      Type::F64});
  if (to.kind == Operand::Vector || from.kind == Operand::Vector) {
    // d = {a, b}, or {d, e} = a: the lower bits come first.
    const Operand &vector = to.kind == Operand::Vector ? to : from;
    size_t count = vector.elements.size();
    if ((count != 2 && count != 4) || bytesOf(op.type) / count < 2 ||
        (to.kind == from.kind))
      fail("the vector of " + quoted() + " does not fit");
    op.kind = Kind::MoveBits;
    op.vector = count;
    op.registerBytes = bytesOf(op.type) / count;
    op.mode = to.kind == Operand::Vector;
    Type part = bitsAs(op.registerBytes);
    op.target = parser.function->vectors.size();
    for (const Operand &element : vector.elements)
      parser.function->vectors.push_back(op.mode ? destination(element, part)
                                                 : source(element, part));
    if (op.mode)
      op.a = source(from, op.type);
    else
      op.d = destination(to, op.type);
    return add();
  }
  if (from.kind == Operand::Name &&
      (from.name == "%clock" || from.name == "%clock64" ||
       from.name == "%globaltimer")) {
    if ((bitsOf(op.type) == 32) != (from.name == "%clock"))
      fail(Lexer::quote(from.name) + " has another size");
    op.kind = Kind::Clock;
    op.d = destination(to, op.type);
    return add();
  }
  op.type = bitsAs(bytesOf(op.type));
  op.function = integerFunction(LaneOp::Move, op);
  setTernary(op.type, op.type);
}

/// cvta{.to}.space: addresses in a space and generic ones.
void Decoder::decodeAddress() {
  expectOperands(2, 2);
  bool isTo = take("to");
  op.space = takeSpace();
  if (op.space == Space::Generic)
    fail(quoted() + " is not supported");
  op.type = takeType({Type::U64});
  uint64_t window = op.space == Space::Shared  ? kSharedWindow
                    : op.space == Space::Local ? kLocalWindow
                    : op.space == Space::Param ? kParamWindow
                                               : 0;
  op.kind = Kind::Lanes;
  op.d = destination(statement.operands[0], op.type);
  op.a = source(statement.operands[1], op.type);
  op.b = constant(isTo ? -window : window, 8);
  op.type = Type::U64;
  op.function = integerFunction(LaneOp::Add, op);
  add();
}

void Decoder::decodeIsSpace() {
  expectOperands(2, 2);
  op.kind = Kind::IsSpace;
  op.space = takeSpace();
  if (op.space == Space::Generic)
    fail(quoted() + " is not supported");
  op.d = predicateDestination(statement.operands[0]);
  op.a = source(statement.operands[1], Type::U64);
  add();
}

/// An access of op.vector elements.
void Decoder::noteAccess() {
  uint32_t bytes = op.vector * bytesOf(op.type);
  Function &function = *parser.function;
  if (op.space == Space::Global || op.space == Space::Generic)
    function.globalGranule = std::min(function.globalGranule, bytes);
  if (op.space == Space::Shared || op.space == Space::Generic)
    function.sharedGranule = std::min(function.sharedGranule, bytes);
}

void Decoder::setAddress(const Operand &operand, bool isParam) {
  if (operand.kind != Operand::Address)
    fail("an operand of " + quoted() + " is no address");
  op.offset = operand.offset;
  if (operand.slot != kNoSlot) {
    op.a = operand.slot;
    op.addressIsNarrow = bitsOf(operand.type) == 32;
  } else if (!operand.name.empty()) {
    Operand symbol;
    symbol.name = operand.name;
    // Wraps around, as addresses do.
    op.offset = int64_t(uint64_t(op.offset) +
                        symbolAddress(symbol, op.space == Space::Generic));
    const Symbol *found = parser.findSymbol(operand.name);
    uint64_t bytes = op.vector * bytesOf(op.type);
    uint64_t promised =
        found ? found->alignment
              : parser.code.variables.at(operand.name).alignment;
    op.exceedsAlignment =
        !isParam && (promised % bytes || operand.offset % int64_t(bytes));
    if (isParam != (found && found->kind == Symbol::Param))
      fail(Lexer::quote(operand.name) + " lies in another space");
  } else if (isParam) {
    fail("an address of a parameter has its name");
  }
}

/// Of loads and stores: {.order}{.scope}{.space}
void Decoder::takeAccess() {
  expectOperands(2, 2);
  op.isStrong = take("volatile");
  if (!take("weak"))
    op.isStrong |= takeAtomicOrder();
  op.space = takeSpace();
}

/// Of loads and stores: {.vector}.type, and the elements of `operand`.
std::vector<Operand> Decoder::takeElements(const Operand &operand) {
  int vector = takeOneOf({"v2", "v4", "v8"}, true);
  op.vector = vector < 0 ? 1 : 2 << vector;
  op.type = takeType(kStored);
  if (op.space != Space::Param)
    noteAccess();
  if (op.vector * bytesOf(op.type) > 32)
    fail(quoted() + " moves more than 32 bytes");
  std::vector<Operand> elements = operand.kind == Operand::Vector
                                      ? operand.elements
                                      : std::vector<Operand>{operand};
  if (elements.size() != op.vector)
    fail("the vector of " + quoted() + " has another size");
  op.registerBytes = std::max(bytesOf(op.type), 2u);
  for (const Operand &element : elements)
    if (element.kind == Operand::Register && element.type != Type::Pred)
      op.registerBytes = std::max<unsigned>(op.registerBytes,
                                            bytesOf(element.type));
  op.target = parser.function->vectors.size();
  return elements;
}

/// ld{.order}{.scope}{.space}{.cache}{.nc}{.vector}.type
void Decoder::decodeLoad() {
  takeAccess();
  takeCacheHints();
  op.isNonCoherent = take("nc") || modifiers[0] == "ldu";
  takeCacheHints();
  for (const Operand &element : takeElements(statement.operands[0]))
    parser.function->vectors.push_back(
        destination(element, bitsAs(op.registerBytes)));
  bool isParam = op.space == Space::Param;
  op.kind = isParam ? Kind::LoadParam : Kind::Load;
  setAddress(statement.operands[1], isParam);
  add();
}

void Decoder::decodeStore() {
  takeAccess();
  if (op.space == Space::Const)
    fail(quoted() + " is not supported");
  takeCacheHints();
  // A number has the type's size; in a vector beside wider registers it is as
  // wide as they are.
  for (const Operand &element : takeElements(statement.operands[1])) {
    Type type = bitsAs(op.registerBytes);
    if (element.kind != Operand::Register &&
        op.registerBytes == bytesOf(op.type) && isFloat(op.type))
      type = op.type;
    parser.function->vectors.push_back(source(element, type));
  }
  bool isParam = op.space == Space::Param;
  op.kind = isParam ? Kind::StoreParam : Kind::Store;
  setAddress(statement.operands[0], isParam);
  add();
}

/// atom{.order}{.scope}{.space}.op{.noftz}.type d, [a], b{, c}; red without d
void Decoder::decodeAtomic() {
  bool hasResult = modifiers[0] == "atom";
  op.kind = Kind::Atomic;
  op.isStrong = true;
  takeAtomicOrder();
  op.space = takeSpace();
  if (op.space != Space::Generic && op.space != Space::Global &&
      op.space != Space::Shared)
    fail(quoted() + " is not supported");
  int which = takeOneOf(
      {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  AtomicOp atomic = static_cast<AtomicOp>(which);
  op.mode = which;
  bool isUnflushed = take("noftz");
  switch (atomic) {
  case AtomicOp::Add:
    op.type = takeType({Type::U32, Type::S32, Type::U64, Type::F32, Type::F64,
                        Type::F16, Type::F16x2, Type::BF16, Type::BF16x2});
    break;
  case AtomicOp::Min:
  case AtomicOp::Max:
    op.type = takeType({Type::U32, Type::S32, Type::U64, Type::S64});
    break;
  case AtomicOp::Cas:
    op.type = takeType({Type::B16, Type::B32, Type::B64});
    break;
  case AtomicOp::Inc:
  case AtomicOp::Dec:
    op.type = takeType({Type::U32});
    break;
  default:
    op.type = takeType({Type::B32, Type::B64});
    break;
  }
  bool isHalf = isFloat(op.type) && op.type != Type::F32 &&
                op.type != Type::F64;
  bool isExchange = atomic == AtomicOp::Cas || atomic == AtomicOp::Exchange;
  if (isHalf != isUnflushed || (!hasResult && isExchange))
    fail(quoted() + " is not supported");
  noteAccess();
  size_t first = hasResult, count = first + 2 + (atomic == AtomicOp::Cas);
  expectOperands(count, count);
  op.registerBytes = bytesOf(op.type);
  if (hasResult)
    op.d = destination(statement.operands[0], op.type);
  setAddress(statement.operands[first], false);
  op.b = source(statement.operands[first + 1], op.type);
  if (atomic == AtomicOp::Cas)
    op.c = source(statement.operands[first + 2], op.type);
  add();
}

void Decoder::decodeBranch() {
  expectOperands(1, 1);
  take("uni");
  op.kind = Kind::Branch;
  if (statement.operands[0].kind != Operand::Name)
    fail("the target of " + quoted() + " is no label");
  parser.fixups.push_back({uint32_t(parser.function->operations.size()), ~0u, 0,
                           statement.operands[0].name, statement.line});
  add();
}

void Decoder::decodeBranchTable() {
  expectOperands(2, 2);
  takeOneOf({"idx"});
  take("uni");
  op.kind = Kind::BranchTable;
  op.a = source(statement.operands[0], Type::U32);
  if (statement.operands[1].kind != Operand::Name)
    fail("the targets of " + quoted() + " are no label");
  parser.fixups.push_back({uint32_t(parser.function->operations.size()), 0, 0,
                           statement.operands[1].name, statement.line});
  add();
}

/// call{.uni} (results), function, (arguments)
void Decoder::decodeCall() {
  take("uni");
  expectOperands(1, 3);
  op.kind = Kind::Call;
  CallSite site;
  std::vector<Operand> &operands = statement.operands;
  size_t at = operands[0].kind == Operand::Vector;
  if (at >= operands.size() || operands[at].kind != Operand::Name)
    fail(operands[std::min(at, operands.size() - 1)].kind == Operand::Register
             ? "calls by pointers to functions are not supported"
             : quoted() + " lacks a function");
  auto it = parser.code.functionIndex.find(operands[at].name);
  if (it == parser.code.functionIndex.end())
    fail("there is no function " + Lexer::quote(operands[at].name));
  site.function = it->second;
  const Function &callee = parser.code.functions[site.function];
  if (callee.isKernel)
    fail(Lexer::quote(operands[at].name) + " is a kernel, which is launched");
  if (operands.size() > at + 2 ||
      (operands.size() == at + 2 && operands[at + 1].kind != Operand::Vector))
    fail("the arguments of " + quoted() + " are no list");
  auto bind = [&](const std::vector<Operand> &given,
                  const std::vector<Parameter> &formal, auto &list) {
    if (given.size() != formal.size())
      fail(Lexer::quote(operands[at].name) + " has " +
           std::to_string(formal.size()) + " parameters or results, not " +
           std::to_string(given.size()));
    for (size_t i = 0; i < given.size(); ++i) {
      const Symbol *symbol = given[i].kind == Operand::Name
                                 ? parser.findSymbol(given[i].name)
                                 : nullptr;
      if (!symbol || symbol->kind != Symbol::Param ||
          symbol->bytes < formal[i].bytes)
        fail("argument or result " + std::to_string(i) + " of " + quoted() +
             " is no .param variable of the right size");
      list.emplace_back(symbol->address, formal[i].bytes);
    }
  };
  static const std::vector<Operand> none;
  bind(at ? operands[0].elements : none, callee.results, site.results);
  bind(operands.size() > at + 1 ? operands[at + 1].elements : none,
       callee.interface.parameters, site.arguments);
  op.target = parser.function->calls.size();
  parser.function->calls.push_back(std::move(site));
  add();
}

void Decoder::decodeReturn() {
  expectOperands(0, 0);
  op.kind = modifiers[0] == "ret" ? Kind::Return : Kind::Exit;
  take("uni");
  add();
}

void Decoder::decodeTrap() {
  expectOperands(0, 0);
  op.kind = Kind::Trap;
  add();
}

/// bar{.cta}.sync a{, b}; barrier has .aligned where all of a warp come.
void Decoder::decodeBarrier() {
  bool isAligned = modifiers[0] == "bar";
  if (isAligned && take("warp")) {
    takeOneOf({"sync"});
    expectOperands(1, 1);
    op.kind = Kind::WarpSync;
    op.e = source(statement.operands[0], Type::B32);
    return add();
  }
  take("cta");
  op.kind = Kind::Barrier;
  int which = takeOneOf({"sync", "arrive", "red"});
  op.isAligned = take("aligned") || isAligned;
  size_t at = 0;
  if (which == 2) {
    int reduction = takeOneOf({"popc", "and", "or"});
    op.isAligned = take("aligned") || op.isAligned;
    op.mode = uint8_t(reduction == 0   ? BarrierMode::Popc
                      : reduction == 1 ? BarrierMode::ReduceAnd
                                       : BarrierMode::ReduceOr);
    takeOneOf({reduction ? "pred" : "u32"});
    expectOperands(3, 4);
    op.d = reduction ? predicateDestination(statement.operands[0])
                     : destination(statement.operands[0], Type::U32);
    bool negates = false;
    op.c = predicate(statement.operands.back(), negates);
    op.negatesC = negates;
    statement.operands.pop_back();
    at = 1;
  } else {
    op.mode = uint8_t(which ? BarrierMode::Arrive : BarrierMode::Sync);
    expectOperands(1 + which, 2);
  }
  op.a = source(statement.operands[at], Type::U32);
  if (statement.operands.size() > at + 1)
    op.b = source(statement.operands[at + 1], Type::U32);
  add();
}

void Decoder::decodeFence() {
  expectOperands(0, 0);
  op.kind = Kind::Fence;
  if (modifiers[0] == "membar") {
    takeOneOf({"cta", "gl", "sys"});
  } else {
    takeOneOf({"sc", "acq_rel", "acquire", "release"}, true);
    takeOneOf({"cta", "cluster", "gpu", "sys"});
  }
  add();
}

void Decoder::decodeShuffle() {
  op.kind = Kind::Shuffle;
  takeOneOf({"sync"});
  op.mode = takeOneOf({"up", "down", "bfly", "idx"});
  op.type = takeType({Type::B32});
  expectOperands(5, 5);
  Operand to = statement.operands[0];
  Slot inRange = to.second;
  to.second = kNoSlot;
  op.d = destination(to, op.type);
  op.a = source(statement.operands[1], op.type);
  op.b = source(statement.operands[2], op.type);
  op.c = source(statement.operands[3], op.type);
  op.e = source(statement.operands[4], op.type);
  op.target = inRange;
  add();
}

void Decoder::decodeVote() {
  op.kind = Kind::Vote;
  takeOneOf({"sync"});
  op.mode = takeOneOf({"all", "any", "uni", "ballot"});
  bool isBallot = op.mode == uint8_t(VoteMode::Ballot);
  takeOneOf({isBallot ? "b32" : "pred"});
  expectOperands(3, 3);
  op.d = isBallot ? destination(statement.operands[0], Type::B32)
                  : predicateDestination(statement.operands[0]);
  bool negates = false;
  op.c = predicate(statement.operands[1], negates);
  op.negatesC = negates;
  op.e = source(statement.operands[2], Type::B32);
  add();
}

void Decoder::decodeMatch() {
  op.kind = Kind::Match;
  op.mode = takeOneOf({"any", "all"});
  takeOneOf({"sync"});
  op.type = takeType({Type::B32, Type::B64});
  expectOperands(3, 3);
  Operand to = statement.operands[0];
  op.c = op.mode ? to.second : kNoSlot;
  if (!op.mode && to.second != kNoSlot)
    fail(quoted() + " has no predicate");
  to.second = kNoSlot;
  op.d = destination(to, Type::B32);
  op.a = source(statement.operands[1], op.type);
  op.e = source(statement.operands[2], Type::B32);
  add();
}

void Decoder::decodeReduce() {
  op.kind = Kind::Reduce;
  takeOneOf({"sync"});
  static constexpr AtomicOp ops[] = {AtomicOp::Add, AtomicOp::Min,
                                     AtomicOp::Max, AtomicOp::And,
                                     AtomicOp::Or,  AtomicOp::Xor};
  int which = takeOneOf({"add", "min", "max", "and", "or", "xor"});
  op.mode = uint8_t(ops[which]);
  op.type = which < 3 ? takeType({Type::U32, Type::S32})
                      : takeType({Type::B32});
  expectOperands(3, 3);
  op.d = destination(statement.operands[0], op.type);
  op.a = source(statement.operands[1], op.type);
  op.e = source(statement.operands[2], Type::B32);
  add();
}

void Decoder::decodeActiveMask() {
  expectOperands(1, 1);
  op.kind = Kind::ActiveMask;
  op.type = takeType({Type::B32});
  op.d = destination(statement.operands[0], op.type);
  add();
}

/// What changes speed alone.
void Decoder::decodeNothing() {
  if (modifiers[0] == "nanosleep") {
    takeType({Type::U32});
    expectOperands(1, 1);
  } else {
    takeSpace();
    takeOneOf({"L1", "L2"});
    expectOperands(1, 1);
  }
  add();
}
