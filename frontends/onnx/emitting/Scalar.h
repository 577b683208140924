//===- Scalar.h - Arithmetic on scalars in loop bodies ----------*- C++ -*-===//
//
// Builds the bodies of generics. One method for each operation, for floating
// point and integers alike, so that converters depend neither on the arith
// dialect's headers nor on its many names.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_EMITTING_SCALAR_H
#define DIST_FRONTENDS_ONNX_EMITTING_SCALAR_H

#include "frontends/onnx/reading/HostTensor.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <array>

namespace mlir::dist::frontend {

/// The type of the program's values that stands for one of the model's.
Type toType(MLIRContext *context, DType type);

enum class Compare { EQ, NE, LT, LE, GT, GE };

/// Functions of one floating-point number.
enum class Function {
  Abs,
  Acos,
  Acosh,
  Asin,
  Asinh,
  Atan,
  Atanh,
  Ceil,
  Cos,
  Cosh,
  Erf,
  Erfc,
  Exp,
  Expm1,
  Floor,
  Log,
  Log1p,
  Round,
  Rsqrt,
  Sin,
  Sinh,
  Sqrt,
  Tan,
  Tanh,
};

class Scalar {
public:
  Scalar(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value constant(Type type, double value);
  Value constantInt(Type type, int64_t value);
  Value boolean(bool value) { return constantInt(builder.getI1Type(), value); }

  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  /// Integers are divided towards zero.
  Value div(Value a, Value b, bool isUnsigned = false);
  /// The sign of the dividend, as C's % and fmod.
  Value rem(Value a, Value b, bool isUnsigned = false);
  /// The sign of the divisor, as Python's %.
  Value floorMod(Value a, Value b, bool isUnsigned = false);
  /// NaN if either is.
  Value max(Value a, Value b, bool isUnsigned = false);
  Value min(Value a, Value b, bool isUnsigned = false);
  Value neg(Value a);
  /// Of integers, the exponent may be of another width, and one may be unsigned
  /// where the other is not; a negative one truncates towards zero.
  Value pow(Value a, Value b, bool isUnsigned = false,
            bool isExponentUnsigned = false);
  Value apply(Function function, Value a);
  Value sign(Value a, bool isUnsigned = false);
  Value isNaN(Value a);

  Value compare(Compare predicate, Value a, Value b, bool isUnsigned = false);
  Value select(Value condition, Value a, Value b);
  /// The program ends with `message` where `holds` is false.
  void require(Value holds, const Twine &message);
  Value bitAnd(Value a, Value b);
  Value bitOr(Value a, Value b);
  Value bitXor(Value a, Value b);
  Value bitNot(Value a);
  Value shiftLeft(Value a, Value b);
  Value shiftRight(Value a, Value b, bool isUnsigned);

  /// The value as another element type: truncated towards zero from floating
  /// point to integer, compared with zero to bool.
  Value cast(Value a, DType from, DType to);
  /// i64 to index and back.
  Value toIndex(Value a);
  Value fromIndex(Value a, Type type);

protected:
  OpBuilder &builder;
  Location loc;
};

/// The same where the loops are those that were asked for.
class LoopScalar : public Scalar {
public:
  using Scalar::Scalar;
  /// The position of loop `dim`, an index.
  Value position(int64_t dim);
  /// The same as an i64.
  Value positionInt(int64_t dim);
  /// Four random words of 32 bits, each an i64, for the current element of a
  /// tensor of `sizes`; there is one loop for each dimension. They are keyed by
  /// the seed, the step and the number of the operator. Sizes that are not
  /// constants are ShapedType::kDynamic, and indices in `openSizes`.
  std::array<Value, 4> randomWords(Value seed, Value step, int64_t number,
                                   ArrayRef<int64_t> sizes,
                                   ValueRange openSizes);
};

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_EMITTING_SCALAR_H
