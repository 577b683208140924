//===- Quantization.cpp - Converters of quantized arithmetic --------------===//
//
// number = (integer - zero point) * scale.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

using namespace mlir;
using namespace mlir::dist::frontend;

/// The range of an integer type of at most 16 bits.
static std::optional<std::pair<int64_t, int64_t>> rangeOf(DType type) {
  if (!isInteger(type) || sizeOf(type) > 2)
    return std::nullopt;
  int64_t count = int64_t(1) << (8 * sizeOf(type));
  if (isUnsigned(type))
    return std::pair(int64_t(0), count - 1);
  return std::pair(-count / 2, count / 2 - 1);
}

/// Input `i` (scales or zero points) as it broadcasts to input 0: one number,
/// one for each position along `axis`, or one for each block of them.
static FailureOr<Value> spreadParameter(NodeContext &c, size_t i) {
  Shape shape = c.in(0).shape, own = c.in(i).shape;
  int64_t rank = shape.size(), block = c.intAttr("block_size", 0);
  // One number has no axis, whatever the file says.
  int64_t given = c.intAttr("axis", 1);
  Emitter &e = c.emitter;
  Value value = c.value(i);
  if (countElements(own) == 1 && block == 0)
    return e.reshape(value, {});
  FailureOr<int64_t> axis = c.axis(given, rank);
  if (failed(axis))
    return failure();
  Shape spread(rank, 1);
  if (own.size() == 1 && block == 0 && own[0] == shape[*axis]) {
    spread[*axis] = own[0];
    return e.reshape(value, spread);
  }
  if (hasOpen(own) || (block > 0 && isOpen(shape[*axis]))) {
    (void)c.disagree("are no integers and their scales", shape, own);
    return failure();
  }
  Shape blocks = shape;
  if (block > 0)
    blocks[*axis] = (shape[*axis] + block - 1) / block;
  if (block <= 0 || own != blocks) {
    (void)c.invalid("input " + Twine(i) + " of shape " + toString(own) +
                    " for " + toString(shape) + ", axis " + Twine(*axis) +
                    ", block_size " + Twine(block));
    return failure();
  }
  // [n] to [n, 1] to [n, block] to [n * block], cut.
  Shape apart = own, repeated = own, merged = own;
  apart.insert(apart.begin() + *axis + 1, 1);
  repeated.insert(repeated.begin() + *axis + 1, block);
  merged[*axis] *= block;
  if (!countElements(merged)) {
    (void)c.invalid("block_size " + Twine(block));
    return failure();
  }
  value = e.reshape(e.broadcast(e.reshape(value, apart), repeated), merged);
  return e.sliceDim(value, *axis, 0, shape[*axis]);
}

/// round(x) + zero, within the range of `to`.
static Value saturate(Scalar &s, Value x, Value zero, DType to) {
  auto [low, high] = *rangeOf(to);
  Type type = x.getType();
  Value sum = s.apply(Function::Round, x);
  if (zero)
    sum = s.add(sum, zero);
  sum = s.max(s.min(sum, s.constantInt(type, high)), s.constantInt(type, low));
  DType from = type.isF64() ? DType::F64 : DType::F32;
  return s.cast(sum, from, to);
}

static LogicalResult quantizeLinear(NodeContext &c) {
  DType to = static_cast<DType>(c.intAttr("output_dtype", 0));
  if (c.has(2))
    to = c.in(2).type;
  else if (to == DType::Undefined)
    to = DType::U8;
  DType from = c.in(0).type, scaleType = c.in(1).type;
  if (!rangeOf(to))
    return c.unsupported("QuantizeLinear to type " + nameOf(to));
  if (!isFloat(scaleType) || sizeOf(from) == 0)
    return c.invalid("a scale of type " + nameOf(scaleType));
  FailureOr<Value> scale = spreadParameter(c, 1);
  FailureOr<Value> zero =
      c.has(2) ? spreadParameter(c, 2) : FailureOr<Value>(Value());
  if (failed(scale) || failed(zero))
    return failure();
  // Exact in f32: all integers are small.
  DType inner = from == DType::F64 ? DType::F64 : DType::F32;
  SmallVector<Value> operands{c.value(0), *scale};
  if (*zero)
    operands.push_back(*zero);
  Value result = c.emitter.map(
      operands, c.in(0).shape, c.emitter.typeOf(to),
      [&](Scalar &s, ArrayRef<Value> in) {
        Value x =
            s.div(s.cast(in[0], from, inner), s.cast(in[1], scaleType, inner));
        return saturate(s, x, *zero ? s.cast(in[2], to, inner) : Value(), to);
      });
  c.set(0, result, to);
  return success();
}

