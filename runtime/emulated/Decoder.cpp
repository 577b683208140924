//===- Decoder.cpp - One statement to one operation -----------------------===//

#include "runtime/emulated/Decoder.h"

#include "runtime/emulated/Lanes.h"

#include <algorithm>
#include <cstring>

using namespace dist;
using namespace dist::emulated;

const std::unordered_map<std::string_view, Decoder::Method> &
Decoder::methods() {
  static const std::unordered_map<std::string_view, Method> table = {
      {"add", &Decoder::decodeSum},
      {"addc", &Decoder::decodeSum},
      {"sub", &Decoder::decodeSum},
      {"subc", &Decoder::decodeSum},
      {"mul", &Decoder::decodeProduct},
      {"mad", &Decoder::decodeMultiplyAdd},
      {"fma", &Decoder::decodeFma},
      {"div", &Decoder::decodeDivision},
      {"rem", &Decoder::decodeDivision},
      {"min", &Decoder::decodeExtremum},
      {"max", &Decoder::decodeExtremum},
      {"abs", &Decoder::decodeSign},
      {"neg", &Decoder::decodeSign},
      {"and", &Decoder::decodeBits},
      {"or", &Decoder::decodeBits},
      {"xor", &Decoder::decodeBits},
      {"not", &Decoder::decodeBits},
      {"shl", &Decoder::decodeShift},
      {"shr", &Decoder::decodeShift},
      {"shf", &Decoder::decodeFunnel},
      {"bfe", &Decoder::decodeField},
      {"bfi", &Decoder::decodeField},
      {"popc", &Decoder::decodeCount},
      {"clz", &Decoder::decodeCount},
      {"brev", &Decoder::decodeCount},
      {"bfind", &Decoder::decodeCount},
      {"prmt", &Decoder::decodePermute},
      {"lop3", &Decoder::decodeLogic3},
      {"sad", &Decoder::decodeDifference},
      {"rcp", &Decoder::decodeFunction},
      {"sqrt", &Decoder::decodeFunction},
      {"rsqrt", &Decoder::decodeFunction},
      {"ex2", &Decoder::decodeFunction},
      {"lg2", &Decoder::decodeFunction},
      {"sin", &Decoder::decodeFunction},
      {"cos", &Decoder::decodeFunction},
      {"tanh", &Decoder::decodeFunction},
      {"copysign", &Decoder::decodeCopySign},
      {"testp", &Decoder::decodeTestProperty},
      {"cvt", &Decoder::decodeConvert},
      {"setp", &Decoder::decodeCompare},
      {"set", &Decoder::decodeSet},
      {"selp", &Decoder::decodeSelect},
      {"mov", &Decoder::decodeMove},
      {"cvta", &Decoder::decodeAddress},
      {"isspacep", &Decoder::decodeIsSpace},
      {"ld", &Decoder::decodeLoad},
      {"ldu", &Decoder::decodeLoad},
      {"st", &Decoder::decodeStore},
      {"atom", &Decoder::decodeAtomic},
      {"red", &Decoder::decodeAtomic},
      {"bra", &Decoder::decodeBranch},
      {"brx", &Decoder::decodeBranchTable},
      {"call", &Decoder::decodeCall},
      {"ret", &Decoder::decodeReturn},
      {"exit", &Decoder::decodeReturn},
      {"trap", &Decoder::decodeTrap},
      {"bar", &Decoder::decodeBarrier},
      {"barrier", &Decoder::decodeBarrier},
      {"fence", &Decoder::decodeFence},
      {"membar", &Decoder::decodeFence},
      {"shfl", &Decoder::decodeShuffle},
      {"vote", &Decoder::decodeVote},
      {"match", &Decoder::decodeMatch},
      {"redux", &Decoder::decodeReduce},
      {"activemask", &Decoder::decodeActiveMask},
      {"nanosleep", &Decoder::decodeNothing},
      {"prefetch", &Decoder::decodeNothing},
      {"prefetchu", &Decoder::decodeNothing},
  };
  return table;
}

Decoder::Decoder(Parser &parser, Statement &statement)
    : parser(parser), statement(statement) {
  std::string_view rest = statement.text;
  for (size_t dot; (dot = rest.find('.')) != rest.npos;
       rest.remove_prefix(dot + 1))
    modifiers.push_back(rest.substr(0, dot));
  modifiers.push_back(rest);
  op.line = statement.line;
  op.location = parser.location;
  op.guard = statement.guard;
  op.isNegated = statement.isNegated;
}

void Decoder::decode() {
  auto it = methods().find(modifiers[0]);
  if (it == methods().end())
    fail("the instruction " + quoted() + " is not supported");
  (this->*it->second)();
  if (at != modifiers.size())
    fail("'." + std::string(modifiers[at].substr(0, 30)) + "' of " + quoted() +
         " is not supported");
}

