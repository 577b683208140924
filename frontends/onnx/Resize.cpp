//===- Resize.cpp - Converter of Resize -----------------------------------===//

#include "Converter.h"

#include <cmath>

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
  if (!c.data(source))
    return c.unsupported("Resize to a size computed at run time");
  const HostTensor &numbers = *c.data(source);
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

void mlir::dist::frontend::addResizeConverters(ConverterTable &table) {
  table.add("Resize", 1, resize);
}
