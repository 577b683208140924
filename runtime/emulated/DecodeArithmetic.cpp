//===- DecodeArithmetic.cpp - Arithmetic, conversions, comparisons --------===//

#include "runtime/emulated/Decoder.h"
#include "runtime/emulated/Lanes.h"

#include <algorithm>

using namespace dist;
using namespace dist::emulated;

static constexpr auto kAnyInteger = {Type::U16, Type::U32, Type::U64,
                                     Type::S16, Type::S32, Type::S64};
static constexpr auto kAnyFloat = {Type::F16,    Type::F16x2, Type::BF16,
                                   Type::BF16x2, Type::F32,   Type::F64};
static constexpr auto kAnyBits = {Type::B16, Type::B32, Type::B64};

namespace {
/// Of a statement whose type is last, whether that is a float.
bool endsInFloat(const std::vector<std::string_view> &modifiers) {
  std::string_view last = modifiers.back();
  return last.starts_with("f") || last.starts_with("bf");
}
} // namespace

/// d, a, b and c of one type; c of `third`.
void Decoder::setTernary(Type type, Type third) {
  op.registerBytes = bytesOf(type);
  op.d = destination(statement.operands[0], type);
  op.a = source(statement.operands[1], type);
  if (statement.operands.size() > 2)
    op.b = source(statement.operands[2], type);
  if (statement.operands.size() > 3)
    op.c = source(statement.operands[3], third);
  if (op.kind == Kind::Nothing)
    op.kind = Kind::Lanes;
  if (op.kind == Kind::Lanes && !op.function)
    fail(quoted() + " is not supported");
  add();
}

/// add, sub, mul, fma of floats: rounding, .ftz, .sat or .relu, type.
void Decoder::decodeFloatBinary(int which, Type) {
  LaneOp lane = static_cast<LaneOp>(which);
  op.rounding = takeRounding(lane == LaneOp::Fma);
  op.isFlushed = take("ftz");
  op.isSaturated = take("sat");
  op.isRectified = lane == LaneOp::Fma && take("relu");
  op.type = takeType({Type::F16, Type::F16x2, Type::BF16, Type::BF16x2,
                      Type::F32, Type::F32x2, Type::F64});
  if ((op.type == Type::F64 && op.isFlushed) ||
      (bitsOf(op.type) == 64 && op.isSaturated))
    fail(quoted() + " is not supported");
  bool isHalf = op.type < Type::F32;
  if (isHalf && op.rounding != Rounding::Nearest)
    fail(quoted() + " is not supported: halves round to nearest");
  op.function = floatFunction(lane, op);
  setTernary(op.type, op.type);
}

void Decoder::decodeSum() {
  bool isMinus = modifiers[0].starts_with("sub");
  bool hasCarry = modifiers[0].size() == 4;
  LaneOp lane = isMinus ? LaneOp::Sub : LaneOp::Add;
  expectOperands(3, 3);
  if (!hasCarry && endsInFloat(modifiers))
    return decodeFloatBinary(int(lane), Type::F32);
  op.writesCarry = take("cc");
  op.readsCarry = hasCarry;
  if (op.writesCarry || op.readsCarry) {
    op.kind = Kind::Carry;
    op.mode = isMinus;
    op.type = takeType({Type::U32, Type::S32, Type::U64, Type::S64});
    return setTernary(op.type, op.type);
  }
  op.isSaturated = take("sat");
  op.type = op.isSaturated ? takeType({Type::S32}) : takeType(kAnyInteger);
  op.function = integerFunction(lane, op);
  setTernary(op.type, op.type);
}

