//===- TransposedConvolution.cpp - Convolutions by phases -----------------===//
//
// No zeros are inserted between the elements of the image. Results that are a
// stride apart, a phase, read with the same taps. They are the results of a
// plain convolution with every stride-th tap (Shi et al., "Real-Time Single
// Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional
// Neural Network", 2016).
//
// Neighbouring phases that read the same elements are features of one
// convolution. Others are convolutions of their own: a tap of zero instead
// would make NaN of an infinity that the result does not depend on. All phases
// read the same padded image, so devices that shard it exchange the rows that
// any phase needs only once.
//
// Columns that are summed into an image (Col2Im) contain the products already:
// phases only add.
//
//===----------------------------------------------------------------------===//

#include "Convolution.h"
#include "Window.h"
#include "frontends/bounds/Bounds.h"

#include "mlir/IR/TypeUtilities.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist::frontend;

namespace {
/// A transposed convolution: windows of the result, moved over its space.
struct TransposedWindows {
  SmallVector<int64_t> strides, dilations, low, high, outputPadding;
  int64_t groups = 1;
};

/// Neighbouring phases whose place q reads the image at q + first, and on in
/// steps of `step`, `reach` times; not at all if that is 0.
struct Phases {
  int64_t first = 0, step = 1, reach = 0, count = 0;
  /// Where the taps of the first one begin in the list of all, in the order of
  /// what they read.
  int64_t tap = 0;

  int64_t last() const { return first + (reach - 1) * step; }
  bool readsLike(const Phases &other) const {
    return first == other.first && step == other.step && reach == other.reach;
  }
};

/// A dimension of space of the result: its place q of phase r is q * stride +
/// r.
struct Dimension {
  int64_t length, stride, places;
  /// Zeros before and behind the image.
  int64_t low = 0, high = 0;
  SmallVector<Phases> phases = {};
  /// Taps of the kernel, by phase.
  SmallVector<int64_t> taps = {};
};

/// The convolutions that a transposed one is made of.
class PhaseConvolver {
public:
  PhaseConvolver(Emitter &e, Value image, ArrayRef<Dimension> dimensions,
                 int64_t groups, int64_t features)
      : e(e), image(image), dimensions(dimensions), groups(groups),
        features(features), isGrouped(groups > 1 || dimensions.size() > 3),
        zero(e.scalar(getElementTypeOrSelf(image), 0.0)) {}

  /// [n, features, phase..., place...], of a kernel [channels, features of a
  /// group, tap...].
  Value run(Value kernel);
  /// The same of products: the image is [n, features, tap..., space].
  Value sum();

private:
  /// Of a tensor with the taps from its third dimension on, those that phases
  /// use, in their order.
  Value takeTaps(Value value);
  Value joinPhases(Value result);
  Value visit(Value kernel, SmallVectorImpl<const Phases *> &chosen);
  Value convolve(Value kernel, ArrayRef<const Phases *> chosen);
  Value addUp(Value columns, ArrayRef<const Phases *> chosen);
  /// [n, features], where there are groups [n, groups, features of one].
  Shape getFront(int64_t count) const;

  Emitter &e;
  Value image;
  ArrayRef<Dimension> dimensions;
  int64_t groups, features;
  bool isGrouped, isSum = false;
  Value zero;
};
} // namespace

static int64_t floorDiv(int64_t a, int64_t b) {
  return (a - (a % b + b) % b) / b;
}

/// What the results at r + stride * q read of an image of `size` elements.
static Phases findReach(int64_t r, int64_t size, int64_t dilation,
                        int64_t extent, int64_t low, const Dimension &d) {
  Phases phase;
  phase.count = 1;
  // Tap r + low - element * stride, if that is one.
  int64_t at = r + low, common = std::gcd(d.stride, dilation);
  if (at - floorDiv(at, common) * common != 0)
    return phase;
  int64_t end = floorDiv(at, d.stride),
          first = -floorDiv(extent - at, d.stride);
  while ((at - first * d.stride) % dilation != 0)
    ++first;
  if (first > end)
    return phase;
  int64_t step = dilation / common, reach = (end - first) / step + 1;
  // Beyond the image all elements are zero.
  if (first >= size || first + (reach - 1) * step + d.places - 1 < 0)
    return phase;
  phase.first = first;
  phase.step = step;
  phase.reach = reach;
  return phase;
}

/// The phases of a dimension whose result begins `low` elements after the first
/// one that a tap reaches. False where there are too many to write down.
static bool splitPhases(int64_t size, int64_t dilation, int64_t taps,
                        int64_t low, Dimension &d) {
  int64_t extent = dilation * (taps - 1), most = extent / d.stride + 1;
  if (d.stride > (1 << 20) || most > (1 << 20) || d.stride * most > (1 << 24))
    return false;
  for (int64_t r = 0; r < d.stride; ++r) {
    Phases phase = findReach(r, size, dilation, extent, low, d);
    phase.tap = d.taps.size();
    for (int64_t i = 0; i < phase.reach; ++i)
      d.taps.push_back((r + low - (phase.first + i * phase.step) * d.stride) /
                       dilation);
    if (phase.reach > 0) {
      d.low = std::max(d.low, -phase.first);
      d.high = std::max(d.high, phase.last() + d.places - size);
    }
    if (!d.phases.empty() && d.phases.back().readsLike(phase))
      ++d.phases.back().count;
    else
      d.phases.push_back(phase);
  }
  return true;
}

