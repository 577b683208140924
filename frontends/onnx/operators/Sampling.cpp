//===- Sampling.cpp - Converters that read at computed places -------------===//
//
// GridSample, ReverseSequence and CenterCropPad.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

using namespace mlir;
using namespace mlir::dist::frontend;

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

namespace {
/// One of the positions that a sample reads along one dimension.
struct Tap {
  /// i64 and in range, and the sample's share of it.
  Value index, weight;
};

struct Sampling {
  Emitter &e;
  StringRef mode, padding;
  bool alignsCorners;
  DType type;

  Type element() const { return e.typeOf(type); }
};
} // namespace

/// `x` mirrored at both ends until it lies within [low, high].
static Value reflect(Scalar &s, Value x, double low, double high) {
  Type type = x.getType();
  double range = high - low;
  if (range <= 0)
    return s.constant(type, low);
  Value distance = s.apply(Function::Abs, s.sub(x, s.constant(type, low)));
  Value width = s.constant(type, range);
  Value turns = s.apply(Function::Floor, s.div(distance, width));
  Value rest = s.sub(distance, s.mul(turns, width));
  // An odd number of turns runs backwards.
  Value two = s.constant(type, 2);
  Value odd =
      s.sub(turns, s.mul(s.apply(Function::Floor, s.div(turns, two)), two));
  Value backwards = s.compare(Compare::GT, odd, s.constant(type, 0.5));
  return s.add(s.select(backwards, s.sub(width, rest), rest),
               s.constant(type, low));
}

/// Where coordinates from -1 to 1 lie along a dimension of `size`.
static Value positionsOf(const Sampling &p, Value grid, int64_t size) {
  return p.e.map(
      grid, p.e.shapeOf(grid), p.element(), [&](Scalar &s, ArrayRef<Value> in) {
        auto number = [&](double x) { return s.constant(p.element(), x); };
        Value x = s.add(in[0], number(1));
        if (p.alignsCorners)
          x = s.mul(x, number(double(size - 1) / 2));
        else
          x = s.mul(s.sub(s.mul(x, number(double(size))), number(1)),
                    number(0.5));
        if (p.mode == "cubic")
          return x; // what it reads is padded tap by tap
        if (p.padding == "border")
          return s.min(s.max(x, number(0)), number(double(size - 1)));
        if (p.padding == "reflection") {
          double edge = p.alignsCorners ? 0 : 0.5;
          x = reflect(s, x, -edge, double(size - 1) + edge);
          return s.min(s.max(x, number(0)), number(double(size - 1)));
        }
        return x;
      });
}

/// The share of the tap `offset` places after the one before the position.
static Value shareOf(const Sampling &p, Scalar &s, Value part, int64_t offset) {
  auto number = [&](double x) { return s.constant(p.element(), x); };
  if (p.mode == "nearest")
    return number(1);
  if (p.mode == "linear")
    return offset == 0 ? s.sub(number(1), part) : part;
  // Keys' kernel with a = -0.75, as PyTorch has it.
  constexpr double a = -0.75;
  Value d = offset <= 0 ? s.sub(part, number(double(offset)))
                        : s.sub(number(double(offset)), part);
  if (offset == 0 || offset == 1) {
    Value inner = s.sub(s.mul(number(a + 2), d), number(a + 3));
    return s.add(s.mul(s.mul(inner, d), d), number(1));
  }
  Value inner =
      s.add(s.mul(s.sub(s.mul(number(a), d), number(5 * a)), d), number(8 * a));
  return s.sub(s.mul(inner, d), number(4 * a));
}

