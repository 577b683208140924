//===- Scalar.cpp - Arithmetic on scalars in loop bodies ------------------===//

#include "Scalar.h"

#include "dialects/dist/IR/Random.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::dist::frontend;

static bool isFloatValue(Value value) {
  return isa<FloatType>(value.getType());
}

Value Scalar::constant(Type type, double value) {
  if (auto floating = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(floating, value));
  return constantInt(type, static_cast<int64_t>(value));
}

Value Scalar::constantInt(Type type, int64_t value) {
  if (isa<FloatType>(type))
    return constant(type, static_cast<double>(value));
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(type, value));
}

Value Scalar::add(Value a, Value b) {
  if (isFloatValue(a))
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

Value Scalar::sub(Value a, Value b) {
  if (isFloatValue(a))
    return arith::SubFOp::create(builder, loc, a, b);
  return arith::SubIOp::create(builder, loc, a, b);
}

Value Scalar::mul(Value a, Value b) {
  if (isFloatValue(a))
    return arith::MulFOp::create(builder, loc, a, b);
  return arith::MulIOp::create(builder, loc, a, b);
}

Value Scalar::div(Value a, Value b, bool isUnsigned) {
  if (isFloatValue(a))
    return arith::DivFOp::create(builder, loc, a, b);
  if (isUnsigned)
    return arith::DivUIOp::create(builder, loc, a, b);
  return arith::DivSIOp::create(builder, loc, a, b);
}

Value Scalar::rem(Value a, Value b, bool isUnsigned) {
  if (isFloatValue(a))
    return arith::RemFOp::create(builder, loc, a, b);
  if (isUnsigned)
    return arith::RemUIOp::create(builder, loc, a, b);
  return arith::RemSIOp::create(builder, loc, a, b);
}

Value Scalar::floorMod(Value a, Value b, bool isUnsigned) {
  Value r = rem(a, b, isUnsigned);
  if (isUnsigned)
    return r;
  // A remainder of the other sign than the divisor's is one divisor short.
  Value zero = constantInt(a.getType(), 0);
  Value nonzero = compare(Compare::NE, r, zero);
  Value differ =
      bitXor(compare(Compare::LT, r, zero), compare(Compare::LT, b, zero));
  return select(bitAnd(nonzero, differ), add(r, b), r);
}

Value Scalar::max(Value a, Value b, bool isUnsigned) {
  if (isFloatValue(a))
    return arith::MaximumFOp::create(builder, loc, a, b);
  if (isUnsigned || a.getType().isInteger(1))
    return arith::MaxUIOp::create(builder, loc, a, b);
  return arith::MaxSIOp::create(builder, loc, a, b);
}

Value Scalar::min(Value a, Value b, bool isUnsigned) {
  if (isFloatValue(a))
    return arith::MinimumFOp::create(builder, loc, a, b);
  if (isUnsigned || a.getType().isInteger(1))
    return arith::MinUIOp::create(builder, loc, a, b);
  return arith::MinSIOp::create(builder, loc, a, b);
}

Value Scalar::neg(Value a) {
  if (isFloatValue(a))
    return arith::NegFOp::create(builder, loc, a);
  return sub(constantInt(a.getType(), 0), a);
}

Value Scalar::pow(Value a, Value b, bool isUnsigned, bool isExponentUnsigned) {
  if (isFloatValue(a))
    return math::PowFOp::create(builder, loc, a, b);
  // By squaring, a bit of the exponent at a time: no code is generated for
  // math.ipowi.
  Type type = a.getType(), exponent = b.getType();
  Value one = constantInt(type, 1);
  Value oneBit = constantInt(exponent, 1), noBit = constantInt(exponent, 0);
  Value result = one, square = a, bits = b;
  unsigned width = exponent.getIntOrFloatBitWidth();
  for (unsigned bit = isExponentUnsigned ? 0 : 1; bit < width; ++bit) {
    Value isSet = compare(Compare::NE, bitAnd(bits, oneBit), noBit);
    result = select(isSet, mul(result, square), result);
    square = mul(square, square);
    bits = shiftRight(bits, oneBit, isExponentUnsigned);
  }
  if (isExponentUnsigned)
    return result;
  // Only 1 and -1 have a whole number as their negative power.
  Value hasInverse = compare(Compare::EQ, a, one);
  if (!isUnsigned)
    hasInverse =
        bitOr(hasInverse, compare(Compare::EQ, a, constantInt(type, -1)));
  Value inverse = select(hasInverse, result, constantInt(type, 0));
  return select(compare(Compare::LT, b, noBit), inverse, result);
}

Value Scalar::apply(Function function, Value a) {
  if (function == Function::Abs && !isFloatValue(a))
    return math::AbsIOp::create(builder, loc, a);
  switch (function) {
  case Function::Abs:
    return math::AbsFOp::create(builder, loc, a);
  case Function::Acos:
    return math::AcosOp::create(builder, loc, a);
  case Function::Acosh:
    return math::AcoshOp::create(builder, loc, a);
  case Function::Asin:
    return math::AsinOp::create(builder, loc, a);
  case Function::Asinh:
    return math::AsinhOp::create(builder, loc, a);
  case Function::Atan:
    return math::AtanOp::create(builder, loc, a);
  case Function::Atanh:
    return math::AtanhOp::create(builder, loc, a);
  case Function::Ceil:
    return math::CeilOp::create(builder, loc, a);
  case Function::Cos:
    return math::CosOp::create(builder, loc, a);
  case Function::Cosh:
    return math::CoshOp::create(builder, loc, a);
  case Function::Erf:
    return math::ErfOp::create(builder, loc, a);
  case Function::Erfc:
    // For results of 16 bits: f32's smallest numbers may be lost.
    return math::ErfcOp::create(builder, loc, a, arith::FastMathFlags::afn);
  case Function::Exp:
    return math::ExpOp::create(builder, loc, a);
  case Function::Expm1:
    return math::ExpM1Op::create(builder, loc, a);
  case Function::Floor:
    return math::FloorOp::create(builder, loc, a);
  case Function::Log:
    return math::LogOp::create(builder, loc, a);
  case Function::Log1p:
    return math::Log1pOp::create(builder, loc, a);
  case Function::Round:
    return math::RoundEvenOp::create(builder, loc, a);
  case Function::Rsqrt:
    return math::RsqrtOp::create(builder, loc, a);
  case Function::Sin:
    return math::SinOp::create(builder, loc, a);
  case Function::Sinh:
    return math::SinhOp::create(builder, loc, a);
  case Function::Sqrt:
    return math::SqrtOp::create(builder, loc, a);
  case Function::Tan:
    return math::TanOp::create(builder, loc, a);
  case Function::Tanh:
    return math::TanhOp::create(builder, loc, a);
  }
  return a;
}

Value Scalar::sign(Value a, bool isUnsigned) {
  Value zero = constantInt(a.getType(), 0);
  Value one = constantInt(a.getType(), 1);
  Value result = select(compare(Compare::GT, a, zero, isUnsigned), one, zero);
  if (!isUnsigned)
    result = select(compare(Compare::LT, a, zero), constantInt(a.getType(), -1),
                    result);
  // The sign of NaN is NaN.
  if (isFloatValue(a))
    result = select(isNaN(a), a, result);
  return result;
}

Value Scalar::isNaN(Value a) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, a, a);
}