static LogicalResult dequantizeLinear(NodeContext &c) {
  DType from = c.in(0).type, to = c.in(1).type;
  if (!isInteger(from) || sizeOf(from) > 4 || !isFloat(to) ||
      (c.has(2) && c.in(2).type != from))
    return c.unsupported("DequantizeLinear from " + nameOf(from) + " to " +
                         nameOf(to));
  FailureOr<Value> scale = spreadParameter(c, 1);
  FailureOr<Value> zero =
      c.has(2) ? spreadParameter(c, 2) : FailureOr<Value>(Value());
  if (failed(scale) || failed(zero))
    return failure();
  SmallVector<Value> operands{c.value(0), *scale};
  if (*zero)
    operands.push_back(*zero);
  Value result =
      c.emitter.map(operands, c.in(0).shape, c.emitter.typeOf(to),
                    [&](Scalar &s, ArrayRef<Value> in) {
                      Value x = s.cast(in[0], from, DType::I64);
                      if (*zero)
                        x = s.sub(x, s.cast(in[2], from, DType::I64));
                      return s.mul(s.cast(x, DType::I64, to), in[1]);
                    });
  c.set(0, result, to);
  return success();
}

/// Scale and zero point from the range of the data, which holds 0.
static LogicalResult dynamicQuantizeLinear(NodeContext &c) {
  const Tensor &x = c.in(0);
  if (x.type != DType::F32)
    return c.invalid("operand of type " + nameOf(x.type));
  Emitter &e = c.emitter;
  Type f32 = e.typeOf(DType::F32);
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i)
    axes.push_back(i);
  auto bound = [&](Reduction kind) {
    Value value = e.reduce(kind, c.value(0), axes, /*keep=*/false);
    return e.map(value, {}, f32, [&](Scalar &s, ArrayRef<Value> in) {
      Value zero = s.constant(f32, 0);
      return kind == Reduction::Max ? s.max(in[0], zero) : s.min(in[0], zero);
    });
  };
  Value high = bound(Reduction::Max), low = bound(Reduction::Min);
  Value scale = e.map({high, low}, {}, f32, [&](Scalar &s, ArrayRef<Value> in) {
    return s.div(s.sub(in[0], in[1]), s.constant(f32, 255));
  });
  Value zero = e.map({low, scale}, {}, e.typeOf(DType::U8),
                     [&](Scalar &s, ArrayRef<Value> in) {
                       Value at = s.div(s.neg(in[0]), in[1]);
                       return saturate(s, at, Value(), DType::U8);
                     });
  Value result =
      e.map({c.value(0), scale, zero}, x.shape, e.typeOf(DType::U8),
            [&](Scalar &s, ArrayRef<Value> in) {
              return saturate(s, s.div(in[0], in[1]),
                              s.cast(in[2], DType::U8, DType::F32), DType::U8);
            });
  c.set(0, result, DType::U8);
  c.set(1, scale, DType::F32);
  c.set(2, zero, DType::U8);
  return success();
}