void Decoder::decodeProduct() {
  expectOperands(3, 3);
  if (endsInFloat(modifiers))
    return decodeFloatBinary(int(LaneOp::Mul), Type::F32);
  int which = takeOneOf({"lo", "hi", "wide"});
  op.type = takeType(kAnyInteger);
  if (which < 2) {
    op.function =
        integerFunction(which ? LaneOp::MulHigh : LaneOp::Mul, op);
    return setTernary(op.type, op.type);
  }
  if (bitsOf(op.type) == 64)
    fail(quoted() + " is not supported");
  op.kind = Kind::Lanes;
  op.function = integerFunction(LaneOp::MulWide, op);
  Type wide = bitsOf(op.type) == 32 ? Type::B64 : Type::B32;
  op.d = destination(statement.operands[0], wide);
  op.a = source(statement.operands[1], op.type);
  op.b = source(statement.operands[2], op.type);
  add();
}

void Decoder::decodeMultiplyAdd() {
  expectOperands(4, 4);
  if (endsInFloat(modifiers)) // what fma is
    return decodeFloatBinary(int(LaneOp::Fma), Type::F32);
  int which = takeOneOf({"lo", "hi", "wide"});
  op.isSaturated = which == 1 && take("sat");
  op.type = op.isSaturated ? takeType({Type::S32}) : takeType(kAnyInteger);
  if (which < 2) {
    op.function =
        integerFunction(which ? LaneOp::MadHigh : LaneOp::Mad, op);
    return setTernary(op.type, op.type);
  }
  if (bitsOf(op.type) == 64)
    fail(quoted() + " is not supported");
  op.kind = Kind::Lanes;
  op.function = integerFunction(LaneOp::MadWide, op);
  Type wide = bitsOf(op.type) == 32 ? Type::B64 : Type::B32;
  op.d = destination(statement.operands[0], wide);
  op.a = source(statement.operands[1], op.type);
  op.b = source(statement.operands[2], op.type);
  op.c = source(statement.operands[3], wide);
  add();
}

void Decoder::decodeFma() {
  expectOperands(4, 4);
  decodeFloatBinary(int(LaneOp::Fma), Type::F32);
}

void Decoder::decodeDivision() {
  expectOperands(3, 3);
  bool isQuotient = modifiers[0] == "div";
  if (isQuotient && endsInFloat(modifiers)) {
    bool isApproximate = takeOneOf({"approx", "full"}, true) >= 0;
    op.rounding = isApproximate ? Rounding::Nearest : takeRounding(true);
    op.isFlushed = take("ftz");
    op.type = isApproximate ? takeType({Type::F32})
                            : takeType({Type::F32, Type::F64});
    if (op.type == Type::F64 && op.isFlushed)
      fail(quoted() + " is not supported");
    op.function = floatFunction(LaneOp::Div, op);
    return setTernary(op.type, op.type);
  }
  op.kind = Kind::Divide;
  op.mode = !isQuotient;
  op.type = takeType(kAnyInteger);
  setTernary(op.type, op.type);
}

void Decoder::decodeExtremum() {
  // Three of f32 from PTX 8.8 on.
  expectOperands(3, modifiers.back() == "f32" ? 4 : 3);
  LaneOp lane = modifiers[0] == "min" ? LaneOp::Min : LaneOp::Max;
  if (endsInFloat(modifiers)) {
    op.isFlushed = take("ftz");
    op.keepsNaN = take("NaN");
    op.type = takeType(kAnyFloat);
    if (op.type == Type::F64 && (op.isFlushed || op.keepsNaN))
      fail(quoted() + " is not supported");
    op.function = floatFunction(lane, op);
  } else {
    op.isRectified = take("relu");
    op.type = takeType(kAnyInteger);
    if (op.isRectified)
      fail(quoted() + " is not supported");
    op.function = integerFunction(lane, op);
  }
  setTernary(op.type, op.type);
}