static SmallVector<Tap> tapsOf(const Sampling &p, Value position,
                               int64_t size) {
  Shape shape = p.e.shapeOf(position);
  Type i64 = p.e.typeOf(DType::I64);
  SmallVector<int64_t> offsets{0};
  if (p.mode == "linear")
    offsets = {0, 1};
  if (p.mode == "cubic")
    offsets = {-1, 0, 1, 2};
  auto base = [&](Scalar &s, Value x) {
    return s.apply(p.mode == "nearest" ? Function::Round : Function::Floor, x);
  };
  SmallVector<Tap> taps;
  for (int64_t offset : offsets) {
    auto place = [&](Scalar &s, Value x) {
      Value at = s.add(base(s, x), s.constant(p.element(), double(offset)));
      if (p.mode == "cubic" && p.padding == "reflection") {
        double edge = p.alignsCorners ? 0 : 0.5;
        at = reflect(s, at, -edge, double(size - 1) + edge);
      }
      return at;
    };
    Tap tap;
    tap.index =
        p.e.map(position, shape, i64, [&](Scalar &s, ArrayRef<Value> in) {
          Value at = s.max(
              s.min(place(s, in[0]), s.constant(p.element(), double(size - 1))),
              s.constant(p.element(), 0));
          return s.cast(at, p.type, DType::I64);
        });
    tap.weight = p.e.map(
        position, shape, p.element(), [&](Scalar &s, ArrayRef<Value> in) {
          Value share = shareOf(p, s, s.sub(in[0], base(s, in[0])), offset);
          if (p.padding != "zeros")
            return share;
          Value at = place(s, in[0]);
          Value inside =
              s.bitAnd(s.compare(Compare::GE, at, s.constant(p.element(), 0)),
                       s.compare(Compare::LE, at,
                                 s.constant(p.element(), double(size - 1))));
          return s.select(inside, share, s.constant(p.element(), 0));
        });
    taps.push_back(tap);
  }
  return taps;
}

/// Samples [n, c, space] at grid [n, space', coordinates], the last dimension's
/// coordinate first.
static LogicalResult gridSample(NodeContext &c) {
  const Tensor &x = c.in(0), &grid = c.in(1);
  Emitter &e = c.emitter;
  Sampling p{e, c.stringAttr("mode", "linear"),
             c.stringAttr("padding_mode", "zeros"),
             c.boolAttr("align_corners", false), x.type};
  // Names up to opset 19.
  if (p.mode == "bilinear")
    p.mode = "linear";
  if (p.mode == "bicubic")
    p.mode = "cubic";
  if ((p.mode != "linear" && p.mode != "nearest" && p.mode != "cubic") ||
      (p.padding != "zeros" && p.padding != "border" &&
       p.padding != "reflection"))
    return c.unsupported("GridSample with mode '" + p.mode +
                         "' and padding_mode '" + p.padding + "'");
  int64_t space = x.rank() - 2;
  if (space < 1 || grid.rank() != x.rank() || grid.shape.back() != space ||
      grid.shape[0] != x.shape[0] || !isFloat(x.type) || grid.type != x.type ||
      llvm::is_contained(x.shape, 0))
    return c.invalid("a grid " + nameOf(grid.type) + " " +
                     toString(grid.shape) + " for " + nameOf(x.type) + " " +
                     toString(x.shape));
  Shape where(ArrayRef<int64_t>(grid.shape).drop_back());
  Shape unit = where;
  unit.push_back(1);
  SmallVector<SmallVector<Tap>> taps;
  SmallVector<int64_t> dims{0};
  size_t count = 1;
  for (int64_t i = 0; i < space; ++i) {
    Value coordinates = e.reshape(
        e.sliceDim(c.value(1), x.rank() - 1, space - 1 - i, 1), where);
    taps.push_back(
        tapsOf(p, positionsOf(p, coordinates, x.shape[2 + i]), x.shape[2 + i]));
    dims.push_back(2 + i);
    count *= taps.back().size();
  }
  // Every combination of one tap a dimension; gathered as [n, space', c].
  Type index = e.getBuilder().getIndexType();
  Value batch = e.reshape(e.iota(where, 0, index), unit);
  Shape sampled = where;
  sampled.push_back(x.shape[1]);
  Value sum;
  for (size_t which = 0; which < count; ++which) {
    SmallVector<Value> indices{batch}, operands;
    size_t rest = which;
    for (int64_t i = 0; i < space; ++i) {
      const Tap &tap = taps[i][rest % taps[i].size()];
      rest /= taps[i].size();
      indices.push_back(
          e.reshape(e.toIndices(tap.index, x.shape[2 + i]), unit));
      operands.push_back(e.reshape(tap.weight, unit));
    }
    operands.push_back(
        e.gather(c.value(0), e.concat(indices, where.size()), dims));
    if (sum)
      operands.push_back(sum);
    sum = e.map(operands, sampled, p.element(),
                [&](Scalar &s, ArrayRef<Value> in) {
                  Value product = in[0];
                  for (int64_t i = 1; i <= space; ++i)
                    product = s.mul(product, in[i]);
                  return sum ? s.add(in.back(), product) : product;
                });
  }
  SmallVector<int64_t> permutation{0, x.rank() - 1};
  for (int64_t i = 0; i < space; ++i)
    permutation.push_back(1 + i);
  c.set(0, e.transpose(sum, permutation), x.type);
  return success();
}

