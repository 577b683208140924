//===- Clamp.h - Bounds of what oneDNN computes -----------------*- C++ -*-===//
//
// Bounds a result from both sides; a NaN stays a NaN. oneDNN's relu and clip
// turn a NaN into a bound. But the comparison of a NaN raises the processor's
// flag for invalid operations. If it is not raised after a call, there was no
// NaN, and oneDNN's result is right.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CPU_CLAMP_H
#define DIST_RUNTIME_CPU_CLAMP_H

#include <oneapi/dnnl/dnnl.hpp>

namespace dist {

struct Clamp {
  /// Throws Error for bounds that are NaN or in the wrong order. Also for a
  /// lower bound of -0 and an upper bound of 0, for which min and max
  /// instructions give another sign of zero than IEEE's minimum and maximum.
  Clamp(float low, float high);

  /// NaN stays NaN.
  float apply(float x) const { return x <= low ? low : x >= high ? high : x; }
  /// To each element; the strides are those of elements that do not overlap.
  void apply(float *data, const dnnl::memory::dims &extents,
             const dnnl::memory::dims &strides) const;

  /// As oneDNN computes it.
  void appendTo(dnnl::post_ops &ops) const;
  /// Whether `primitive`, whose last operation is this one, raises the flag for
  /// a NaN, and has the same results as `apply` for other numbers.
  bool isNoticedBy(const dnnl::convolution_forward::primitive_desc &description,
                   dnnl::stream &stream) const;

  float low, high;
};

/// Lowers the processor's flag for invalid operations, of this thread.
void clearInvalid();
/// Whether it was raised since.
bool sawInvalid();

} // namespace dist

#endif // DIST_RUNTIME_CPU_CLAMP_H
