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
/// [groups, features, channels, window].
static Value convolveGroups(Emitter &e, Value image, Value kernel, Value init,
                            ArrayRef<int64_t> strides,
                            ArrayRef<int64_t> dilations) {
  MLIRContext *context = e.getBuilder().getContext();
  int64_t space = strides.size(), loops = 4 + 2 * space;
  // Loops: n, group, feature, space…, channel, window….
  auto dim = [&](int64_t i) { return getAffineDimExpr(i, context); };
  SmallVector<AffineExpr> in{dim(0), dim(1), dim(3 + space)};
  SmallVector<AffineExpr> weights{dim(1), dim(2), dim(3 + space)};
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
  bool isPlain = groups == 1 && kernel.size() <= 3;
  // Split before it is padded, so that what windows read is what is padded.
  Value image = isPlain ? c.value(0) : splitGroups(e, c.value(0), 1, groups);
  SmallVector<int64_t> low(isPlain ? 2 : 3, 0), high = low;
  low.append(windows->low);
  high.append(windows->high);
  image = e.cast(e.pad(image, low, high, zero), x.type, inner);
  Value weights = e.cast(c.value(1), x.type, inner);
  Shape shape{x.shape[0], w.shape[0]};
  shape.append(windows->output);
  if (!c.isPossible(shape))
    return c.invalid("a result of shape " + toString(shape));
  Value result;
  Value sum = e.scalar(element, 0.0);
  if (isPlain) {
    result = e.convolve(image, weights, e.filled(shape, sum), windows->strides,
                        windows->dilations);
  } else {
    Shape apart = shape;
    apart[1] /= groups;
    apart.insert(apart.begin() + 1, groups);
    result = convolveGroups(e, image, splitGroups(e, weights, 0, groups),
                            e.filled(apart, sum), windows->strides,
                            windows->dilations);
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

namespace {
/// One dimension of a transposed convolution as a plain one: its results q *
/// phases + r, for each phase r, read the image from q + first on, `reach` of
/// its elements, through every phases-th tap of the kernel.
struct Phases {
  int64_t phases, first, reach;
  /// Which tap each phase reads each element through, by phase; their number
  /// where it reads none.
  SmallVector<int64_t> taps;
};
} // namespace

/// The phases of a dimension with `size` elements and `taps` taps whose result
/// begins `low` elements after the first that a tap reaches.
static Phases splitPhases(int64_t size, int64_t stride, int64_t dilation,
                          int64_t taps, int64_t low) {
  auto floorDiv = [](int64_t a, int64_t b) {
    return (a - (a % b + b) % b) / b;
  };
  // Of one element there is no next one.
  int64_t s = size == 1 ? 1 : stride, extent = dilation * (taps - 1);
  Phases out{s, -floorDiv(extent - low, s), 0, {}};
  int64_t last = floorDiv(s - 1 + low, s);
  out.reach = last - out.first + 1;
  if (out.reach > (1 << 20) || s > (1 << 20) || s * out.reach > (1 << 24))
    return out;
  for (int64_t r = 0; r < s; ++r)
    for (int64_t d = out.first; d <= last; ++d) {
      int64_t at = r + low - d * s;
      bool isTap = at >= 0 && at <= extent && at % dilation == 0;
      out.taps.push_back(isTap ? at / dilation : taps);
    }
  return out;
}

/// A transposed convolution of `image` [n, channels, space] with the kernel
/// [channels, features of a group, window]. No zeros are put between elements:
/// results that are a stride apart read with the same taps, so they are those
/// of one plain convolution, with a feature for each phase (Shi et al. 2016).
/// Its kernel is zero where a phase does not read what another one does.
static FailureOr<Value> transposedConvolution(NodeContext &c, Value image,
                                              Value kernel,
                                              const TransposedWindows &w) {
  Emitter &e = c.emitter;
  Shape from = e.shapeOf(image), window = e.shapeOf(kernel);
  Type element = cast<RankedTensorType>(image.getType()).getElementType();
  Value zero = e.scalar(element, 0.0);
  int64_t space = w.strides.size(), groups = w.groups;
  Shape shape{from[0], window[1] * groups};
  bool isPlain = groups == 1 && space <= 3;
  SmallVector<Phases> all;
  SmallVector<int64_t> low(isPlain ? 2 : 3, 0), high = low;
  // Features and phases of a group, and the places that a phase has.
  int64_t features = window[1];
  Shape places;
  for (int64_t i = 0; i < space; ++i) {
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
    Phases phases =
        splitPhases(size, w.strides[i], w.dilations[i], taps, w.low[i]);
    if (phases.taps.empty() || features > (1 << 28)) {
      (void)c.unsupported("a kernel of " + Twine(taps) + " taps, " +
                          Twine(w.dilations[i]) + " apart, with strides of " +
                          Twine(w.strides[i]));
      return failure();
    }
    features *= phases.phases;
    places.push_back(llvm::divideCeil(length, phases.phases));
    // What is read of the image: zeros around it, or less than all.
    int64_t before = -phases.first;
    int64_t behind = places.back() + phases.reach - 1 - size - before;
    int64_t cutLow = std::max<int64_t>(-before, 0);
    int64_t cutHigh = std::max<int64_t>(-behind, 0);
    if (cutLow + cutHigh >= size) {
      // No tap reaches the image: all is zero, of one element as of many.
      cutLow = 0;
      cutHigh = size - 1;
      phases.taps.assign(phases.taps.size(), taps);
      before = 0;
      behind = places.back() + phases.reach - 2;
    }
    image = e.sliceDim(image, dim, cutLow, size - cutLow - cutHigh);
    low.push_back(std::max<int64_t>(before, 0));
    high.push_back(std::max<int64_t>(behind, 0));
    if (llvm::is_contained(phases.taps, taps)) {
      SmallVector<int64_t> none(from.size(), 0), one = none;
      one[dim] = 1;
      kernel = e.pad(kernel, none, one, zero);
    }
    kernel = e.take(kernel, dim, phases.taps);
    all.push_back(std::move(phases));
  }
  // [groups, channels, features, phase, taps, …] to
  // [groups, features and phases, channels, taps…].
  Shape apart{groups, window[0] / groups, window[1]};
  SmallVector<int64_t> order{0, 2};
  for (int64_t i = 0; i < space; ++i) {
    apart.append({all[i].phases, all[i].reach});
    order.push_back(3 + 2 * i);
  }
  order.push_back(1);
  Shape plain{groups, features, window[0] / groups};
  for (int64_t i = 0; i < space; ++i) {
    order.push_back(4 + 2 * i);
    plain.push_back(all[i].reach);
  }
  kernel = e.reshape(e.transpose(e.reshape(kernel, apart), order), plain);
  // All at once, and after it is split: windows then read what is padded.
  if (!isPlain)
    image = splitGroups(e, image, 1, groups);
  image = e.pad(image, low, high, zero);
  SmallVector<int64_t> ones(space, 1);
  Value result;
  if (isPlain) {
    Shape sums{from[0], features};
    sums.append(places);
    result = e.convolve(image, e.reshape(kernel, ArrayRef(plain).drop_front()),
                        e.filled(sums, zero), ones, ones);
  } else {
    Shape sums{from[0], groups, features};
    sums.append(places);
    result = convolveGroups(e, image, kernel, e.filled(sums, zero), ones, ones);
  }
  // [n, features, phases…, places…] to [n, features, place, phase, …].
  Shape split{from[0], window[1] * groups}, merged = split;
  for (int64_t i = 0; i < space; ++i)
    split.push_back(all[i].phases);
  split.append(places);
  order = {0, 1};
  for (int64_t i = 0; i < space; ++i) {
    order.append({2 + space + i, 2 + i});
    merged.push_back(places[i] * all[i].phases);
  }
  result = e.reshape(e.transpose(e.reshape(result, split), order), merged);
  for (int64_t i = 0; i < space; ++i)
    result = e.sliceDim(result, 2 + i, 0, shape[2 + i]);
  return result;
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
  if (std::optional<SmallVector<int64_t>> given = c.intsAttr("kernel_shape"))
    if (ArrayRef<int64_t>(*given) != ArrayRef<int64_t>(w.shape).drop_front(2))
      return c.invalid("kernel_shape " + toString(*given) +
                       " for a kernel of shape " + toString(w.shape));
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