Value Scalar::compare(Compare predicate, Value a, Value b, bool isUnsigned) {
  if (isFloatValue(a)) {
    // Comparisons with NaN are false, except "not equal".
    static const arith::CmpFPredicate predicates[] = {
        arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
        arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
        arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    return arith::CmpFOp::create(builder, loc,
                                 predicates[static_cast<int>(predicate)], a, b);
  }
  static const arith::CmpIPredicate signedPredicates[] = {
      arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
      arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
      arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  static const arith::CmpIPredicate unsignedPredicates[] = {
      arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
      arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
      arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
  isUnsigned |= a.getType().isInteger(1);
  return arith::CmpIOp::create(
      builder, loc,
      (isUnsigned ? unsignedPredicates
                  : signedPredicates)[static_cast<int>(predicate)],
      a, b);
}

Value Scalar::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

void Scalar::require(Value holds, const Twine &message) {
  cf::AssertOp::create(builder, loc, holds, message.str());
}

Value Scalar::bitAnd(Value a, Value b) {
  return arith::AndIOp::create(builder, loc, a, b);
}

Value Scalar::bitOr(Value a, Value b) {
  return arith::OrIOp::create(builder, loc, a, b);
}

Value Scalar::bitXor(Value a, Value b) {
  return arith::XOrIOp::create(builder, loc, a, b);
}

Value Scalar::bitNot(Value a) {
  return bitXor(a, constantInt(a.getType(), -1));
}

Value Scalar::shiftLeft(Value a, Value b) {
  return arith::ShLIOp::create(builder, loc, a, b);
}

Value Scalar::shiftRight(Value a, Value b, bool isUnsigned) {
  if (isUnsigned)
    return arith::ShRUIOp::create(builder, loc, a, b);
  return arith::ShRSIOp::create(builder, loc, a, b);
}

Type mlir::dist::frontend::toType(MLIRContext *context, DType type) {
  Builder builder(context);
  switch (type) {
  case DType::F16:
    return builder.getF16Type();
  case DType::BF16:
    return builder.getBF16Type();
  case DType::F32:
    return builder.getF32Type();
  case DType::F64:
    return builder.getF64Type();
  case DType::Bool:
    return builder.getI1Type();
  default:
    return builder.getIntegerType(sizeOf(type) * 8);
  }
}

Value Scalar::cast(Value a, DType from, DType to) {
  if (from == to)
    return a;
  Type type = toType(builder.getContext(), to);
  if (to == DType::Bool)
    return compare(Compare::NE, a, constantInt(a.getType(), 0));
  bool extend = sizeOf(to) > sizeOf(from) || from == DType::Bool;
  if (isFloat(from) && isFloat(to)) {
    if (sizeOf(from) == sizeOf(to)) // float16 and bfloat16
      a = arith::ExtFOp::create(builder, loc, builder.getF32Type(), a);
    else if (extend)
      return arith::ExtFOp::create(builder, loc, type, a);
    return arith::TruncFOp::create(builder, loc, type, a);
  }
  if (isFloat(to)) {
    if (isUnsigned(from) || from == DType::Bool)
      return arith::UIToFPOp::create(builder, loc, type, a);
    return arith::SIToFPOp::create(builder, loc, type, a);
  }
  if (isFloat(from)) {
    if (to == DType::U64) {
      // The upper half of the range less 2^63, which is its highest bit.
      Value half = constant(a.getType(), 0x1p63);
      Value isUpper = compare(Compare::GE, a, half);
      Value low = arith::FPToSIOp::create(builder, loc, type,
                                          select(isUpper, sub(a, half), a));
      return select(isUpper, bitXor(low, constantInt(type, INT64_MIN)), low);
    }
    // Through a wider signed integer, so that -1.0 wraps instead of being
    // undefined.
    if (isUnsigned(to)) {
      Value wide =
          arith::FPToSIOp::create(builder, loc, builder.getI64Type(), a);
      return arith::TruncIOp::create(builder, loc, type, wide);
    }
    return arith::FPToSIOp::create(builder, loc, type, a);
  }
  if (sizeOf(from) == sizeOf(to) && from != DType::Bool)
    return a;
  if (!extend)
    return arith::TruncIOp::create(builder, loc, type, a);
  if (isUnsigned(from) || from == DType::Bool)
    return arith::ExtUIOp::create(builder, loc, type, a);
  return arith::ExtSIOp::create(builder, loc, type, a);
}

Value Scalar::toIndex(Value a) {
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), a);
}

Value Scalar::fromIndex(Value a, Type type) {
  return arith::IndexCastOp::create(builder, loc, type, a);
}

Value LoopScalar::position(int64_t dim) {
  return linalg::IndexOp::create(builder, loc, dim);
}

Value LoopScalar::positionInt(int64_t dim) {
  return fromIndex(position(dim), builder.getI64Type());
}

std::array<Value, 4> LoopScalar::randomWords(Value seed, Value step,
                                             int64_t number,
                                             ArrayRef<int64_t> sizes,
                                             ValueRange openSizes) {
  SmallVector<Value> place;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    place.push_back(position(dim));
  auto words = RandomWordsOp::create(
      builder, loc, seed, step, number, place, openSizes, sizes,
      /*stream=*/Value(), /*axes=*/ArrayAttr(), /*by=*/Attribute());
  return {words.getFirst(), words.getSecond(), words.getThird(),
          words.getFourth()};
}
