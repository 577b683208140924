//===- ConvolveSizes.h - Extents and strides of a convolution ---*- C++ -*-===//
//
// What a call's table says, and loops over the elements that it describes:
// those of whom oneDNN knows nothing, or something else.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CPU_CONVOLVESIZES_H
#define DIST_RUNTIME_CPU_CONVOLVESIZES_H

#include "runtime/cpu/Convolve.h"

#include <cstdint>
#include <vector>

namespace dist {

/// A window of the table.
struct Window {
  int64_t in, out, taps, stride, dilation, low;
  int64_t imageStride, kernelStride, outStride;

  /// Whether a tap reads the padding at some place of the result.
  bool readsPadding() const;
  /// At how many places of the result at least one tap is in the image.
  int64_t countPlacesInImage() const;
};

/// The table, read.
struct Sizes {
  /// Throws Error for extents that no convolution has.
  explicit Sizes(const ConvolveCall &call);

  /// What `out` holds, if `adds`, or zero, and the bias (or none).
  void start(const float *bias, float *out, bool adds) const;
  /// Whether all elements of a kernel are.
  bool isFinite(const float *kernel) const;
  /// The bits of the largest magnitude of a kernel's elements.
  int32_t getLargest(const float *kernel) const;
  /// oneDNN skips the padding's zeros. Times what is not finite they are NaN,
  /// as they are where neighbours or memory hold them.
  void multiplyPadding(const float *kernel, float *out) const;

  struct {
    int64_t extent, image, out;
  } batch;
  struct {
    int64_t extent, image, kernel, out;
  } groups;
  struct {
    int64_t extent, image, kernel;
  } channels;
  struct {
    int64_t extent, kernel, out;
  } features;
  std::vector<Window> windows;

private:
  template <typename Visit>
  void forEachOfKernel(const float *kernel, Visit visit) const;
};

} // namespace dist

#endif // DIST_RUNTIME_CPU_CONVOLVESIZES_H
