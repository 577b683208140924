//===- Resize.cpp - Converter of Resize -----------------------------------===//

#include "Converter.h"
#include "frontends/bounds/Bounds.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::dist::frontend;

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

namespace {
/// The attributes of a Resize, and the sizes that it asks for.
struct Target {
  StringRef mode, transform, rounding;
  double cubic = 0;
  bool excludesOutside = false;
  Shape shape;
  SmallVector<double> scales;
};

/// How a dimension of `from` becomes one of `to`.
struct Line {
  int64_t from, to;
  double scale;

  int64_t clamp(double position) const {
    return std::clamp<int64_t>(static_cast<int64_t>(position), 0, from - 1);
  }
};
} // namespace

static LogicalResult readAttributes(NodeContext &c, Target &target) {
  target.mode = c.stringAttr("mode", "nearest");
  target.transform =
      c.stringAttr("coordinate_transformation_mode", "half_pixel");
  target.rounding = c.stringAttr("nearest_mode", "round_prefer_floor");
  target.cubic = c.floatAttr("cubic_coeff_a", -0.75);
  target.excludesOutside = c.boolAttr("exclude_outside", false);
  StringRef policy = c.stringAttr("keep_aspect_ratio_policy", "stretch");
  if (target.mode != "nearest" && target.mode != "linear" &&
      target.mode != "cubic")
    return c.unsupported("Resize with mode '" + target.mode + "'");
  if (target.rounding != "round_prefer_floor" &&
      target.rounding != "round_prefer_ceil" && target.rounding != "floor" &&
      target.rounding != "ceil")
    return c.unsupported("Resize with nearest_mode '" + target.rounding + "'");
  if (c.boolAttr("antialias", false))
    return c.unsupported("Resize with antialias");
  if (policy != "stretch")
    return c.unsupported("Resize with keep_aspect_ratio_policy '" + policy +
                         "'");
  if (!originalPosition(target.transform, 0, 1, 1, 1))
    return c.unsupported("Resize with coordinate_transformation_mode '" +
                         target.transform + "'");
  return success();
}

/// Sizes (input 3) or scales (input 2) of all axes, or of those in `axes`.
static LogicalResult readSizes(NodeContext &c, Target &target) {
  const Tensor &x = c.in(0);
  int64_t rank = x.rank();
  SmallVector<int64_t> list;
  for (int64_t i = 0; i < rank; ++i)
    list.push_back(i);
  if (std::optional<SmallVector<int64_t>> given = c.intsAttr("axes"))
    list = *given;
  if (failed(c.axes(list, rank)))
    return failure();
  target.shape = x.shape;
  target.scales.assign(rank, 1);
  auto given = [&](size_t i) {
    return c.has(i) && !c.in(i).shape.empty() && c.in(i).shape[0] > 0;
  };
  bool hasScales = given(2), hasSizes = given(3);
  if (hasScales && hasSizes)
    return c.invalid("both scales and sizes");
  size_t source = hasSizes ? 3 : 2;
  if (!hasScales && !hasSizes)
    return c.invalid("neither scales nor sizes");
  if (!c.data(source))
    return c.unsupported("Resize to a size computed at run time");
  const HostTensor &numbers = *c.data(source);
  if (numbers.size() != static_cast<int64_t>(list.size()))
    return c.invalid(Twine(numbers.size()) + " sizes or scales for " +
                     Twine(list.size()) + " axes");
  for (auto [i, entry] : llvm::enumerate(list)) {
    int64_t axis = *c.axis(entry, rank), size = x.shape[axis];
    double number = numbers.getFloat(i);
    double to = source == 2 ? std::floor(size * number) : number;
    if (!(to >= 1 && to < 1e6) || size < 1)
      return c.invalid("a dimension of " + Twine(size) + " becomes " +
                       std::to_string(to));
    target.shape[axis] = static_cast<int64_t>(to);
    target.scales[axis] = source == 2 ? number : to / size;
  }
  if (!countElements(target.shape))
    return c.invalid("a result of shape " + toString(target.shape));
  return success();
}