Shape PhaseConvolver::getFront(int64_t count) const {
  Shape front{e.shapeOf(image)[0]};
  if (isGrouped)
    front.push_back(groups);
  front.push_back(count);
  return front;
}

Value PhaseConvolver::convolve(Value kernel, ArrayRef<const Phases *> chosen) {
  // [groups, channels, features, phase, tap, ...] to
  // [groups, features and phases, channels, tap...].
  Shape from = e.shapeOf(kernel), apart{groups, from[0] / groups, features};
  Shape places, window, phases;
  SmallVector<int64_t> order{0, 2}, steps, offsets;
  int64_t count = features;
  for (auto [i, phase] : llvm::enumerate(chosen)) {
    apart.append({phase->count, phase->reach});
    order.push_back(3 + 2 * i);
    count *= phase->count;
    phases.push_back(phase->count);
    window.push_back(phase->reach);
    places.push_back(dimensions[i].places);
    steps.push_back(phase->step);
    offsets.push_back(phase->first + dimensions[i].low);
  }
  order.push_back(1);
  for (size_t i = 0; i < chosen.size(); ++i)
    order.push_back(4 + 2 * i);
  Shape plain{count, apart[1]};
  if (isGrouped)
    plain.insert(plain.begin(), groups);
  plain.append(window);
  kernel = e.reshape(e.transpose(e.reshape(kernel, apart), order), plain);

  Shape sums = getFront(count), split = getFront(features);
  sums.append(places);
  split.append(phases);
  split.append(places);
  Value init = e.filled(sums, zero);
  SmallVector<int64_t> ones(chosen.size(), 1);
  bool isNamed =
      !isGrouped && llvm::all_of(offsets, [](int64_t n) { return n == 0; });
  Value result =
      isNamed ? e.convolve(image, kernel, init, ones, steps)
              : convolveWindows(e, image, kernel, init, ones, steps, offsets);
  return e.reshape(result, split);
}

Value PhaseConvolver::addUp(Value columns, ArrayRef<const Phases *> chosen) {
  // Loops: n, feature, phase..., place..., tap....
  MLIRContext *context = e.getBuilder().getContext();
  int64_t space = chosen.size(), loops = 2 + 3 * space;
  auto dim = [&](int64_t i) { return getAffineDimExpr(i, context); };
  Shape from = e.shapeOf(columns), apart{from[0], from[1]}, result = apart;
  SmallVector<AffineExpr> in{dim(0), dim(1)}, out;
  for (auto [i, phase] : llvm::enumerate(chosen)) {
    apart.append({phase->count, phase->reach});
    result.push_back(phase->count);
    in.append({dim(2 + i), dim(2 + 2 * space + i)});
  }
  for (auto [i, phase] : llvm::enumerate(chosen)) {
    apart.push_back(from[2 + space + i]);
    result.push_back(dimensions[i].places);
    in.push_back(dim(2 + space + i) + dim(2 + 2 * space + i) * phase->step +
                 (phase->first + dimensions[i].low));
  }
  for (int64_t i = 0; i < 2 + 2 * space; ++i)
    out.push_back(dim(i));
  return e.loops({e.reshape(columns, apart)},
                 {AffineMap::get(loops, 0, in, context)},
                 e.filled(result, zero), AffineMap::get(loops, 0, out, context),
                 [](LoopScalar &s, ArrayRef<Value> args, Value sum) {
                   return s.add(sum, args[0]);
                 });
}

/// The phases of the dimensions that `chosen` does not have, of those it has
/// the chosen ones.
Value PhaseConvolver::visit(Value kernel,
                            SmallVectorImpl<const Phases *> &chosen) {
  size_t i = chosen.size();
  if (i == dimensions.size())
    return isSum ? addUp(kernel, chosen) : convolve(kernel, chosen);
  SmallVector<Value> parts;
  for (const Phases &phases : dimensions[i].phases) {
    chosen.push_back(&phases);
    if (phases.reach > 0) {
      Value taps =
          e.sliceDim(kernel, 2 + i, phases.tap, phases.count * phases.reach);
      parts.push_back(visit(taps, chosen));
    } else {
      Shape shape = getFront(features);
      for (auto [k, dimension] : llvm::enumerate(dimensions))
        shape.push_back(k <= i ? chosen[k]->count : dimension.stride);
      for (const Dimension &dimension : dimensions)
        shape.push_back(dimension.places);
      parts.push_back(e.filled(shape, zero));
    }
    chosen.pop_back();
  }
  return e.concat(parts, (isGrouped ? 3 : 2) + i);
}

Value PhaseConvolver::takeTaps(Value value) {
  // One that no phase reads of is not there either.
  for (auto [i, dimension] : llvm::enumerate(dimensions))
    if (!dimension.taps.empty())
      value = e.take(value, 2 + i, dimension.taps);
  return value;
}