void Decoder::fail(const std::string &what) const {
  parser.lexer.fail(statement.line, what);
}

bool Decoder::take(std::string_view modifier) {
  bool is = at < modifiers.size() && modifiers[at] == modifier;
  at += is;
  return is;
}

int Decoder::takeOneOf(std::initializer_list<std::string_view> names,
                       bool mayMiss) {
  if (at < modifiers.size()) {
    auto it = std::find(names.begin(), names.end(), modifiers[at]);
    if (it != names.end()) {
      ++at;
      return it - names.begin();
    }
  }
  if (mayMiss)
    return -1;
  std::string known;
  for (std::string_view name : names)
    known += " ." + std::string(name);
  fail(quoted() + " is not supported: expected one of" + known);
}

Type Decoder::takeType(std::initializer_list<Type> allowed) {
  if (at == modifiers.size())
    fail(quoted() + " lacks a type");
  Type type =
      parser.parseType("." + std::string(modifiers[at]), statement.line);
  if (std::find(allowed.begin(), allowed.end(), type) == allowed.end())
    fail("the type ." + std::string(modifiers[at]) + " of " + quoted() +
         " is not supported");
  ++at;
  return type;
}

Rounding Decoder::takeRounding(bool isNeeded) {
  int which = takeOneOf({"rn", "rz", "rm", "rp"}, !isNeeded);
  return which < 0 ? Rounding::Nearest : static_cast<Rounding>(which);
}

bool Decoder::takeAtomicOrder() {
  bool isStrong =
      takeOneOf({"relaxed", "acquire", "release", "acq_rel", "mmio"}, true) >=
      0;
  takeOneOf({"cta", "cluster", "gpu", "sys"}, true);
  return isStrong;
}

Space Decoder::takeSpace() {
  static constexpr Space spaces[] = {Space::Global, Space::Shared,
                                     Space::Shared, Space::Local, Space::Param,
                                     Space::Param,  Space::Param, Space::Const};
  int which = takeOneOf({"global", "shared", "shared::cta", "local", "param",
                         "param::entry", "param::func", "const"},
                        true);
  return which < 0 ? Space::Generic : spaces[which];
}

/// What caches are told does not change what is computed.
void Decoder::takeCacheHints() {
  while (takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt",
                    "L1::evict_normal", "L1::evict_unchanged",
                    "L1::evict_first", "L1::evict_last", "L1::no_allocate",
                    "L2::evict_normal", "L2::evict_first", "L2::evict_last",
                    "L2::64B", "L2::128B", "L2::256B"},
                   true) >= 0)
    ;
}

void Decoder::expectOperands(size_t fewest, size_t most) {
  size_t count = statement.operands.size();
  if (count < fewest || count > most)
    fail(quoted() + " has " + std::to_string(count) + " operands");
}

Slot Decoder::destination(const Operand &operand, Type type) {
  if (operand.kind == Operand::Sink)
    return kNoSlot;
  if (operand.kind != Operand::Register || operand.isNegated ||
      operand.second != kNoSlot)
    fail("the result of " + quoted() + " is no register");
  if (bitsOf(operand.type) != bitsOf(type))
    fail("the result of " + quoted() + " goes to a register of " +
         std::to_string(bitsOf(operand.type)) + " bits");
  return operand.slot;
}

Slot Decoder::constant(uint64_t bits, unsigned bytes) {
  auto [it, isNew] = parser.constants.try_emplace({bits, bytes}, kNoSlot);
  if (isNew) {
    Broadcast broadcast{};
    for (unsigned l = 0; l < kLanes; ++l)
      std::memcpy(broadcast.bytes.data() + l * bytes, &bits, bytes);
    auto &constants = parser.function->constants;
    it->second = slotAt(ConstantBase, constants.size() * sizeof(Broadcast));
    constants.push_back(broadcast);
    if (constants.size() > 1 << 20)
      fail("more than 1048576 constants in one function");
  }
  return it->second;
}

/// The bits of an immediate operand. A number that does not fit is an error.
uint64_t Decoder::immediate(const Operand &operand, Type type) {
  unsigned bits = bitsOf(type);
  if (operand.kind == Operand::Float) {
    if (isFloat(type) && bits == 32 && operand.isDouble) {
      double wide;
      std::memcpy(&wide, &operand.value, 8);
      float narrow = wide;
      uint32_t value;
      std::memcpy(&value, &narrow, 4);
      return value;
    }
    if (isFloat(type) && bits == 64 && !operand.isDouble) {
      float narrow;
      std::memcpy(&narrow, &operand.value, 4);
      double wide = narrow;
      uint64_t value;
      std::memcpy(&value, &wide, 8);
      return value;
    }
    if (bits != (operand.isDouble ? 64u : 32u))
      fail("an operand of " + quoted() + " has another size");
    return operand.value;
  }
  if (type == Type::F32 || type == Type::F64)
    fail("an operand of " + quoted() + " is an integer");
  if (bits == 64)
    return operand.value;
  uint64_t mask = (uint64_t(1) << bits) - 1;
  int64_t least = -(int64_t(1) << (bits - 1));
  bool fits = operand.isMinus ? int64_t(operand.value) >= least
                              : operand.value <= mask;
  if (!fits)
    fail("an operand of " + quoted() + " does not fit " +
         std::to_string(bits) + " bits");
  return operand.value & mask;
}