/// The nearest position of the input for each one of the result.
static SmallVector<int64_t> nearestPositions(const Target &target,
                                             const Line &line) {
  SmallVector<int64_t> positions;
  for (int64_t at = 0; at < line.to; ++at) {
    double where =
        *originalPosition(target.transform, at, line.scale, line.from, line.to);
    double rounded = target.rounding == "floor"  ? std::floor(where)
                     : target.rounding == "ceil" ? std::ceil(where)
                     : target.rounding == "round_prefer_ceil"
                         ? std::floor(where + 0.5)
                         : std::ceil(where - 0.5);
    positions.push_back(line.clamp(rounded));
  }
  return positions;
}

namespace {
/// Which elements of a line count for each one of the result, and how much.
/// Those that do not count have a weight of zero.
struct Taps {
  int64_t count; // for a result
  SmallVector<int64_t> positions;
  SmallVector<double> weights;
};
} // namespace

static Taps interpolation(const Target &target, const Line &line) {
  Taps taps;
  for (int64_t at = 0; at < line.to; ++at) {
    double position =
        *originalPosition(target.transform, at, line.scale, line.from, line.to);
    if (target.mode == "linear")
      position = std::clamp(position, 0.0, double(line.from - 1));
    int64_t first;
    SmallVector<double> parts =
        coefficients(target.mode, position, target.cubic, first);
    double sum = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      int64_t tap = first + i;
      if (target.excludesOutside && (tap < 0 || tap >= line.from))
        parts[i] = 0;
      sum += parts[i];
    }
    taps.count = parts.size();
    for (size_t i = 0; i < parts.size(); ++i) {
      int64_t tap = line.clamp(double(first + int64_t(i)));
      // At the ends one element may stand for several.
      auto here = ArrayRef(taps.positions).take_back(i);
      size_t known = llvm::find(here, tap) - here.begin();
      taps.positions.push_back(tap);
      taps.weights.push_back(0);
      taps.weights[taps.weights.size() - 1 - i + known] += parts[i] / sum;
    }
  }
  return taps;
}

/// If both sizes are multiples of `count`, a resize is periodic: the results q
/// * to + r, with r < to, depend on the elements around q * from. Otherwise it
/// is nearly so (choosePeriod).
struct Period {
  explicit Period(const Line &line)
      : count(std::gcd(line.from, line.to)), from(line.from / count),
        to(line.to / count) {}
  int64_t count, from, to;
  /// Results of the first period that are cut off.
  int64_t lead = 0;
};

/// Splits `dim` of `value` into periods, or puts them together again.
static Value splitPeriods(Emitter &e, Value value, int64_t dim, int64_t size) {
  Shape shape = e.shapeOf(value);
  shape[dim] /= size;
  shape.insert(shape.begin() + dim + 1, size);
  return e.reshape(value, shape);
}
static Value joinPeriods(Emitter &e, Value value, int64_t dim) {
  Shape shape = e.shapeOf(value);
  shape[dim] *= shape[dim + 1];
  shape.erase(shape.begin() + dim + 1);
  return e.reshape(value, shape);
}

/// Takes the nearest positions; where each period takes its own elements alone,
/// and all of them the same ones, only within periods.
static Tensor takeNearest(NodeContext &c, Tensor value, int64_t axis,
                          const Line &line, ArrayRef<int64_t> positions) {
  Period period(line);
  for (auto [i, position] : llvm::enumerate(positions)) {
    int64_t q = i / period.to, first = positions[i % period.to];
    if (first >= period.from || position != q * period.from + first)
      return c.take(value, axis, positions);
  }
  Emitter &e = c.emitter;
  Value apart = splitPeriods(e, c.valueOf(value), axis, period.from);
  ArrayRef<int64_t> own = positions.take_front(period.to);
  apart = period.from == 1 ? e.tile(apart, axis + 1, period.to)
                           : e.take(apart, axis + 1, own);
  Tensor result;
  result.type = value.type;
  result.value = joinPeriods(e, apart, axis);
  result.shape = e.shapeOf(result.value);
  return result;
}