void Decoder::decodeSign() {
  expectOperands(2, 2);
  LaneOp lane = modifiers[0] == "abs" ? LaneOp::Abs : LaneOp::Neg;
  if (endsInFloat(modifiers)) {
    op.isFlushed = take("ftz");
    op.type = takeType(kAnyFloat);
    if (op.isFlushed && op.type != Type::F32)
      fail(quoted() + " is not supported");
    op.function = floatFunction(lane, op);
  } else {
    op.type = takeType({Type::S16, Type::S32, Type::S64});
    op.function = integerFunction(lane, op);
  }
  setTernary(op.type, op.type);
}

void Decoder::decodeBits() {
  bool isNot = modifiers[0] == "not";
  expectOperands(isNot ? 2 : 3, isNot ? 2 : 3);
  if (take("pred")) {
    op.kind = Kind::Logic;
    op.mode = uint8_t(isNot                    ? BoolOp::Not
                      : modifiers[0] == "and" ? BoolOp::And
                      : modifiers[0] == "or"  ? BoolOp::Or
                                              : BoolOp::Xor);
    bool negates = false;
    op.d = predicateDestination(statement.operands[0]);
    op.a = predicate(statement.operands[1], negates);
    op.negatesA = negates;
    if (!isNot) {
      op.b = predicate(statement.operands[2], negates);
      op.negatesB = negates;
    }
    return add();
  }
  LaneOp lane = isNot                    ? LaneOp::Not
                : modifiers[0] == "and" ? LaneOp::And
                : modifiers[0] == "or"  ? LaneOp::Or
                                        : LaneOp::Xor;
  op.type = takeType(kAnyBits);
  op.function = integerFunction(lane, op);
  setTernary(op.type, op.type);
}

void Decoder::decodeShift() {
  expectOperands(3, 3);
  bool isLeft = modifiers[0] == "shl";
  op.type = isLeft ? takeType(kAnyBits)
                   : takeType({Type::B16, Type::B32, Type::B64, Type::U16,
                               Type::U32, Type::U64, Type::S16, Type::S32,
                               Type::S64});
  op.kind = Kind::Lanes;
  op.function = integerFunction(isLeft ? LaneOp::Shl : LaneOp::Shr, op);
  op.d = destination(statement.operands[0], op.type);
  op.a = source(statement.operands[1], op.type);
  op.b = source(statement.operands[2], Type::U32);
  add();
}

void Decoder::decodeFunnel() {
  expectOperands(4, 4);
  bool isLeft = takeOneOf({"l", "r"}) == 0;
  op.isSaturated = takeOneOf({"wrap", "clamp"}) == 1;
  op.type = takeType({Type::B32});
  op.function = integerFunction(
      isLeft ? LaneOp::FunnelLeft : LaneOp::FunnelRight, op);
  setTernary(op.type, Type::U32);
}

void Decoder::decodeField() {
  bool isInsert = modifiers[0] == "bfi";
  expectOperands(isInsert ? 5 : 4, isInsert ? 5 : 4);
  op.d = kNoSlot;
  if (isInsert) {
    op.kind = Kind::Insert;
    op.type = takeType({Type::B32, Type::B64});
    op.d = destination(statement.operands[0], op.type);
    op.a = source(statement.operands[1], op.type);
    op.b = source(statement.operands[2], op.type);
    op.c = source(statement.operands[3], Type::U32);
    op.e = source(statement.operands[4], Type::U32);
    return add();
  }
  op.kind = Kind::Lanes;
  op.type = takeType({Type::U32, Type::U64, Type::S32, Type::S64});
  op.function = integerFunction(LaneOp::Extract, op);
  op.d = destination(statement.operands[0], op.type);
  op.a = source(statement.operands[1], op.type);
  op.b = source(statement.operands[2], Type::U32);
  op.c = source(statement.operands[3], Type::U32);
  add();
}

