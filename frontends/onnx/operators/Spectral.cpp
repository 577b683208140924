//===- Spectral.cpp - Converters of Fourier transforms --------------------===//
//
// A transform is a product with a matrix of cosines and sines known now, and so
// a contraction like any other.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

#include <cmath>

using namespace mlir;
using namespace mlir::dist::frontend;

namespace {
struct Transform {
  int64_t length;
  bool inverse = false, onesided = false;
};
} // namespace

/// The factors [n, parts of the input, k, parts of the result] of a transform
/// that takes `size` of the `length` numbers; parts are real and imaginary.
static HostTensor factorsOf(DType type, const Transform &t, int64_t size,
                            int64_t parts, bool fromHalf) {
  bool toReal = t.inverse && t.onesided;
  int64_t results = t.onesided && !t.inverse ? t.length / 2 + 1 : t.length;
  int64_t resultParts = toReal ? 1 : 2;
  HostTensor factors(type, {size, parts, results, resultParts});
  double direction = t.inverse ? 1 : -1;
  for (int64_t n = 0; n < size; ++n)
    for (int64_t k = 0; k < results; ++k) {
      double angle = 2 * M_PI * double(n * k % t.length) / double(t.length);
      double scale = t.inverse ? 1.0 / double(t.length) : 1;
      // The other half mirrors this one; the ends have no mirror image.
      if (fromHalf && n != 0 && 2 * n != t.length)
        scale *= 2;
      double cosine = std::cos(angle) * scale;
      double sine = std::sin(angle) * scale * direction;
      // (a + ib)(cos + i sin) = (a cos - b sin) + i (a sin + b cos)
      double table[2][2] = {{cosine, sine}, {-sine, cosine}};
      for (int64_t in = 0; in < parts; ++in)
        for (int64_t out = 0; out < resultParts; ++out)
          factors.setFloat(((n * parts + in) * results + k) * resultParts + out,
                           table[in][out]);
    }
  return factors;
}

/// Transforms `value` [..., parts] along `axis`.
static FailureOr<Value> emitTransform(NodeContext &c, Value value, DType type,
                                      int64_t axis, const Transform &t) {
  Emitter &e = c.emitter;
  Shape shape = e.shapeOf(value);
  int64_t rank = shape.size(), parts = shape.back();
  bool fromHalf = t.inverse && t.onesided;
  if (t.length < 1 || t.length > (1 << 16) || (parts != 1 && parts != 2) ||
      !isFloat(type) || (t.onesided && !t.inverse && parts != 1)) {
    (void)c.invalid("a transform of length " + Twine(t.length) + " of " +
                    nameOf(type) + " " + toString(shape));
    return failure();
  }
  int64_t size = std::min(shape[axis], fromHalf ? t.length / 2 + 1 : t.length);
  if (size * t.length > (1 << 24)) {
    (void)c.unsupported(c.node.op + " of length " + Twine(t.length));
    return failure();
  }
  value = e.sliceDim(value, axis, 0, size);
  SmallVector<int64_t> labels, out;
  for (int64_t i = 0; i < rank; ++i) {
    labels.push_back(i);
    out.push_back(i == axis ? rank : i == rank - 1 ? rank + 1 : i);
  }
  Value factors = e.constant(factorsOf(type, t, size, parts, fromHalf));
  return e.contract(value, labels, factors, {axis, rank - 1, rank, rank + 1},
                    out);
}

/// `axis` is an attribute up to opset 19, an input since.
static LogicalResult dft(NodeContext &c) {
  int64_t rank = c.in(0).rank();
  if (rank < 2)
    return c.invalid("shape " + toString(c.in(0).shape));
  int64_t given = c.opset < 20 ? c.intAttr("axis", 1) : -2;
  if (c.has(2)) {
    if (!c.number(2))
      return c.unsupported("DFT along an axis computed at run time");
    given = static_cast<int64_t>(*c.number(2));
  }
  FailureOr<int64_t> axis = c.axis(given, rank);
  if (failed(axis))
    return failure();
  if (*axis == rank - 1)
    return c.invalid("axis " + Twine(*axis) + " holds the complex parts");
  Transform t;
  t.inverse = c.boolAttr("inverse", false);
  t.onesided = c.boolAttr("onesided", false);
  int64_t size = c.in(0).shape[*axis];
  t.length = t.inverse && t.onesided ? 2 * (size - 1) : size;
  if (c.has(1)) {
    if (!c.number(1))
      return c.unsupported("DFT of a length computed at run time");
    t.length = static_cast<int64_t>(*c.number(1));
  }
  DType type = c.in(0).type;
  FailureOr<Value> result = emitTransform(c, c.value(0), type, *axis, t);
  if (failed(result))
    return failure();
  c.set(0, *result, type);
  return success();
}

