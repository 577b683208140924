//===- Convolution.cpp - Converters of convolutions -----------------------===//

#include "Window.h"

#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace mlir::dist::frontend;

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

void mlir::dist::frontend::addConvolutionConverters(ConverterTable &table) {
  table.add("Conv", 2, conv);
  table.add("ConvTranspose", 2, convTranspose);
}
