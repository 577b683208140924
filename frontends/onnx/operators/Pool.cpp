//===- Pool.cpp - Converters of pools -------------------------------------===//

#include "Window.h"
#include "frontends/bounds/Bounds.h"

#include "mlir/IR/AffineExpr.h"

#include <limits>

using namespace mlir;
using namespace mlir::dist::frontend;

/// Combines the elements under each window. `inputs` are padded; `results` are
/// read once a window.
static Value pool(Emitter &e, ArrayRef<Value> inputs, ArrayRef<Value> results,
                  const Windows &w, Value start, Emitter::Combine combine) {
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
  AffineMap inMap = AffineMap::get(loops, 0, in, context);
  AffineMap outMap = AffineMap::get(loops, 0, out, context);
  Shape shape{e.shapeOf(inputs.front())[0], e.shapeOf(inputs.front())[1]};
  shape.append(w.output);
  SmallVector<Value> operands(inputs);
  SmallVector<AffineMap> maps(inputs.size(), inMap);
  operands.append(results.begin(), results.end());
  maps.append(results.size(), outMap);
  // Only its shape is read: it gives the window's loops their extents.
  operands.push_back(e.empty(w.kernel, start.getType()));
  maps.push_back(AffineMap::get(loops, 0, window, context));
  return e.loops(operands, maps, e.filled(shape, start), outMap, combine);
}

static FailureOr<Windows> poolWindows(NodeContext &c) {
  std::optional<SmallVector<int64_t>> kernel = c.intsAttr("kernel_shape");
  if (!kernel) {
    (void)c.invalid("a pool without kernel_shape");
    return failure();
  }
  if (c.in(0).rank() < 3) {
    (void)c.invalid("a pool over shape " + toString(c.in(0).shape) +
                    ": ONNX's have a batch and channels before the window's "
                    "dimensions");
    return failure();
  }
  FailureOr<Windows> windows = readWindows(c, *kernel);
  if (succeeded(windows)) {
    Shape shape{c.in(0).shape[0], c.in(0).shape[1]};
    shape.append(windows->output);
    if (!c.isPossible(shape)) {
      (void)c.invalid("a result of shape " + toString(shape));
      return failure();
    }
  }
  return windows;
}

/// The smallest number of its type: what padding holds for a maximum.
static Value lowestOf(Emitter &e, DType type) {
  if (isFloat(type))
    return e.scalar(e.typeOf(type), -std::numeric_limits<double>::infinity());
  int64_t bits = 8 * sizeOf(type);
  return e.scalarInt(e.typeOf(type), isUnsigned(type) || type == DType::Bool
                                         ? 0
                                         : -(int64_t(1) << (bits - 1)));
}

/// Where in the flattened input each window has its maximum, the first of equal
/// ones.
static Value poolPositions(NodeContext &c, const Windows &w, Value padded,
                           Value maxima) {
  Emitter &e = c.emitter;
  Shape shape = c.in(0).shape;
  Type i64 = e.typeOf(DType::I64);
  bool columns = c.boolAttr("storage_order", false);
  SmallVector<int64_t> strides = stridesOf(shape);
  if (columns) {
    int64_t stride = 1;
    for (size_t i = 2; i < shape.size(); ++i) {
      strides[i] = stride;
      stride *= shape[i];
    }
  }
  Value positions =
      e.mapPositions({}, shape, i64, [&](LoopScalar &s, ArrayRef<Value>) {
        Value sum = s.constantInt(i64, 0);
        for (auto [dim, stride] : llvm::enumerate(strides))
          sum =
              s.add(sum, s.mul(s.positionInt(dim), s.constantInt(i64, stride)));
        return sum;
      });
  Value none = e.scalarInt(i64, std::numeric_limits<int64_t>::max());
  positions = padSpace(e, positions, w.low, w.high, none);
  return pool(e, {padded, positions}, maxima, w, none,
              [&](LoopScalar &s, ArrayRef<Value> in, Value best) {
                Value found = s.compare(Compare::EQ, in[0], in[2]);
                return s.select(found, s.min(best, in[1]), best);
              });
}

static LogicalResult maxPool(NodeContext &c) {
  FailureOr<Windows> windows = poolWindows(c);
  if (failed(windows))
    return failure();
  DType type = c.in(0).type;
  Emitter &e = c.emitter;
  Value lowest = lowestOf(e, type);
  Value padded = padSpace(e, c.value(0), windows->low, windows->high, lowest);
  bool plain = isUnsigned(type);
  Value maxima = pool(e, padded, {}, *windows, lowest,
                      [&](LoopScalar &s, ArrayRef<Value> in, Value best) {
                        return s.max(best, in[0], plain);
                      });
  c.set(0, maxima, type);
  if (c.wants(1) && isOpen(c.in(0).shape[1]))
    return c.open("MaxPool with positions in an open number of channels",
                  c.in(0).shape[1]);
  if (c.wants(1))
    c.set(1, poolPositions(c, *windows, padded, maxima), DType::I64);
  return success();
}