void Decoder::decodeCount() {
  expectOperands(2, 2);
  op.kind = Kind::Lanes;
  Type result = Type::U32;
  if (modifiers[0] == "bfind") {
    op.mode = take("shiftamt");
    op.type = takeType({Type::U32, Type::U64, Type::S32, Type::S64});
    op.function = integerFunction(LaneOp::FindBit, op);
  } else {
    op.type = takeType({Type::B32, Type::B64});
    LaneOp lane = modifiers[0] == "popc"  ? LaneOp::Popcount
                  : modifiers[0] == "clz" ? LaneOp::LeadingZeros
                                          : LaneOp::Reverse;
    if (lane == LaneOp::Reverse)
      result = op.type;
    op.function = integerFunction(lane, op);
  }
  op.d = destination(statement.operands[0], result);
  op.a = source(statement.operands[1], op.type);
  add();
}

void Decoder::decodePermute() {
  expectOperands(4, 4);
  op.type = takeType({Type::B32});
  op.function = integerFunction(LaneOp::Permute, op);
  setTernary(op.type, op.type);
}

void Decoder::decodeLogic3() {
  expectOperands(5, 5);
  op.type = takeType({Type::B32});
  op.mode = immediate(statement.operands[4], Type::U8);
  statement.operands.pop_back();
  op.function = integerFunction(LaneOp::Logic3, op);
  setTernary(op.type, op.type);
}

void Decoder::decodeDifference() {
  expectOperands(4, 4);
  op.type = takeType(kAnyInteger);
  op.function = integerFunction(LaneOp::Difference, op);
  setTernary(op.type, op.type);
}

void Decoder::decodeFunction() {
  expectOperands(2, 2);
  std::string_view name = modifiers[0];
  LaneOp lane = name == "rcp"     ? LaneOp::Rcp
                : name == "sqrt"  ? LaneOp::Sqrt
                : name == "rsqrt" ? LaneOp::Rsqrt
                : name == "ex2"   ? LaneOp::Exp2
                : name == "lg2"   ? LaneOp::Log2
                : name == "sin"   ? LaneOp::Sin
                : name == "cos"   ? LaneOp::Cos
                                  : LaneOp::Tanh;
  bool hasRounded = lane == LaneOp::Rcp || lane == LaneOp::Sqrt;
  bool isApproximate = take("approx");
  if (!isApproximate) {
    if (!hasRounded)
      fail(quoted() + " is not supported: expected .approx");
    op.rounding = takeRounding(true);
  }
  op.isFlushed = take("ftz");
  if (lane == LaneOp::Exp2 || lane == LaneOp::Tanh)
    op.type = takeType({Type::F32, Type::F16, Type::F16x2, Type::BF16,
                        Type::BF16x2});
  else if (hasRounded || lane == LaneOp::Rsqrt)
    op.type = takeType({Type::F32, Type::F64});
  else
    op.type = takeType({Type::F32});
  if (op.type == Type::F64 &&
      (isApproximate ? lane == LaneOp::Sqrt : op.isFlushed))
    fail(quoted() + " is not supported");
  op.function = floatFunction(lane, op);
  setTernary(op.type, op.type);
}

void Decoder::decodeCopySign() {
  expectOperands(3, 3);
  op.type = takeType({Type::F32, Type::F64});
  op.function = floatFunction(LaneOp::CopySign, op);
  setTernary(op.type, op.type);
}

void Decoder::decodeTestProperty() {
  expectOperands(2, 2);
  op.kind = Kind::Compare;
  op.mode = takeOneOf({"finite", "infinite", "number", "notanumber", "normal",
                       "subnormal"});
  op.type = takeType({Type::F32, Type::F64});
  op.vector = uint8_t(BoolOp::None);
  op.compare = propertyFunction(op);
  op.d = predicateDestination(statement.operands[0]);
  op.a = op.b = source(statement.operands[1], op.type);
  add();
}