namespace {
/// The elements around its own that a period reads: from the first offset on.
struct Reach {
  int64_t first, size;
};
} // namespace

static Reach findReach(const Taps &taps, const Period &period) {
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (auto [i, position] : llvm::enumerate(taps.positions)) {
    if (taps.weights[i] == 0)
      continue;
    int64_t q = (int64_t(i) / taps.count + period.lead) / period.to;
    int64_t offset = position - q * period.from;
    first = std::min(first, offset);
    last = std::max(last, offset);
  }
  return {first, last - first + 1};
}

/// What does not count may be infinite.
static Value countedAlone(Scalar &s, Value weight, Value product) {
  Value zero = s.constant(product.getType(), 0);
  return s.select(s.compare(Compare::EQ, weight, zero), zero, product);
}

/// If sizes have no common divisor, or one that is too small: parts that are
/// nearly periods. Each begins a whole number of elements after the one before.
/// So the elements that they read drift away from their own, by as many as the
/// last part begins too early or late. Longer parts drift less, but each reads
/// more, and devices' blocks of periods are further away from those of the
/// results. Excess results are cut off in a way that placement sees no blocks
/// in it.
static Period choosePeriod(const Taps &taps, const Line &line) {
  Period exact(line);
  if ((exact.count > 1 && findReach(taps, exact).size <= kMostReach) ||
      line.to < 2)
    return exact;
  double step = double(taps.positions.back() - taps.positions.front()) /
                double(line.to - 1);
  auto estimate = [&](const Period &period) {
    double drift = std::abs(double(period.from) / period.to - step) * line.to;
    return period.from + period.to + drift;
  };
  Period nearly = exact;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t to = 1; to < std::min(line.to, kLongestPeriod); ++to) {
    Period period(line);
    period.to = to;
    period.from = std::max<int64_t>(1, std::llround(to * step));
    period.count = llvm::divideCeil(line.to, to);
    if (double here = estimate(period); here < least) {
      least = here;
      nearly = period;
    }
  }
  int64_t made = nearly.count * nearly.to;
  nearly.lead = made > line.to && std::gcd(made, line.to) > 1;
  return nearly;
}

/// A band of weights by periods, each of which reads a few elements around its
/// own.
static Value interpolatePeriods(Emitter &e, Value image, int64_t axis,
                                DType type, const Taps &weights,
                                const Line &line, const Period &period,
                                const Reach &reach) {
  int64_t first = reach.first, last = first + reach.size - 1;
  SmallVector<double> sums(period.count * period.to * reach.size, 0);
  for (auto [i, position] : llvm::enumerate(weights.positions)) {
    int64_t at = int64_t(i) / weights.count + period.lead;
    if (weights.weights[i] != 0)
      sums[at * reach.size + position - at / period.to * period.from - first] +=
          weights.weights[i];
  }
  HostTensor band(type, {period.count, period.to, reach.size});
  for (auto [i, sum] : llvm::enumerate(sums))
    band.setFloat(i, sum);
  Shape shape = e.shapeOf(image);
  int64_t rank = shape.size();
  Type element = cast<RankedTensorType>(image.getType()).getElementType();
  int64_t behind = (period.count - 1) * period.from + last + 1 - line.from;
  image = e.sliceDim(image, axis, std::max<int64_t>(first, 0),
                     line.from - std::max<int64_t>(first, 0) -
                         std::max<int64_t>(-behind, 0));
  SmallVector<int64_t> low(rank, 0), high = low;
  low[axis] = std::max<int64_t>(-first, 0);
  high[axis] = std::max<int64_t>(behind, 0);
  image = e.pad(image, low, high, e.scalar(element, 0.0));
  shape[axis] = period.count;
  shape.insert(shape.begin() + axis + 1, period.to);
  // Loops: those of the result, and what is read.
  MLIRContext *context = e.getBuilder().getContext();
  auto dim = [&](int64_t i) { return getAffineDimExpr(i, context); };
  SmallVector<AffineExpr> in, out;
  for (int64_t i = 0; i <= rank; ++i) {
    out.push_back(dim(i));
    if (i != axis + 1)
      in.push_back(i == axis ? dim(i) * period.from + dim(rank + 1) : dim(i));
  }
  AffineMap taps = AffineMap::get(
      rank + 2, 0, {dim(axis), dim(axis + 1), dim(rank + 1)}, context);
  Value result = e.loops({image, e.constant(band)},
                         {AffineMap::get(rank + 2, 0, in, context), taps},
                         e.filled(shape, e.scalar(element, 0.0)),
                         AffineMap::get(rank + 2, 0, out, context),
                         [&](LoopScalar &s, ArrayRef<Value> args, Value sum) {
                           Value product = s.mul(args[0], args[1]);
                           return s.add(sum, countedAlone(s, args[1], product));
                         });
  return e.sliceDim(joinPeriods(e, result, axis), axis, period.lead, line.to);
}

