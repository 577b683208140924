//===- Mask.cpp - Converters of operators that make and read masks --------===//

#include "Converter.h"

using namespace mlir;
using namespace mlir::dist::frontend;

/// The same of indices and values that are known.
static HostTensor knownOneHot(const HostTensor &where, const HostTensor &values,
                              ArrayRef<int64_t> shape, int64_t axis) {
  HostTensor result(values.getType(), shape);
  int64_t size = shape[axis], inner = stridesOf(shape)[axis];
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t at = i / inner % size;
    int64_t index = where.getInt(i / (inner * size) * inner + i % inner);
    bool hit = (index < 0 ? index + size : index) == at;
    if (isFloat(values.getType()))
      result.setFloat(i, values.getFloat(hit));
    else
      result.setInt(i, values.getInt(hit));
  }
  return result;
}

static LogicalResult oneHot(NodeContext &c) {
  std::optional<double> depth = c.number(1);
  if (!depth)
    return c.unsupported("OneHot with a depth computed at run time");
  const Tensor &where = c.in(0), &values = c.in(2);
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", -1), where.rank() + 1);
  if (failed(axis))
    return failure();
  int64_t size = static_cast<int64_t>(*depth);
  Shape shape = where.shape;
  shape.insert(shape.begin() + *axis, size);
  if (hasOpen(values.shape))
    return c.open("OneHot of an open number of values", values.shape);
  if (*depth < 1 || *depth > 1e9 || values.shape != Shape{2} ||
      !c.isPossible(shape))
    return c.invalid("depth " + std::to_string(*depth) +
                     " and values of shape " + toString(values.shape));
  if (where.known && values.known && !isFloat(where.type) &&
      isSmall(values.type, *countElements(shape))) {
    c.set(0, knownOneHot(*where.known, *values.known, shape, *axis));
    return success();
  }
  Emitter &e = c.emitter;
  Type i64 = e.typeOf(DType::I64);
  Shape apart = where.shape;
  apart.insert(apart.begin() + *axis, 1);
  auto number = [&](int64_t i) {
    if (values.known)
      return e.scalar(*values.known, i);
    return e.reshape(e.sliceDim(c.value(2), 0, i, 1), {});
  };
  DType type = where.type;
  Value result = e.mapPositions(
      {e.reshape(c.value(0), apart), number(0), number(1)}, shape,
      e.typeOf(values.type), [&](LoopScalar &s, ArrayRef<Value> in) {
        Value index = s.cast(in[0], type, DType::I64);
        Value negative = s.compare(Compare::LT, index, s.constantInt(i64, 0));
        index =
            s.select(negative, s.add(index, s.constantInt(i64, size)), index);
        Value here = s.positionInt(*axis);
        return s.select(s.compare(Compare::EQ, index, here), in[2], in[1]);
      });
  c.set(0, result, values.type);
  return success();
}

/// The upper or lower triangle of matrices; zero elsewhere.
static LogicalResult trilu(NodeContext &c) {
  if (c.has(1) && !c.number(1))
    return c.unsupported("Trilu with a diagonal computed at run time");
  int64_t k = c.has(1) ? static_cast<int64_t>(*c.number(1)) : 0;
  bool upper = c.boolAttr("upper", true);
  const Tensor &data = c.in(0);
  int64_t rank = data.rank();
  if (rank < 2)
    return c.invalid("a tensor of rank " + Twine(rank));
  Emitter &e = c.emitter;
  Type element = e.typeOf(data.type), i64 = e.typeOf(DType::I64);
  Value result = e.mapPositions(
      c.value(0), data.shape, element, [&](LoopScalar &s, ArrayRef<Value> in) {
        Value row = s.positionInt(rank - 2);
        Value column = s.positionInt(rank - 1);
        Value diagonal = s.add(row, s.constantInt(i64, k));
        Value keep =
            s.compare(upper ? Compare::GE : Compare::LE, column, diagonal);
        return s.select(keep, in[0], s.constantInt(element, 0));
      });
  c.set(0, result, data.type);
  return success();
}

/// As long as the number of elements that are not zero. The shape is static
/// only if they are known, and then it has been computed already.
static LogicalResult nonZero(NodeContext &c) {
  return c.unsupported("NonZero of data computed at run time (how many there "
                       "are has no size; docs/import.md says what to export "
                       "instead)");
}

void mlir::dist::frontend::addMaskConverters(ConverterTable &table) {
  table.add("NonZero", 1, nonZero);
  table.add("OneHot", 3, oneHot);
  table.add("Trilu", 1, trilu);
  table.takeOpenSizes({"OneHot", "Trilu"});
}