/// Input `i` as i32, less its zero point (input `zero`): one, or one for each
/// row (of the left operand) or column.
static FailureOr<Value> centered(NodeContext &c, size_t i, size_t zero,
                                 bool left) {
  const Tensor &x = c.in(i);
  Emitter &e = c.emitter;
  if (!isInteger(x.type) || sizeOf(x.type) != 1) {
    (void)c.invalid("an operand of type " + nameOf(x.type));
    return failure();
  }
  Type i32 = e.typeOf(DType::I32);
  SmallVector<Value> operands{c.value(i)};
  if (c.has(zero)) {
    Shape shape = c.in(zero).shape;
    if (countElements(shape) == 1)
      shape.clear();
    else if (shape.size() == 1 && left)
      shape.push_back(1);
    if (hasOpen(shape) && broadcastShapes(x.shape, shape) != x.shape) {
      (void)c.disagree("are no integers and their zero points", x.shape, shape);
      return failure();
    }
    if (c.in(zero).type != x.type ||
        broadcastShapes(x.shape, shape) != x.shape) {
      (void)c.invalid("a zero point " + nameOf(c.in(zero).type) + " " +
                      toString(c.in(zero).shape) + " for " + nameOf(x.type) +
                      " " + toString(x.shape));
      return failure();
    }
    operands.push_back(e.reshape(c.value(zero), shape));
  }
  return e.map(operands, x.shape, i32, [&](Scalar &s, ArrayRef<Value> in) {
    Value value = s.cast(in[0], x.type, DType::I32);
    return in.size() > 1 ? s.sub(value, s.cast(in[1], x.type, DType::I32))
                         : value;
  });
}

static LogicalResult matMulInteger(NodeContext &c) {
  FailureOr<Value> a = centered(c, 0, 2, /*left=*/true);
  FailureOr<Value> b = centered(c, 1, 3, /*left=*/false);
  if (failed(a) || failed(b))
    return failure();
  FailureOr<Value> product = emitMatMul(c, *a, *b);
  if (failed(product))
    return failure();
  c.set(0, *product, DType::I32);
  return success();
}

/// Inputs: a, its scale and zero point, b, its scale and zero point, scale and
/// zero point of the result.
static LogicalResult qLinearMatMul(NodeContext &c) {
  DType to = c.in(7).type;
  if (!rangeOf(to) || sizeOf(to) != 1)
    return c.invalid("a result of type " + nameOf(to));
  for (size_t i : {1, 4, 6})
    if (countElements(c.in(i).shape) != 1 || !isFloat(c.in(i).type))
      return c.unsupported("QLinearMatMul with several scales");
  if (countElements(c.in(7).shape) != 1)
    return c.unsupported("QLinearMatMul with several scales");
  FailureOr<Value> a = centered(c, 0, 2, /*left=*/true);
  FailureOr<Value> b = centered(c, 3, 5, /*left=*/false);
  if (failed(a) || failed(b))
    return failure();
  FailureOr<Value> product = emitMatMul(c, *a, *b);
  if (failed(product))
    return failure();
  Emitter &e = c.emitter;
  auto one = [&](size_t i) { return e.reshape(c.value(i), {}); };
  Value result =
      e.map({*product, one(1), one(4), one(6), one(7)}, e.shapeOf(*product),
            e.typeOf(to), [&](Scalar &s, ArrayRef<Value> in) {
              auto scale = [&](size_t i, size_t input) {
                return s.cast(in[i], c.in(input).type, DType::F32);
              };
              Value factor =
                  s.div(s.mul(scale(1, 1), scale(2, 4)), scale(3, 6));
              Value x = s.mul(s.cast(in[0], DType::I32, DType::F32), factor);
              return saturate(s, x, s.cast(in[4], to, DType::F32), to);
            });
  c.set(0, result, to);
  return success();
}

void mlir::dist::frontend::addQuantizationConverters(ConverterTable &table) {
  table.add("QuantizeLinear", 2, quantizeLinear);
  table.add("DequantizeLinear", 2, dequantizeLinear);
  table.add("DynamicQuantizeLinear", 1, dynamicQuantizeLinear);
  table.add("MatMulInteger", 2, matMulInteger);
  table.add("QLinearMatMul", 8, qLinearMatMul);
  table.takeOpenSizes({"QuantizeLinear", "DequantizeLinear",
                       "DynamicQuantizeLinear", "MatMulInteger",
                       "QLinearMatMul"});
}
