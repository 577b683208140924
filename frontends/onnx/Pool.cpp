//===- Pool.cpp - Converters of pools -------------------------------------===//

#include "Window.h"

#include "mlir/IR/AffineExpr.h"

#include <limits>

using namespace mlir;
using namespace mlir::dist::frontend;

/// Combines the elements under each window; `value` is padded.
static Value pool(Emitter &e, Value value, const Windows &w, Value start,
                  Emitter::Combine combine) {
  MLIRContext *context = e.getBuilder().getContext();
  int64_t space = w.kernel.size(), loops = 2 + 2 * space;
  auto dim = [&](int64_t i) { return getAffineDimExpr(i, context); };
  SmallVector<AffineExpr> in{dim(0), dim(1)}, out{dim(0), dim(1)}, window;
  for (int64_t i = 0; i < space; ++i) {
    in.push_back(dim(2 + i) * w.strides[i] +
                 dim(2 + space + i) * w.dilations[i]);
    out.push_back(dim(2 + i));
    window.push_back(dim(2 + space + i));
  }
  Shape shape{shapeOf(value)[0], shapeOf(value)[1]};
  shape.append(w.output);
  // Only its shape is read: it gives the window's loops their extents.
  Value extents = e.empty(w.kernel, start.getType());
  return e.loops({value, extents},
                 {AffineMap::get(loops, 0, in, context),
                  AffineMap::get(loops, 0, window, context)},
                 e.filled(shape, start), AffineMap::get(loops, 0, out, context),
                 combine);
}

static FailureOr<Windows> poolWindows(NodeContext &c) {
  std::optional<SmallVector<int64_t>> kernel = c.intsAttr("kernel_shape");
  if (c.in(0).rank() < 3 || !kernel) {
    (void)c.invalid("a pool without kernel_shape, or of shape " +
                    toString(c.in(0).shape));
    return failure();
  }
  FailureOr<Windows> windows = readWindows(c, *kernel);
  if (succeeded(windows)) {
    Shape shape{c.in(0).shape[0], c.in(0).shape[1]};
    shape.append(windows->output);
    if (!countElements(shape)) {
      (void)c.invalid("a result of shape " + toString(shape));
      return failure();
    }
  }
  return windows;
}

static LogicalResult maxPool(NodeContext &c) {
  if (c.wants(1))
    return c.unsupported("MaxPool with positions");
  FailureOr<Windows> windows = poolWindows(c);
  if (failed(windows))
    return failure();
  DType type = c.in(0).type;
  Emitter &e = c.emitter;
  if (!isFloat(type))
    return c.unsupported("MaxPool of type " + nameOf(type));
  Value lowest =
      e.scalar(e.typeOf(type), -std::numeric_limits<double>::infinity());
  Value padded = padSpace(e, c.value(0), windows->low, windows->high, lowest);
  c.set(0,
        pool(e, padded, *windows, lowest,
             [](LoopScalar &s, ArrayRef<Value> in, Value best) {
               return s.max(best, in[0]);
             }),
        type);
  return success();
}

static LogicalResult averagePool(NodeContext &c) {
  FailureOr<Windows> windows = poolWindows(c);
  if (failed(windows))
    return failure();
  DType type = c.in(0).type;
  Emitter &e = c.emitter;
  if (!isFloat(type))
    return c.invalid("operand of type " + nameOf(type));
  bool countsPadding = c.intAttr("count_include_pad", 0) != 0;
  Type element = e.typeOf(type);
  Value zero = e.scalar(element, 0.0);
  Value sum =
      pool(e, padSpace(e, c.value(0), windows->low, windows->high, zero),
           *windows, zero, [](LoopScalar &s, ArrayRef<Value> in, Value sum) {
             return s.add(sum, in[0]);
           });
  // How many elements a window covers is a product over the dimensions.
  Shape shape = shapeOf(sum);
  SmallVector<Value> operands{sum};
  double factor = 1;
  for (auto [i, positions] : llvm::enumerate(windows->output)) {
    int64_t size = c.in(0).shape[2 + i];
    int64_t from = countsPadding ? -windows->low[i] : 0;
    int64_t to = size + (countsPadding ? windows->declaredHigh[i] : 0);
    Shape spread(shape.size(), 1);
    spread[2 + i] = positions;
    HostTensor counts(type, spread);
    for (int64_t at = 0; at < positions; ++at) {
      int64_t covered = 0;
      for (int64_t k = 0; k < windows->kernel[i]; ++k) {
        int64_t position = at * windows->strides[i] - windows->low[i] +
                           k * windows->dilations[i];
        covered += position >= from && position < to;
      }
      counts.setInt(at, covered);
    }
    if (counts.isSplat())
      factor *= counts.getFloat(0);
    else
      operands.push_back(e.constant(counts));
  }
  Value result =
      e.map(operands, shape, element, [&](Scalar &s, ArrayRef<Value> in) {
        Value count = s.constant(element, factor);
        for (Value counts : in.drop_front())
          count = s.mul(count, counts);
        return s.div(in[0], count);
      });
  c.set(0, result, type);
  return success();
}

template <bool max> static LogicalResult globalPool(NodeContext &c) {
  Shape shape = c.in(0).shape;
  DType type = c.in(0).type;
  if (shape.size() < 3 || !isFloat(type))
    return c.invalid("operand " + nameOf(type) + " " + toString(shape));
  Emitter &e = c.emitter;
  SmallVector<int64_t> axes;
  int64_t count = 1;
  for (size_t i = 2; i < shape.size(); ++i) {
    axes.push_back(i);
    count *= shape[i];
  }
  Value result = e.reduce(max ? Reduction::Max : Reduction::Sum, c.value(0),
                          axes, /*keep=*/true);
  Type element = e.typeOf(type);
  if (!max)
    result = e.map(result, shapeOf(result), element,
                   [&](Scalar &s, ArrayRef<Value> in) {
                     return s.div(in[0], s.constantInt(element, count));
                   });
  c.set(0, result, type);
  return success();
}

void mlir::dist::frontend::addPoolConverters(ConverterTable &table) {
  table.add("MaxPool", 1, maxPool);
  table.add("AveragePool", 1, averagePool);
  table.add("GlobalAveragePool", 1, globalPool<false>);
  table.add("GlobalMaxPool", 1, globalPool<true>);
}