/// (sum of |x|^p)^(1 / p) of what `sum` adds up.
static LogicalResult lpNormOf(NodeContext &c,
                              llvm::function_ref<Value(Value)> sum) {
  DType type = c.in(0).type;
  int64_t p = c.intAttr("p", 2);
  if (!isFloat(type) || p < 1)
    return c.invalid("p = " + Twine(p) + " of type " + nameOf(type));
  Emitter &e = c.emitter;
  Type element = e.typeOf(type);
  auto power = [&](Scalar &s, Value x, double exponent) {
    if (exponent == 1)
      return x;
    if (exponent == 2)
      return s.mul(x, x);
    if (exponent == 0.5)
      return s.apply(Function::Sqrt, x);
    return s.pow(x, s.constant(element, exponent));
  };
  Value powers = e.map(
      c.value(0), c.in(0).shape, element, [&](Scalar &s, ArrayRef<Value> in) {
        return power(s, s.apply(Function::Abs, in[0]), double(p));
      });
  Value total = sum(powers);
  Value result = e.map(total, e.shapeOf(total), element,
                       [&](Scalar &s, ArrayRef<Value> in) {
                         return power(s, in[0], 1 / double(p));
                       });
  c.set(0, result, type);
  return success();
}

static LogicalResult lpPool(NodeContext &c) {
  FailureOr<Windows> windows = poolWindows(c);
  if (failed(windows))
    return failure();
  Emitter &e = c.emitter;
  Value zero = e.scalar(e.typeOf(c.in(0).type), 0.0);
  return lpNormOf(c, [&](Value powers) {
    return pool(e, padSpace(e, powers, windows->low, windows->high, zero), {},
                *windows, zero,
                [](LoopScalar &s, ArrayRef<Value> in, Value sum) {
                  return s.add(sum, in[0]);
                });
  });
}

static LogicalResult globalLpPool(NodeContext &c) {
  SmallVector<int64_t> axes;
  for (int64_t i = 2; i < c.in(0).rank(); ++i)
    axes.push_back(i);
  if (axes.empty())
    return c.invalid("shape " + toString(c.in(0).shape) + " has no space");
  return lpNormOf(c, [&](Value powers) {
    return c.emitter.reduce(Reduction::Sum, powers, axes, /*keep=*/true);
  });
}

static LogicalResult averagePool(NodeContext &c) {
  FailureOr<Windows> windows = poolWindows(c);
  if (failed(windows))
    return failure();
  DType type = c.in(0).type;
  Emitter &e = c.emitter;
  if (!isFloat(type))
    return c.invalid("operand of type " + nameOf(type));
  bool countsPadding = c.boolAttr("count_include_pad", false);
  Type element = e.typeOf(type);
  Value zero = e.scalar(element, 0.0);
  Value sum =
      pool(e, padSpace(e, c.value(0), windows->low, windows->high, zero), {},
           *windows, zero, [](LoopScalar &s, ArrayRef<Value> in, Value sum) {
             return s.add(sum, in[0]);
           });
  // How many elements a window covers is a product over the dimensions.
  Shape shape = e.shapeOf(sum);
  SmallVector<Value> operands{sum};
  double factor = 1;
  for (auto [i, positions] : llvm::enumerate(windows->output)) {
    int64_t size = c.in(0).shape[2 + i];
    int64_t from = countsPadding ? -windows->low[i] : 0;
    int64_t to = size + (countsPadding ? windows->declaredHigh[i] : 0);
    int64_t kernel = windows->kernel[i], dilation = windows->dilations[i];
    int64_t stride = windows->strides[i], low = windows->low[i];
    auto covered = [&](int64_t at) {
      int64_t start = at * stride - low;
      // How many of the window's elements lie before a position.
      auto before = [&](int64_t position) {
        int64_t distance = std::max<int64_t>(position - start, 0);
        return std::min((distance + dilation - 1) / dilation, kernel);
      };
      return before(to) - before(from);
    };
    // Those between the first and the last lie within, too.
    if (covered(0) == kernel && covered(positions - 1) == kernel) {
      factor *= kernel;
      continue;
    }
    if (positions > kMostCounts)
      return c.unsupported("AveragePool of " + Twine(positions) +
                           " windows, some of which lie over padding");
    Shape spread(shape.size(), 1);
    spread[2 + i] = positions;
    HostTensor counts(type, spread);
    for (int64_t at = 0; at < positions; ++at)
      counts.setInt(at, covered(at));
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
    count = c.sizes().mul(count, shape[i]);
  }
  Value result = e.reduce(max ? Reduction::Max : Reduction::Sum, c.value(0),
                          axes, /*keep=*/true, /*isUnsigned=*/false,
                          /*isFirst=*/max);
  Type element = e.typeOf(type);
  if (!max)
    result = e.map(result, e.shapeOf(result), element,
                   [&](Scalar &s, ArrayRef<Value> in) {
                     return s.div(in[0], e.numberOf(s, element, count));
                   });
  c.set(0, result, type);
  return success();
}

void mlir::dist::frontend::addPoolConverters(ConverterTable &table) {
  table.add("MaxPool", 1, maxPool);
  table.add("AveragePool", 1, averagePool);
  table.add("GlobalAveragePool", 1, globalPool<false>);
  table.add("LpPool", 1, lpPool);
  table.add("GlobalLpPool", 1, globalLpPool);
  table.add("GlobalMaxPool", 1, globalPool<true>);
  table.takeOpenSizes({"MaxPool", "AveragePool", "GlobalAveragePool", "LpPool",
                       "GlobalLpPool", "GlobalMaxPool"});
}