Value PhaseConvolver::joinPhases(Value result) {
  Shape shape{e.shapeOf(image)[0], groups * features};
  for (const Dimension &dimension : dimensions)
    shape.push_back(dimension.stride);
  for (const Dimension &dimension : dimensions)
    shape.push_back(dimension.places);
  return e.reshape(result, shape);
}

Value PhaseConvolver::run(Value kernel) {
  kernel = takeTaps(kernel);
  Shape low(isGrouped ? 3 : 2, 0), high = low;
  for (const Dimension &dimension : dimensions) {
    low.push_back(dimension.low);
    high.push_back(dimension.high);
  }
  // All at once, and after it is split: windows then read what is padded.
  if (isGrouped)
    image = splitGroups(e, image, 1, groups);
  image = e.pad(image, low, high, zero);
  SmallVector<const Phases *> chosen;
  return joinPhases(visit(kernel, chosen));
}

Value PhaseConvolver::sum() {
  isSum = true;
  isGrouped = false;
  Shape low(2 + dimensions.size(), 0), high = low;
  for (const Dimension &dimension : dimensions) {
    low.push_back(dimension.low);
    high.push_back(dimension.high);
  }
  Value columns = e.pad(takeTaps(image), low, high, zero);
  SmallVector<const Phases *> chosen;
  return joinPhases(visit(columns, chosen));
}

/// The dimensions of the result, or a message.
static FailureOr<SmallVector<Dimension>>
findDimensions(NodeContext &c, ArrayRef<int64_t> from, ArrayRef<int64_t> window,
               const TransposedWindows &w) {
  SmallVector<Dimension> dimensions;
  Shape shape{from[0], window[1] * w.groups};
  int64_t phases = window[1], convolutions = 1;
  for (size_t i = 0; i < w.strides.size(); ++i) {
    int64_t size = from[2 + i], taps = window[2 + i];
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
    // Of one element there is no next one.
    int64_t stride = size == 1 ? 1 : w.strides[i];
    Dimension d{length, stride,
                static_cast<int64_t>(llvm::divideCeil(length, stride))};
    bool isSplit = phases <= (1 << 28) &&
                   splitPhases(size, w.dilations[i], taps, w.low[i], d);
    phases *= stride;
    convolutions *= d.phases.size();
    if (!isSplit || convolutions > kMostConvolutions) {
      (void)c.unsupported("a kernel of " + Twine(taps) + " taps, " +
                          Twine(w.dilations[i]) + " apart, with strides of " +
                          Twine(w.strides[i]));
      return failure();
    }
    dimensions.push_back(std::move(d));
  }
  return dimensions;
}

/// [n, features, phase..., place...] to [n, features, space].
static Value joinPlaces(Emitter &e, Value result,
                        ArrayRef<Dimension> dimensions) {
  int64_t space = dimensions.size();
  SmallVector<int64_t> order{0, 1};
  Shape shape = e.shapeOf(result), merged{shape[0], shape[1]};
  for (auto [i, d] : llvm::enumerate(dimensions)) {
    order.append(
        {2 + space + static_cast<int64_t>(i), 2 + static_cast<int64_t>(i)});
    merged.push_back(d.places * d.stride);
  }
  result = e.reshape(e.transpose(result, order), merged);
  for (auto [i, d] : llvm::enumerate(dimensions))
    result = e.sliceDim(result, 2 + i, 0, d.length);
  return result;
}

/// A transposed convolution of `image` [n, channels, space] with the kernel
/// [channels, features of a group, window].
static FailureOr<Value> transposedConvolution(NodeContext &c, Value image,
                                              Value kernel,
                                              const TransposedWindows &w) {
  Emitter &e = c.emitter;
  Shape from = e.shapeOf(image), window = e.shapeOf(kernel);
  FailureOr<SmallVector<Dimension>> dimensions =
      findDimensions(c, from, window, w);
  if (failed(dimensions))
    return failure();
  Value result =
      PhaseConvolver(e, image, *dimensions, w.groups, window[1]).run(kernel);
  return joinPlaces(e, result, *dimensions);
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
      failed(checkConvolution(c, perGroup * groups)))
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

/// Sums columns [n, channels * window, positions] into an image.
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
  Emitter &e = c.emitter;
  int64_t channels = x.shape[1] / *taps;
  Shape window{1, channels}, columns{x.shape[0], channels};
  window.append(block->begin(), block->end());
  columns.append(block->begin(), block->end());
  columns.append(positions.begin(), positions.end());
  FailureOr<SmallVector<Dimension>> dimensions =
      findDimensions(c, space, window, windows);
  if (failed(dimensions))
    return failure();
  Value result = PhaseConvolver(e, e.reshape(c.value(0), columns), *dimensions,
                                /*groups=*/1, channels)
                     .sum();
  c.set(0, joinPlaces(e, result, *dimensions), x.type);
  return success();
}

void mlir::dist::frontend::addTransposedConvolutionConverters(
    ConverterTable &table) {
  table.add("ConvTranspose", 2, convTranspose);
  table.add("Col2Im", 3, col2im);
}