/// cvt{.rounding}{.ftz}{.sat}{.relu}.to.from
void Decoder::decodeConvert() {
  static constexpr auto known = {
      Type::U8,  Type::U16, Type::U32, Type::U64,  Type::S8,  Type::S16,
      Type::S32, Type::S64, Type::F16, Type::BF16, Type::F32, Type::F64};
  int whole = takeOneOf({"rni", "rzi", "rmi", "rpi"}, true);
  op.isInteger = whole >= 0;
  int rounding = whole >= 0 ? whole : takeOneOf({"rn", "rz", "rm", "rp"}, true);
  op.rounding =
      rounding < 0 ? Rounding::Nearest : static_cast<Rounding>(rounding);
  op.isFlushed = take("ftz");
  bool isFinite = take("satfinite");
  op.isRectified = take("relu");
  op.isSaturated = take("sat") || isFinite;
  if (at < modifiers.size() &&
      (modifiers[at] == "f16x2" || modifiers[at] == "bf16x2")) {
    op.type = takeType({Type::F16x2, Type::BF16x2});
    op.from = takeType({Type::F32});
    expectOperands(3, 3);
    if (op.isInteger || op.isFlushed || rounding < 0 || rounding > 1 ||
        (op.isSaturated && !isFinite))
      fail(quoted() + " is not supported");
    op.kind = Kind::Lanes;
    op.function = packFunction(op);
    op.d = destination(statement.operands[0], op.type);
    op.a = source(statement.operands[1], Type::F32);
    op.b = source(statement.operands[2], Type::F32);
    return add();
  }
  expectOperands(2, 2);
  op.type = takeType(known);
  op.from = takeType(known);
  bool toFloat = isFloat(op.type), fromFloat = isFloat(op.from);
  bool narrows = toFloat && (!fromFloat || bitsOf(op.type) < bitsOf(op.from) ||
                             (op.type != op.from && bitsOf(op.type) == 16));
  // Which roundings PTX has for which types.
  bool hasRounding = rounding >= 0;
  bool isFine =
      toFloat && fromFloat
          ? (narrows ? hasRounding && !op.isInteger
                     : hasRounding == op.isInteger || op.type == op.from)
      : toFloat   ? hasRounding && !op.isInteger
      : fromFloat ? op.isInteger
                  : !hasRounding;
  if (toFloat && fromFloat && op.type == op.from && hasRounding)
    isFine = op.isInteger;
  bool isHalf = bitsOf(op.type) == 16 && toFloat;
  if (!isFine || isFinite || (op.isRectified && !(isHalf && fromFloat)) ||
      (op.isFlushed && op.type != Type::F32 && op.from != Type::F32))
    fail(quoted() + " is not supported");
  op.kind = Kind::Lanes;
  // Integers may lie in registers that are wider.
  auto sizeOf = [&](const Operand &operand, Type type) -> unsigned {
    if (operand.kind != Operand::Register)
      return std::max(bytesOf(type), 2u);
    unsigned bits = bitsOf(operand.type);
    bool fits = isFloat(type) ? bits == bitsOf(type) : bits >= bitsOf(type);
    if (operand.type == Type::Pred || !fits)
      fail("an operand of " + quoted() + " is a register of " +
           std::to_string(bits) + " bits");
    return bits / 8;
  };
  auto bitsAs = [](unsigned bytes) {
    return bytes == 2 ? Type::B16 : bytes == 4 ? Type::B32 : Type::B64;
  };
  op.registerBytes = sizeOf(statement.operands[0], op.type);
  op.d = destination(statement.operands[0], bitsAs(op.registerBytes));
  const Operand &from = statement.operands[1];
  op.mode = sizeOf(from, op.from);
  op.a = from.kind == Operand::Register || !isFloat(op.from)
             ? source(from, bitsAs(op.mode))
             : source(from, op.from);
  op.function = convertFunction(op);
  add();
}

static unsigned findComparison(std::string_view name) {
  return std::find(std::begin(kComparisons), std::end(kComparisons), name) -
         std::begin(kComparisons);
}

