//===- Window.cpp - Converters of convolutions, pools and resizes ---------===//

#include "Converter.h"

#include "mlir/IR/AffineExpr.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::dist::frontend;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// Sliding windows over the dimensions of space, after [n, channels].
struct Windows {
  SmallVector<int64_t> kernel, strides, dilations;
  /// Of the input; `high` includes what ceil_mode reads beyond.
  SmallVector<int64_t> low, high;
  /// As the file declares it.
  SmallVector<int64_t> declaredHigh;
  Shape output;

  int64_t extent(size_t i) const { return dilations[i] * (kernel[i] - 1) + 1; }
};
} // namespace

/// A list attribute with one positive entry a dimension.
static LogicalResult positiveList(NodeContext &c, StringRef name, size_t count,
                                  SmallVectorImpl<int64_t> &list) {
  list.assign(count, 1);
  if (std::optional<SmallVector<int64_t>> given = c.intsAttr(name))
    list.assign(given->begin(), given->end());
  bool valid = list.size() == count;
  for (int64_t entry : list)
    valid &= entry > 0 && entry < (1 << 30);
  if (!valid)
    return c.invalid(name + " " + toString(list) + " for " + Twine(count) +
                     " dimensions");
  return success();
}

/// The amounts of `pads`, low ends first.
static LogicalResult padsAttr(NodeContext &c, size_t count,
                              SmallVectorImpl<int64_t> &low,
                              SmallVectorImpl<int64_t> &high) {
  low.assign(count, 0);
  high.assign(count, 0);
  std::optional<SmallVector<int64_t>> pads = c.intsAttr("pads");
  if (!pads)
    return success();
  bool valid = pads->size() == 2 * count;
  for (int64_t entry : *pads)
    valid &= entry >= 0 && entry < (1 << 30);
  if (!valid)
    return c.invalid("pads " + toString(*pads) + " for " + Twine(count) +
                     " dimensions");
  low.assign(pads->begin(), pads->begin() + count);
  high.assign(pads->begin() + count, pads->end());
  return success();
}

static FailureOr<Windows> readWindows(NodeContext &c,
                                      ArrayRef<int64_t> kernel) {
  Windows w;
  ArrayRef<int64_t> space = ArrayRef<int64_t>(c.in(0).shape).drop_front(2);
  size_t count = space.size();
  w.kernel.assign(kernel.begin(), kernel.end());
  bool valid = kernel.size() == count && count > 0;
  for (int64_t size : kernel)
    valid &= size > 0 && size < (1 << 30);
  if (!valid) {
    (void)c.invalid("a window " + toString(kernel) + " over shape " +
                    toString(c.in(0).shape));
    return failure();
  }
  if (failed(positiveList(c, "strides", count, w.strides)) ||
      failed(positiveList(c, "dilations", count, w.dilations)) ||
      failed(padsAttr(c, count, w.low, w.high)))
    return failure();
  StringRef automatic = c.stringAttr("auto_pad", "NOTSET");
  bool ceil = c.intAttr("ceil_mode", 0) != 0;
  w.declaredHigh = w.high;
  for (size_t i = 0; i < count; ++i) {
    int64_t extent = w.extent(i), stride = w.strides[i];
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      int64_t positions = (space[i] + stride - 1) / stride;
      int64_t total =
          std::max<int64_t>((positions - 1) * stride + extent - space[i], 0);
      w.low[i] = automatic == "SAME_UPPER" ? total / 2 : (total + 1) / 2;
      w.high[i] = w.declaredHigh[i] = total - w.low[i];
    } else if (automatic == "VALID") {
      w.low[i] = w.high[i] = w.declaredHigh[i] = 0;
    } else if (automatic != "NOTSET") {
      (void)c.unsupported("auto_pad '" + automatic + "'");
      return failure();
    }
    int64_t room = space[i] + w.low[i] + w.high[i] - extent;
    if (room < 0) {
      (void)c.invalid("a window of " + Twine(extent) +
                      " over a padded dimension of " + Twine(room + extent));
      return failure();
    }
    int64_t positions = room / stride + 1;
    // One more, if it starts within the input or the padding before it.
    if (ceil && room % stride != 0 && positions * stride < space[i] + w.low[i])
      ++positions;
    w.high[i] = std::max(w.high[i], (positions - 1) * stride + extent -
                                        space[i] - w.low[i]);
    w.output.push_back(positions);
  }
  return w;
}

