//===- Convolution.cpp - Converters of convolutions -----------------------===//

#include "Window.h"

#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace mlir::dist::frontend;

static Value addBias(NodeContext &c, size_t i, Value value) {
  if (!c.has(i))
    return value;
  Shape shape = c.emitter.shapeOf(value), channels(shape.size(), 1);
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
  Shape shape = e.shapeOf(value);
  shape[dim] /= groups;
  shape.insert(shape.begin() + dim, groups);
  return e.reshape(value, shape);
}

static LogicalResult conv(NodeContext &c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  int64_t groups = c.intAttr("group", 1);
  if (failed(checkConv(c, w.shape.empty() ? 0 : w.shape[0])))
    return failure();
  if (isOpen(x.shape[1]) || hasOpen(w.shape)) {
    SmallVector<int64_t> needed(w.shape);
    needed.push_back(x.shape[1]);
    return c.open("Conv of " + c.sizes().toString(x.shape) + " with " +
                      c.sizes().toString(w.shape),
                  needed);
  }
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
  if (!c.isPossible(shape))
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

namespace {
/// A transposed convolution: windows of the result, moved over its space.
struct TransposedWindows {
  SmallVector<int64_t> strides, dilations, low, high, outputPadding;
  int64_t groups = 1;
};
} // namespace

/// `value` with `stride` - 1 zeros between neighbours along `dim`: [h] to [h,
/// 1] to [h, stride] to [h * stride], without the last zeros.
static Value spreadApart(Emitter &e, Value value, int64_t dim, int64_t stride,
                         Value zero) {
  int64_t size = e.shapeOf(value)[dim];
  if (stride == 1)
    return value;
  Shape spread = e.shapeOf(value), merged = spread;
  spread.insert(spread.begin() + dim + 1, 1);
  SmallVector<int64_t> none(spread.size(), 0), after(spread.size(), 0);
  after[dim + 1] = stride - 1;
  merged[dim] *= stride;
  value = e.pad(e.reshape(value, spread), none, after, zero);
  return e.sliceDim(e.reshape(value, merged), dim, 0, (size - 1) * stride + 1);
}

/// A convolution of `image` [n, channels, space] spread apart by the strides,
/// with the kernel [channels, features of a group, window] reversed.
static FailureOr<Value> transposedConvolution(NodeContext &c, Value image,
                                              Value kernel,
                                              const TransposedWindows &w) {
  Emitter &e = c.emitter;
  Shape from = e.shapeOf(image), window = e.shapeOf(kernel);
  Type element = cast<RankedTensorType>(image.getType()).getElementType();
  Value zero = e.scalar(element, 0.0);
  Shape shape{from[0], window[1] * w.groups};
  for (size_t i = 0; i < w.strides.size(); ++i) {
    int64_t dim = 2 + i, size = from[dim], taps = window[dim];
    int64_t extent = w.dilations[i] * (taps - 1), more = w.outputPadding[i];
    int64_t length =
        (size - 1) * w.strides[i] + extent + 1 + more - w.low[i] - w.high[i];
    shape.push_back(length);
    if (size < 1 || taps < 1 || taps > (1 << 20) || more < 0 ||
        more > (1 << 20) || length < 1 || !countElements(shape) ||
        !countElements({size, w.strides[i]})) {
      (void)c.invalid("an image " + toString(from) + " and a kernel " +
                      toString(window) + " give dimension " + Twine(length));
      return failure();
    }
    image = spreadApart(e, image, dim, w.strides[i], zero);
    // Padding of the transposed kind cuts from the full convolution.
    int64_t before = extent - w.low[i], behind = extent - w.high[i] + more;
    SmallVector<int64_t> low(from.size(), 0), high(from.size(), 0);
    low[dim] = std::max<int64_t>(before, 0);
    high[dim] = std::max<int64_t>(behind, 0);
    image = e.pad(image, low, high, zero);
    int64_t cutLow = std::max<int64_t>(-before, 0);
    int64_t cutHigh = std::max<int64_t>(-behind, 0);
    image = e.sliceDim(image, dim, cutLow,
                       e.shapeOf(image)[dim] - cutLow - cutHigh);
    SmallVector<int64_t> reversed;
    for (int64_t at = taps - 1; at >= 0; --at)
      reversed.push_back(at);
    if (taps > 1)
      kernel = e.take(kernel, dim, reversed);
  }
  Shape apart = shape;
  apart[1] = window[1];
  apart.insert(apart.begin() + 1, w.groups);
  SmallVector<int64_t> ones(w.strides.size(), 1);
  Value result =
      convolveGroups(e, splitGroups(e, image, 1, w.groups),
                     splitGroups(e, kernel, 0, w.groups), e.filled(apart, zero),
                     ones, w.dilations, /*swapped=*/true);
  return e.reshape(result, shape);
}

/// Padding that gives the result `output_shape`, or `auto_pad` the input's size
/// times the stride.
static LogicalResult padToSize(NodeContext &c, StringRef automatic,
                               TransposedWindows &w) {
  const Tensor &x = c.in(0), &kernel = c.in(1);
  size_t count = w.strides.size();
  std::optional<SmallVector<int64_t>> wanted = c.intsAttr("output_shape");
  if (wanted && wanted->size() == count + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (wanted && wanted->size() != count)
    return c.invalid("output_shape " + toString(*wanted) + " for " +
                     Twine(count) + " dimensions");
  for (size_t i = 0; i < count; ++i) {
    int64_t size = x.shape[2 + i];
    int64_t full = (size - 1) * w.strides[i] +
                   w.dilations[i] * (kernel.shape[2 + i] - 1) + 1 +
                   w.outputPadding[i];
    int64_t total = full - (wanted ? (*wanted)[i] : size * w.strides[i]);
    // A result larger than the full one ends in zeros.
    if (total < 0) {
      w.outputPadding[i] -= total;
      total = 0;
    }
    w.low[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.high[i] = total - w.low[i];
  }
  return success();
}

static LogicalResult convTranspose(NodeContext &c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  TransposedWindows windows;
  windows.groups = c.intAttr("group", 1);
  int64_t groups = windows.groups, perGroup = w.rank() > 1 ? w.shape[1] : 0;
  if (groups <= 0 || groups > (1 << 20) || perGroup > (1 << 30) ||
      failed(checkConv(c, perGroup * groups)))
    return c.invalid(Twine(groups) + " groups");
  if (x.shape[1] != w.shape[0] || x.shape[1] % groups != 0)
    return c.invalid(Twine(groups) + " groups for an image " +
                     toString(x.shape) + " and a kernel " + toString(w.shape));
  size_t count = x.rank() - 2;
  windows.outputPadding.assign(count, 0);
  if (failed(positiveList(c, "strides", count, windows.strides)) ||
      failed(positiveList(c, "dilations", count, windows.dilations)) ||
      failed(padsAttr(c, count, windows.low, windows.high)))
    return failure();
  if (std::optional<SmallVector<int64_t>> given = c.intsAttr("output_padding"))
    windows.outputPadding = *given;
  if (windows.outputPadding.size() != count)
    return c.invalid("output_padding " + toString(windows.outputPadding));
  StringRef automatic = c.stringAttr("auto_pad", "NOTSET");
  if (automatic == "VALID") {
    windows.low.assign(count, 0);
    windows.high.assign(count, 0);
  } else if (automatic != "NOTSET" && automatic != "SAME_UPPER" &&
             automatic != "SAME_LOWER") {
    return c.unsupported("auto_pad '" + automatic + "'");
  }
  if ((automatic.starts_with("SAME") || c.hasAttr("output_shape")) &&
      failed(padToSize(c, automatic, windows)))
    return failure();

  Emitter &e = c.emitter;
  DType inner = sizeOf(x.type) == 2 ? DType::F32 : x.type;
  FailureOr<Value> result =
      transposedConvolution(c, e.cast(c.value(0), x.type, inner),
                            e.cast(c.value(1), x.type, inner), windows);
  if (failed(result))
    return failure();
  c.set(0, addBias(c, 2, e.cast(*result, inner, x.type)), x.type);
  return success();
}

/// Sums columns [n, channels * window, positions] into an image: a transposed
/// convolution whose kernel picks one place of the window a column.
static LogicalResult col2im(NodeContext &c) {
  const Tensor &x = c.in(0);
  std::optional<SmallVector<int64_t>> image = c.ints(1), block = c.ints(2);
  if (!image || !block)
    return c.unsupported("Col2Im of sizes computed at run time");
  size_t count = image->size();
  TransposedWindows windows;
  windows.outputPadding.assign(count, 0);
  if (failed(positiveList(c, "strides", count, windows.strides)) ||
      failed(positiveList(c, "dilations", count, windows.dilations)) ||
      failed(padsAttr(c, count, windows.low, windows.high)))
    return failure();
  std::optional<int64_t> taps = countElements(*block);
  Shape space{x.shape.empty() ? 0 : x.shape[0], x.rank() > 1 ? x.shape[1] : 0};
  bool fits = x.rank() == 3 && block->size() == count && count > 0 && taps &&
              *taps > 0 && *taps <= 4096 && x.shape[1] % *taps == 0 &&
              isFloat(x.type);
  for (size_t i = 0; fits && i < count; ++i) {
    int64_t room = (*image)[i] + windows.low[i] + windows.high[i] -
                   windows.dilations[i] * ((*block)[i] - 1) - 1;
    fits = room >= 0;
    space.push_back(room / windows.strides[i] + 1);
    // What no window reaches stays zero.
    windows.outputPadding[i] = room % windows.strides[i];
  }
  ArrayRef<int64_t> positions = ArrayRef<int64_t>(space).drop_front(2);
  if (!fits || countElements(positions) != x.shape[2])
    return c.invalid("columns " + toString(x.shape) + " of blocks " +
                     toString(*block) + " for an image " + toString(*image));
  windows.groups = x.shape[1] / *taps;
  Shape kernelShape{x.shape[1], 1};
  kernelShape.append(block->begin(), block->end());
  HostTensor kernel(x.type, kernelShape);
  for (int64_t i = 0; i < x.shape[1]; ++i)
    kernel.setInt(i * *taps + i % *taps, 1);
  Emitter &e = c.emitter;
  FailureOr<Value> result = transposedConvolution(
      c, e.reshape(c.value(0), space), e.constant(kernel), windows);
  if (failed(result))
    return failure();
  c.set(0, *result, x.type);
  return success();
}

void mlir::dist::frontend::addConvolutionConverters(ConverterTable &table) {
  table.add("Conv", 2, conv);
  table.add("ConvTranspose", 2, convTranspose);
  table.add("Col2Im", 3, col2im);
  table.takeOpenSizes({"Conv"});
}