//===----------------------------------------------------------------------===//
// Sequences and centres
//===----------------------------------------------------------------------===//

/// The first sequence_lens[b] steps of each sequence b, backwards.
static LogicalResult reverseSequence(NodeContext &c) {
  const Tensor &x = c.in(0), &lengths = c.in(1);
  int64_t time = c.intAttr("time_axis", 0), batch = c.intAttr("batch_axis", 1);
  if (x.rank() < 2 || time < 0 || time > 1 || batch != 1 - time ||
      lengths.type != DType::I64 || lengths.shape != Shape{x.shape[batch]})
    return c.invalid("lengths " + toString(lengths.shape) + " for " +
                     toString(x.shape) + " with time_axis " + Twine(time) +
                     " and batch_axis " + Twine(batch));
  Emitter &e = c.emitter;
  Shape where{x.shape[0], x.shape[1]}, unit{x.shape[0], x.shape[1], 1};
  Shape spread(2, 1);
  spread[batch] = x.shape[batch];
  Value from = e.mapPositions(
      e.reshape(c.value(1), spread), where, e.typeOf(DType::I64),
      [&](LoopScalar &s, ArrayRef<Value> in) {
        Value at = s.positionInt(time);
        Value mirrored =
            s.sub(s.sub(in[0], s.constantInt(at.getType(), 1)), at);
        return s.select(s.compare(Compare::LT, at, in[0]), mirrored, at);
      });
  Type index = e.getBuilder().getIndexType();
  SmallVector<Value> parts(2);
  parts[time] = e.reshape(e.toIndices(from, x.shape[time]), unit);
  parts[batch] = e.reshape(e.iota(where, batch, index), unit);
  c.set(0, e.gather(c.value(0), e.concat(parts, 2), {0, 1}), x.type);
  return success();
}

/// Cuts or pads with zeros around the centre.
static LogicalResult centerCropPad(NodeContext &c) {
  const Tensor &x = c.in(0);
  std::optional<SmallVector<int64_t>> sizes = c.ints(1);
  if (!sizes)
    return c.unsupported("CenterCropPad to a shape computed at run time");
  SmallVector<int64_t> list;
  for (int64_t i = 0; i < x.rank(); ++i)
    list.push_back(i);
  if (std::optional<SmallVector<int64_t>> given = c.intsAttr("axes"))
    list = *given;
  if (failed(c.axes(list, x.rank())))
    return failure();
  Shape cut = x.shape, result = x.shape;
  SmallVector<int64_t> offsets(x.rank(), 0), strides(x.rank(), 1),
      low(x.rank(), 0), high(x.rank(), 0);
  bool valid = list.size() == sizes->size();
  for (size_t i = 0; valid && i < list.size(); ++i) {
    int64_t axis = *c.axis(list[i], x.rank()), from = x.shape[axis];
    int64_t to = (*sizes)[i];
    valid = to >= 0;
    result[axis] = to;
    cut[axis] = std::min(from, to);
    offsets[axis] = (from - cut[axis]) / 2;
    low[axis] = (to - cut[axis]) / 2;
    high[axis] = to - cut[axis] - low[axis];
  }
  if (!valid || !countElements(result))
    return c.invalid("sizes " + toString(*sizes) + " for shape " +
                     toString(x.shape));
  Emitter &e = c.emitter;
  Value value = c.valueOf(c.slice(x, offsets, cut, strides));
  Value zero = e.scalarInt(e.typeOf(x.type), 0);
  c.set(0, e.pad(value, low, high, zero), x.type);
  return success();
}

void mlir::dist::frontend::addSamplingConverters(ConverterTable &table) {
  table.add("GridSample", 2, gridSample);
  table.add("ReverseSequence", 2, reverseSequence);
  table.add("CenterCropPad", 2, centerCropPad);
}