/// Transforms of windows that overlap: [batch, length, parts] to [batch,
/// frames, frequencies, 2].
static LogicalResult stft(NodeContext &c) {
  const Tensor &signal = c.in(0);
  DType type = signal.type;
  std::optional<double> step = c.number(1);
  if (!step || (c.has(3) && !c.number(3)))
    return c.unsupported("STFT of frames whose size is computed at run time");
  int64_t frame = c.has(3) ? static_cast<int64_t>(*c.number(3))
                  : c.has(2) && c.in(2).rank() == 1 ? c.in(2).shape[0]
                                                    : 0;
  if (signal.rank() != 3 || !(*step >= 1) || frame < 1 ||
      frame > signal.shape[1] ||
      (c.has(2) && (c.in(2).shape != Shape{frame} || c.in(2).type != type)))
    return c.invalid("frames of " + Twine(frame) + " in a signal " +
                     toString(signal.shape));
  int64_t stride = static_cast<int64_t>(*step);
  int64_t frames = (signal.shape[1] - frame) / stride + 1;
  if (frames * frame > (1 << 26))
    return c.unsupported("STFT of " + Twine(frames) + " frames");
  SmallVector<int64_t> positions;
  for (int64_t i = 0; i < frames; ++i)
    for (int64_t j = 0; j < frame; ++j)
      positions.push_back(i * stride + j);
  Emitter &e = c.emitter;
  Shape shape{signal.shape[0], frames, frame, signal.shape[2]};
  Value value = e.reshape(c.valueOf(c.take(signal, 1, positions)), shape);
  if (c.has(2))
    value = e.map(
        {value, e.reshape(c.value(2), {frame, 1})}, shape, e.typeOf(type),
        [](Scalar &s, ArrayRef<Value> in) { return s.mul(in[0], in[1]); });
  Transform t;
  t.length = frame;
  t.onesided = c.boolAttr("onesided", true);
  FailureOr<Value> result = emitTransform(c, value, type, 2, t);
  if (failed(result))
    return failure();
  c.set(0, *result, type);
  return success();
}

/// Sums of cosines: a[0] - a[1] cos(2 pi n / N) + a[2] cos(4 pi n / N).
static LogicalResult cosineWindow(NodeContext &c, std::array<double, 3> a) {
  std::optional<double> length = c.number(0);
  DType type = static_cast<DType>(c.intAttr("output_datatype", 1));
  if (!length)
    return c.unsupported(c.node.op + " of a size computed at run time");
  if (!(*length >= 1 && *length < (1 << 24)) || sizeOf(type) == 0)
    return c.invalid("size " + std::to_string(*length) + " of type " +
                     nameOf(type));
  int64_t size = static_cast<int64_t>(*length);
  double period = c.boolAttr("periodic", true) ? size : size - 1;
  HostTensor window(type, {size});
  for (int64_t i = 0; i < size; ++i) {
    double angle = period == 0 ? 0 : 2 * M_PI * double(i) / period;
    window.setFloat(i,
                    a[0] - a[1] * std::cos(angle) + a[2] * std::cos(2 * angle));
  }
  c.set(0, window);
  return success();
}

static LogicalResult hannWindow(NodeContext &c) {
  return cosineWindow(c, {0.5, 0.5, 0});
}
static LogicalResult hammingWindow(NodeContext &c) {
  return cosineWindow(c, {25.0 / 46, 21.0 / 46, 0});
}
static LogicalResult blackmanWindow(NodeContext &c) {
  return cosineWindow(c, {0.42, 0.5, 0.08});
}

void mlir::dist::frontend::addSpectralConverters(ConverterTable &table) {
  table.add("DFT", 1, dft);
  table.add("STFT", 2, stft);
  table.add("HannWindow", 1, hannWindow);
  table.add("HammingWindow", 1, hammingWindow);
  table.add("BlackmanWindow", 1, blackmanWindow);
}