/// setp.comparison{.and|.or|.xor}{.ftz}.type p{|q}, a, b{, {!}c}; of pairs p is
/// the first's result, q the second's.
void Decoder::decodeCompare() {
  expectOperands(3, 4);
  op.kind = Kind::Compare;
  op.mode = at < modifiers.size() ? findComparison(modifiers[at++]) : 99;
  if (op.mode >= std::size(kComparisons))
    fail(quoted() + " is not supported");
  int combine = takeOneOf({"and", "or", "xor"}, true);
  op.isFlushed = take("ftz");
  op.type = takeType({Type::B16, Type::B32, Type::B64, Type::U16, Type::U32,
                      Type::U64, Type::S16, Type::S32, Type::S64, Type::F16,
                      Type::F16x2, Type::BF16, Type::BF16x2, Type::F32,
                      Type::F64});
  Type given = op.type;
  op.isOfPairs = given == Type::F16x2 || given == Type::BF16x2;
  if (op.isOfPairs)
    op.type = given == Type::F16x2 ? Type::F16 : Type::BF16;
  op.compare = compareFunction(op);
  if (!op.compare || (op.isFlushed && !isFloat(op.type)) ||
      (op.isFlushed && op.type == Type::F64))
    fail(quoted() + " is not supported");
  op.d = predicateDestination(statement.operands[0]);
  op.e = statement.operands[0].second;
  op.a = source(statement.operands[1], given);
  op.b = source(statement.operands[2], given);
  if ((combine >= 0) != (statement.operands.size() == 4))
    fail(quoted() + " has " + std::to_string(statement.operands.size()) +
         " operands");
  op.vector = combine + 1; // a BoolOp, or None
  if (combine >= 0) {
    bool negates = false;
    op.c = predicate(statement.operands[3], negates);
    op.negatesC = negates;
  }
  add();
}

/// set.comparison{.ftz}.to.from: a comparison and a choice of 1.0, or of all
/// bits.
void Decoder::decodeSet() {
  expectOperands(3, 3);
  op.kind = Kind::Compare;
  op.mode = at < modifiers.size() ? findComparison(modifiers[at++]) : 99;
  if (op.mode >= std::size(kComparisons))
    fail(quoted() + " is not supported");
  op.isFlushed = take("ftz");
  Type to = takeType({Type::U32, Type::S32, Type::F32});
  op.type = takeType({Type::B16, Type::B32, Type::B64, Type::U16, Type::U32,
                      Type::U64, Type::S16, Type::S32, Type::S64, Type::F16,
                      Type::BF16, Type::F32, Type::F64});
  op.vector = uint8_t(BoolOp::None);
  op.compare = compareFunction(op);
  if (!op.compare)
    fail(quoted() + " is not supported");
  Slot result = destination(statement.operands[0], to);
  op.a = source(statement.operands[1], op.type);
  op.b = source(statement.operands[2], op.type);
  op.d = parser.newRegister(Type::Pred);
  add();
  Slot mask = op.d;
  op = Operation();
  op.line = statement.line;
  op.location = parser.location;
  op.guard = statement.guard;
  op.isNegated = statement.isNegated;
  op.kind = Kind::Select;
  op.type = Type::B32;
  op.d = result;
  op.a = constant(to == Type::F32 ? 0x3f800000 : 0xffffffff, 4);
  op.b = constant(0, 4);
  op.c = mask;
  add();
}

void Decoder::decodeSelect() {
  expectOperands(4, 4);
  op.kind = Kind::Select;
  op.type = takeType({Type::B16, Type::B32, Type::B64, Type::U16, Type::U32,
                      Type::U64, Type::S16, Type::S32, Type::S64, Type::F16,
                      Type::BF16, Type::F32, Type::F64});
  op.d = destination(statement.operands[0], op.type);
  op.a = source(statement.operands[1], op.type);
  op.b = source(statement.operands[2], op.type);
  bool negates = false;
  op.c = predicate(statement.operands[3], negates);
  op.negatesC = negates;
  add();
}