/// `value` [n, channels, space] with `with` around it.
static Value padSpace(Emitter &e, Value value, ArrayRef<int64_t> low,
                      ArrayRef<int64_t> high, Value with) {
  SmallVector<int64_t> allLow{0, 0}, allHigh{0, 0};
  allLow.append(low.begin(), low.end());
  allHigh.append(high.begin(), high.end());
  return e.pad(value, allLow, allHigh, with);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

static Value addBias(NodeContext &c, size_t i, Value value) {
  if (!c.has(i))
    return value;
  Shape shape = shapeOf(value), channels(shape.size(), 1);
  channels[1] = c.in(i).shape[0];
  Value bias = c.emitter.reshape(c.value(i), channels);
  return c.emitter.map(
      {value, bias}, shape, c.emitter.typeOf(c.in(0).type),
      [](Scalar &s, ArrayRef<Value> in) { return s.add(in[0], in[1]); });
}

/// Sums products over the window and the channels of a group. `kernel` is
/// [groups, features, channels, window], or [groups, channels, features,
/// window] if `swapped`.
static Value convolveGroups(Emitter &e, Value image, Value kernel, Value init,
                            ArrayRef<int64_t> strides,
                            ArrayRef<int64_t> dilations, bool swapped) {
  MLIRContext *context = e.getBuilder().getContext();
  int64_t space = strides.size(), loops = 4 + 2 * space;
  // Loops: n, group, feature, space…, channel, window….
  auto dim = [&](int64_t i) { return getAffineDimExpr(i, context); };
  SmallVector<AffineExpr> in{dim(0), dim(1), dim(3 + space)};
  SmallVector<AffineExpr> weights{dim(1), dim(2), dim(3 + space)};
  if (swapped)
    std::swap(weights[1], weights[2]);
  SmallVector<AffineExpr> out{dim(0), dim(1), dim(2)};
  for (int64_t i = 0; i < space; ++i) {
    in.push_back(dim(3 + i) * strides[i] + dim(4 + space + i) * dilations[i]);
    weights.push_back(dim(4 + space + i));
    out.push_back(dim(3 + i));
  }
  return e.loops({image, kernel},
                 {AffineMap::get(loops, 0, in, context),
                  AffineMap::get(loops, 0, weights, context)},
                 init, AffineMap::get(loops, 0, out, context),
                 [](LoopScalar &s, ArrayRef<Value> args, Value sum) {
                   return s.add(sum, s.mul(args[0], args[1]));
                 });
}

static LogicalResult checkConv(NodeContext &c, int64_t features) {
  const Tensor &x = c.in(0), &w = c.in(1);
  if (x.rank() < 3 || w.rank() != x.rank() || x.type != w.type ||
      !isFloat(x.type))
    return c.invalid("an image " + nameOf(x.type) + " " + toString(x.shape) +
                     " and a kernel " + nameOf(w.type) + " " +
                     toString(w.shape));
  if (c.has(2) && (c.in(2).type != x.type || c.in(2).shape != Shape{features}))
    return c.invalid("a bias " + nameOf(c.in(2).type) + " " +
                     toString(c.in(2).shape) + " for " + Twine(features) +
                     " features");
  return success();
}

/// [a, ...] to [groups, a / groups, ...] at dimension `dim`.
static Value splitGroups(Emitter &e, Value value, int64_t dim, int64_t groups) {
  Shape shape = shapeOf(value);
  shape[dim] /= groups;
  shape.insert(shape.begin() + dim, groups);
  return e.reshape(value, shape);
}

static LogicalResult conv(NodeContext &c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  int64_t groups = c.intAttr("group", 1);
  if (failed(checkConv(c, w.shape.empty() ? 0 : w.shape[0])))
    return failure();
  if (groups <= 0 || w.shape[0] % groups != 0 || w.shape[1] > (1 << 30) ||
      groups > (1 << 30) || x.shape[1] != w.shape[1] * groups)
    return c.invalid(Twine(groups) + " groups for an image " +
                     toString(x.shape) + " and a kernel " + toString(w.shape));
  ArrayRef<int64_t> kernel = ArrayRef<int64_t>(w.shape).drop_front(2);
  if (std::optional<SmallVector<int64_t>> given = c.intsAttr("kernel_shape"))
    if (ArrayRef<int64_t>(*given) != kernel)
      return c.invalid("kernel_shape " + toString(*given) +
                       " for a kernel of shape " + toString(w.shape));
  FailureOr<Windows> windows = readWindows(c, kernel);
  if (failed(windows))
    return failure();
  Emitter &e = c.emitter;
  bool narrow = sizeOf(x.type) == 2;
  DType inner = narrow ? DType::F32 : x.type;
  Type element = e.typeOf(inner);
  Value zero = e.scalar(e.typeOf(x.type), 0.0);
  Value image = padSpace(e, c.value(0), windows->low, windows->high, zero);
  image = e.cast(image, x.type, inner);
  Value weights = e.cast(c.value(1), x.type, inner);
  Shape shape{x.shape[0], w.shape[0]};
  shape.append(windows->output);
  if (!countElements(shape))
    return c.invalid("a result of shape " + toString(shape));
  Value result;
  Value sum = e.scalar(element, 0.0);
  if (groups == 1 && kernel.size() <= 3) {
    result = e.convolve(image, weights, e.filled(shape, sum), windows->strides,
                        windows->dilations);
  } else {
    Shape apart = shape;
    apart[1] /= groups;
    apart.insert(apart.begin() + 1, groups);
    result =
        convolveGroups(e, splitGroups(e, image, 1, groups),
                       splitGroups(e, weights, 0, groups), e.filled(apart, sum),
                       windows->strides, windows->dilations, /*swapped=*/false);
    result = e.reshape(result, shape);
  }
  c.set(0, addBias(c, 2, e.cast(result, inner, x.type)), x.type);
  return success();
}

/// A convolution of the input spread apart by the strides, with the kernel
/// reversed.
static LogicalResult convTranspose(NodeContext &c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  int64_t groups = c.intAttr("group", 1);
  int64_t perGroup = w.rank() > 1 ? w.shape[1] : 0;
  if (groups <= 0 || groups > (1 << 20) || perGroup > (1 << 30) ||
      failed(checkConv(c, perGroup * groups)))
    return c.invalid(Twine(groups) + " groups");
  if (x.shape[1] != w.shape[0] || x.shape[1] % groups != 0)
    return c.invalid(Twine(groups) + " groups for an image " +
                     toString(x.shape) + " and a kernel " + toString(w.shape));
  size_t count = x.rank() - 2;
  SmallVector<int64_t> strides, dilations, low, high;
  SmallVector<int64_t> outputPadding(count, 0);
  if (failed(positiveList(c, "strides", count, strides)) ||
      failed(positiveList(c, "dilations", count, dilations)) ||
      failed(padsAttr(c, count, low, high)))
    return failure();
  if (std::optional<SmallVector<int64_t>> given = c.intsAttr("output_padding"))
    outputPadding = *given;
  if (c.stringAttr("auto_pad", "NOTSET") != "NOTSET" ||
      c.hasAttr("output_shape"))
    return c.unsupported("ConvTranspose with auto_pad or output_shape");
  if (outputPadding.size() != count)
    return c.invalid("output_padding " + toString(outputPadding));

  Emitter &e = c.emitter;
  DType inner = sizeOf(x.type) == 2 ? DType::F32 : x.type;
  Type element = e.typeOf(inner);
  Value zero = e.scalar(element, 0.0);
  Value image = e.cast(c.value(0), x.type, inner);
  Value weights = e.cast(c.value(1), x.type, inner);
  Shape shape{x.shape[0], perGroup * groups};
  for (size_t i = 0; i < count; ++i) {
    int64_t dim = 2 + i, size = x.shape[dim], kernel = w.shape[dim];
    int64_t extent = dilations[i] * (kernel - 1);
    int64_t length = (size - 1) * strides[i] + extent + 1 + outputPadding[i] -
                     low[i] - high[i];
    shape.push_back(length);
    if (size < 1 || kernel < 1 || kernel > (1 << 20) || outputPadding[i] < 0 ||
        outputPadding[i] > (1 << 20) || length < 1 || !countElements(shape))
      return c.invalid("an image " + toString(x.shape) + " and a kernel " +
                       toString(w.shape) + " give dimension " + Twine(length));
    if (strides[i] > 1) {
      // [h] to [h, 1] to [h, stride] to [h * stride], without the last zeros.
      Shape spread = shapeOf(image), merged = spread;
      spread.insert(spread.begin() + dim + 1, 1);
      SmallVector<int64_t> none(spread.size(), 0), after(spread.size(), 0);
      after[dim + 1] = strides[i] - 1;
      merged[dim] *= strides[i];
      if (!countElements(merged))
        return c.invalid("strides " + toString(strides));
      image =
          e.reshape(e.pad(e.reshape(image, spread), none, after, zero), merged);
      image = e.sliceDim(image, dim, 0, (size - 1) * strides[i] + 1);
    }
    // Padding of the transposed kind cuts from the full convolution.
    int64_t before = extent - low[i];
    int64_t behind = extent - high[i] + outputPadding[i];
    SmallVector<int64_t> padLow(x.rank(), 0), padHigh(x.rank(), 0);
    padLow[dim] = std::max<int64_t>(before, 0);
    padHigh[dim] = std::max<int64_t>(behind, 0);
    image = e.pad(image, padLow, padHigh, zero);
    int64_t cutLow = std::max<int64_t>(-before, 0);
    int64_t cutHigh = std::max<int64_t>(-behind, 0);
    image =
        e.sliceDim(image, dim, cutLow, shapeOf(image)[dim] - cutLow - cutHigh);
    SmallVector<int64_t> reversed;
    for (int64_t at = kernel - 1; at >= 0; --at)
      reversed.push_back(at);
    if (kernel > 1)
      weights = e.take(weights, dim, reversed);
  }
  Shape apart = shape;
  apart[1] = perGroup;
  apart.insert(apart.begin() + 1, groups);
  SmallVector<int64_t> ones(count, 1);
  Value result = convolveGroups(
      e, splitGroups(e, image, 1, groups), splitGroups(e, weights, 0, groups),
      e.filled(apart, zero), ones, dilations, /*swapped=*/true);
  result = e.cast(e.reshape(result, shape), inner, x.type);
  c.set(0, addBias(c, 2, result), x.type);
  return success();
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Resize
//===----------------------------------------------------------------------===//

/// Where position `at` of the result lies in the input.
static std::optional<double> originalPosition(StringRef mode, int64_t at,
                                              double scale, int64_t from,
                                              int64_t to) {
  if (mode == "half_pixel")
    return (at + 0.5) / scale - 0.5;
  if (mode == "pytorch_half_pixel")
    return to > 1 ? (at + 0.5) / scale - 0.5 : 0;
  if (mode == "align_corners")
    return to > 1 ? at * double(from - 1) / double(to - 1) : 0;
  if (mode == "asymmetric")
    return at / scale;
  if (mode == "half_pixel_symmetric") {
    double adjustment = to / (from * scale);
    return from / 2.0 * (1 - adjustment) + (at + 0.5) / scale - 0.5;
  }
  return std::nullopt;
}

/// The coefficients of `mode` around `position`, from `first` on.
static SmallVector<double> coefficients(StringRef mode, double position,
                                        double a, int64_t &first) {
  double base = std::floor(position), t = position - base;
  first = static_cast<int64_t>(base);
  if (mode == "linear")
    return {1 - t, t};
  // Keys, Cubic convolution interpolation for digital image processing (1981).
  --first;
  auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [&](double d) {
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

static LogicalResult resize(NodeContext &c) {
  const Tensor &x = c.in(0);
  int64_t rank = x.rank();
  StringRef mode = c.stringAttr("mode", "nearest");
  StringRef transform =
      c.stringAttr("coordinate_transformation_mode", "half_pixel");
  StringRef rounding = c.stringAttr("nearest_mode", "round_prefer_floor");
  double a = c.floatAttr("cubic_coeff_a", -0.75);
  bool excludes = c.intAttr("exclude_outside", 0) != 0;
  StringRef policy = c.stringAttr("keep_aspect_ratio_policy", "stretch");
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    return c.unsupported("Resize with mode '" + mode + "'");
  if (c.intAttr("antialias", 0) != 0)
    return c.unsupported("Resize with antialias");
  if (policy != "stretch")
    return c.unsupported("Resize with keep_aspect_ratio_policy '" + policy +
                         "'");
  SmallVector<int64_t> list;
  for (int64_t i = 0; i < rank; ++i)
    list.push_back(i);
  if (std::optional<SmallVector<int64_t>> given = c.intsAttr("axes"))
    list = *given;
  if (failed(c.axes(list, rank)))
    return failure();

  Shape result = x.shape;
  SmallVector<double> scales(rank, 1);
  auto known = [&](size_t i) {
    return c.has(i) && !c.in(i).shape.empty() && c.in(i).shape[0] > 0;
  };
  size_t source = known(3) ? 3 : 2;
  if (!known(source))
    return c.invalid("neither scales nor sizes");
  if (!c.in(source).known)
    return c.unsupported("Resize to a size computed at run time");
  const HostTensor &numbers = *c.in(source).known;
  if (numbers.size() != static_cast<int64_t>(list.size()))
    return c.invalid(Twine(numbers.size()) + " sizes or scales for " +
                     Twine(list.size()) + " axes");
  for (auto [i, entry] : llvm::enumerate(list)) {
    int64_t axis = *c.axis(entry, rank), size = x.shape[axis];
    double scale = source == 2 ? numbers.getFloat(i) : 0;
    double to = source == 2 ? std::floor(size * scale) : numbers.getFloat(i);
    if (!(to >= 1 && to < 1e6) || size < 1)
      return c.invalid("a dimension of " + Twine(size) + " becomes " +
                       std::to_string(to));
    result[axis] = static_cast<int64_t>(to);
    scales[axis] = source == 2 ? scale : to / size;
  }
  if (!countElements(result))
    return c.invalid("a result of shape " + toString(result));

  Emitter &e = c.emitter;
  Tensor value = x;
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t from = x.shape[axis], to = result[axis];
    if (from == to && scales[axis] == 1)
      continue;
    if (mode != "nearest" && !isFloat(x.type))
      return c.unsupported("Resize of type " + nameOf(x.type));
    if (to * from > (int64_t(1) << 28))
      return c.unsupported("Resize of a dimension from " + Twine(from) +
                           " to " + Twine(to));
    SmallVector<int64_t> positions;
    HostTensor weights(x.type, {mode == "nearest" ? 1 : to, from});
    for (int64_t at = 0; at < to; ++at) {
      std::optional<double> where =
          originalPosition(transform, at, scales[axis], from, to);
      if (!where)
        return c.unsupported("Resize with coordinate_transformation_mode '" +
                             transform + "'");
      auto clamp = [&](double position) {
        return std::clamp<int64_t>(static_cast<int64_t>(position), 0, from - 1);
      };
      if (mode == "nearest") {
        double rounded = rounding == "floor"  ? std::floor(*where)
                         : rounding == "ceil" ? std::ceil(*where)
                         : rounding == "round_prefer_ceil"
                             ? std::floor(*where + 0.5)
                             : std::ceil(*where - 0.5);
        positions.push_back(clamp(rounded));
        continue;
      }
      double position =
          mode == "linear" ? std::clamp(*where, 0.0, double(from - 1)) : *where;
      int64_t first;
      SmallVector<double> parts = coefficients(mode, position, a, first);
      double sum = 0;
      for (size_t i = 0; i < parts.size(); ++i) {
        int64_t tap = first + i;
        if (excludes && (tap < 0 || tap >= from))
          parts[i] = 0;
        sum += parts[i];
      }
      for (size_t i = 0; i < parts.size(); ++i) {
        int64_t at1 = at * from + clamp(double(first + int64_t(i)));
        weights.setFloat(at1, weights.getFloat(at1) + parts[i] / sum);
      }
    }
    if (mode == "nearest") {
      value = c.take(value, axis, positions);
      continue;
    }
    // Interpolation is linear: a product with a matrix known now.
    SmallVector<int64_t> labels, out;
    for (int64_t i = 0; i < rank; ++i) {
      labels.push_back(i);
      out.push_back(i == axis ? rank : i);
    }
    Value product = e.contract(c.valueOf(value), labels, e.constant(weights),
                               {rank, axis}, out);
    value = Tensor();
    value.type = x.type;
    value.shape = shapeOf(product);
    value.value = product;
  }
  c.set(0, value);
  return success();
}

void mlir::dist::frontend::addWindowConverters(ConverterTable &table) {
  table.add("Conv", 2, conv);
  table.add("ConvTranspose", 2, convTranspose);
  table.add("MaxPool", 1, maxPool);
  table.add("AveragePool", 1, averagePool);
  table.add("GlobalAveragePool", 1, globalPool<false>);
  table.add("GlobalMaxPool", 1, globalPool<true>);
  table.add("Resize", 1, resize);
}