static const std::unordered_map<std::string_view, Special> &getSpecials() {
  static const std::unordered_map<std::string_view, Special> specials = {
      {"%tid.x", TidX},         {"%tid.y", TidY},
      {"%tid.z", TidZ},         {"%ntid.x", NtidX},
      {"%ntid.y", NtidY},       {"%ntid.z", NtidZ},
      {"%ctaid.x", CtaidX},     {"%ctaid.y", CtaidY},
      {"%ctaid.z", CtaidZ},     {"%nctaid.x", NctaidX},
      {"%nctaid.y", NctaidY},   {"%nctaid.z", NctaidZ},
      {"%laneid", LaneId},      {"%warpid", WarpId},
      {"%nwarpid", WarpCount},  {"%lanemask_eq", LaneEq},
      {"%lanemask_le", LaneLe}, {"%lanemask_lt", LaneLt},
      {"%lanemask_ge", LaneGe}, {"%lanemask_gt", LaneGt},
      {"%dynamic_smem_size", DynamicShared},
      {"%total_smem_size", TotalShared}};
  return specials;
}

Slot Decoder::source(const Operand &operand, Type type) {
  switch (operand.kind) {
  case Operand::Register:
    if (operand.isNegated || operand.second != kNoSlot ||
        operand.type == Type::Pred)
      fail("an operand of " + quoted() + " is a predicate");
    if (bitsOf(operand.type) != bitsOf(type))
      fail("an operand of " + quoted() + " is a register of " +
           std::to_string(bitsOf(operand.type)) + " bits");
    return operand.slot;
  case Operand::Integer:
  case Operand::Float:
    return constant(immediate(operand, type), bytesOf(type));
  case Operand::Name: {
    if (operand.name == "WARP_SZ")
      return constant(kLanes, bytesOf(type));
    auto it = getSpecials().find(operand.name);
    if (it != getSpecials().end()) {
      if (bitsOf(type) != 32 || operand.offset)
        fail(Lexer::quote(operand.name) + " has 32 bits");
      return slotAt(SpecialBase, it->second * 128);
    }
    return constant(symbolAddress(operand, /*isGeneric=*/false),
                    bytesOf(type));
  }
  default:
    fail("an operand of " + quoted() + " is no register or number");
  }
}

Slot Decoder::predicate(const Operand &operand, bool &isNegated) {
  if (operand.kind == Operand::Register && operand.type == Type::Pred &&
      operand.second == kNoSlot) {
    isNegated = operand.isNegated;
    return operand.slot;
  }
  // Any number but 0 is true: LLVM writes -1.
  if (operand.kind == Operand::Integer) {
    isNegated = false;
    return constant(operand.value ? kAllLanes : 0, 4);
  }
  fail("an operand of " + quoted() + " is no predicate");
}

Slot Decoder::predicateDestination(const Operand &operand) {
  if (operand.kind == Operand::Sink)
    return kNoSlot;
  if (operand.kind != Operand::Register || operand.type != Type::Pred ||
      operand.isNegated)
    fail("the result of " + quoted() + " is no predicate");
  return operand.slot;
}

/// The address of a variable, in its own space unless `isGeneric`.
uint64_t Decoder::symbolAddress(const Operand &operand, bool isGeneric) {
  uint64_t window = 0, address = 0;
  if (const Symbol *symbol = parser.findSymbol(operand.name)) {
    address = symbol->address;
    switch (symbol->kind) {
    case Symbol::Shared:
      window = kSharedWindow;
      break;
    case Symbol::Local:
      window = kLocalWindow;
      break;
    case Symbol::Param:
      window = kParamWindow;
      break;
    default:
      fail(Lexer::quote(operand.name) + " has no address");
    }
  } else {
    auto it = parser.code.variables.find(operand.name);
    if (it == parser.code.variables.end())
      fail((parser.code.functionIndex.count(operand.name)
                ? "pointers to functions are not supported: "
                : "there is no ") +
           Lexer::quote(operand.name));
    address = it->second.address;
    if (it->second.space == Space::Shared) {
      window = kSharedWindow;
      uint32_t &bytes = parser.function->interface.sharedBytes;
      if (it->second.bytes != ~uint64_t(0)) // no dynamic one
        bytes = std::max<uint32_t>(bytes, address + it->second.bytes);
    }
  }
  return address + operand.offset + (isGeneric ? window : 0);
}