/// Takes the elements that count, the first ones of all results together, then
/// the second ones, and adds them up.
static Value interpolateTaken(Emitter &e, Value image, int64_t axis, DType type,
                              const Taps &taps, const Line &line) {
  Shape shape = e.shapeOf(image), spread(shape.size(), 1);
  shape[axis] = spread[axis] = line.to;
  SmallVector<Value> operands;
  for (int64_t tap = 0; tap < taps.count; ++tap) {
    HostTensor weights(type, spread);
    SmallVector<int64_t> positions;
    for (int64_t at = 0; at < line.to; ++at) {
      positions.push_back(taps.positions[at * taps.count + tap]);
      weights.setFloat(at, taps.weights[at * taps.count + tap]);
    }
    operands.push_back(e.take(image, axis, positions));
    operands.push_back(e.constant(weights));
  }
  Type element = cast<RankedTensorType>(image.getType()).getElementType();
  return e.map(operands, shape, element, [&](Scalar &s, ArrayRef<Value> in) {
    Value sum;
    for (size_t i = 0; i < in.size(); i += 2) {
      Value product = countedAlone(s, in[i + 1], s.mul(in[i], in[i + 1]));
      sum = sum ? s.add(sum, product) : product;
    }
    return sum;
  });
}

static LogicalResult resize(NodeContext &c) {
  const Tensor &x = c.in(0);
  int64_t rank = x.rank();
  Target target;
  if (failed(readAttributes(c, target)) || failed(readSizes(c, target)))
    return failure();
  Emitter &e = c.emitter;
  Tensor value = x;
  for (int64_t axis = 0; axis < rank; ++axis) {
    Line line{x.shape[axis], target.shape[axis], target.scales[axis]};
    if (line.from == line.to && line.scale == 1)
      continue;
    if (target.mode != "nearest" && !isFloat(x.type))
      return c.unsupported("Resize of type " + nameOf(x.type));
    if (line.to * line.from > (int64_t(1) << 28))
      return c.unsupported("Resize of a dimension from " + Twine(line.from) +
                           " to " + Twine(line.to));
    if (target.mode == "nearest") {
      value = takeNearest(c, value, axis, line, nearestPositions(target, line));
      continue;
    }
    // Devices can shard the axis by periods.
    Taps taps = interpolation(target, line);
    Period period = choosePeriod(taps, line);
    Reach reach = findReach(taps, period);
    Value image = c.valueOf(value);
    Value product =
        period.count > 1 && reach.size <= kMostReach && sizeOf(x.type) > 2
            ? interpolatePeriods(e, image, axis, x.type, taps, line, period,
                                 reach)
            : interpolateTaken(e, image, axis, x.type, taps, line);
    value = Tensor();
    value.type = x.type;
    value.shape = e.shapeOf(product);
    value.value = product;
  }
  c.set(0, value);
  return success();
}

void mlir::dist::frontend::addResizeConverters(ConverterTable &table) {
  table.add("Resize", 1, resize);
}
