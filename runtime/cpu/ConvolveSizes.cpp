//===- ConvolveSizes.cpp - Extents and strides of a convolution -----------===//

#include "runtime/cpu/ConvolveSizes.h"
#include "dist/Tensor.h"
#include "runtime/cpu/Magnitudes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace dist;

Sizes::Sizes(const ConvolveCall &call) {
  const int64_t *t = call.table;
  batch = {t[0], t[1], t[2]};
  groups = {t[3], t[4], t[5], t[6]};
  channels = {t[7], t[8], t[9]};
  features = {t[10], t[11], t[12]};
  t += DIST_CONVOLVE_FIELDS;
  for (int32_t i = 0; i < call.numWindows; ++i, t += DIST_WINDOW_FIELDS)
    windows.push_back({t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]});
  bool valid = batch.extent > 0 && groups.extent > 0 && channels.extent > 0 &&
               features.extent > 0;
  for (const Window &w : windows)
    valid &= w.in > 0 && w.out > 0 && w.taps > 0 && w.stride > 0 &&
             w.dilation > 0 && w.low >= 0;
  if (!valid)
    throw Error("dist_convolve: extents, strides and dilations must be at "
                "least 1, and padding not negative");
}

bool Window::readsPadding() const {
  return low > 0 || (out - 1) * stride + (taps - 1) * dilation - low >= in;
}

int64_t Window::countPlacesInImage() const {
  int64_t count = 0;
  for (int64_t y = 0; y < out; ++y)
    for (int64_t t = 0; t < taps; ++t) {
      int64_t x = y * stride + t * dilation - low;
      if (x < 0 || x >= in)
        continue;
      ++count;
      break;
    }
  return count;
}

/// Calls `visit` with all indices below `extents`.
template <typename Visit>
static void forEach(const std::vector<int64_t> &extents, Visit visit) {
  std::vector<int64_t> at(extents.size(), 0);
  size_t i;
  do {
    visit(at);
    for (i = at.size(); i > 0 && ++at[i - 1] == extents[i - 1]; --i)
      at[i - 1] = 0;
  } while (i > 0);
}

void Sizes::start(const float *bias, float *out, bool adds) const {
  std::vector<int64_t> extents{batch.extent, groups.extent, features.extent},
      strides{batch.out, groups.out, features.out};
  for (const Window &w : windows) {
    extents.push_back(w.out);
    strides.push_back(w.outStride);
  }
  forEach(extents, [&](const std::vector<int64_t> &at) {
    int64_t element = 0;
    for (size_t i = 0; i < at.size(); ++i)
      element += at[i] * strides[i];
    out[element] = (adds ? out[element] : 0) +
                   (bias ? bias[at[1] * features.extent + at[2]] : 0);
  });
}

template <typename Visit>
void Sizes::forEachOfKernel(const float *kernel, Visit visit) const {
  std::vector<int64_t> extents{groups.extent, features.extent,
                               channels.extent},
      strides{groups.kernel, features.kernel,
              channels.kernel};
  for (const Window &w : windows) {
    extents.push_back(w.taps);
    strides.push_back(w.kernelStride);
  }
  int64_t count = 1, last = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    count *= extents[i];
    last += (extents[i] - 1) * strides[i];
  }
  if (last == count - 1) {
    for (int64_t i = 0; i < count; ++i)
      visit(kernel[i]);
  } else {
    forEach(extents, [&](const std::vector<int64_t> &at) {
      int64_t element = 0;
      for (size_t i = 0; i < at.size(); ++i)
        element += at[i] * strides[i];
      visit(kernel[element]);
    });
  }
}

bool Sizes::isFinite(const float *kernel) const {
  // Numbers that are not finite have all bits of the exponent.
  bool odd = false;
  forEachOfKernel(kernel, [&](float element) {
    uint32_t bits;
    std::memcpy(&bits, &element, sizeof bits);
    odd |= (bits & 0x7f800000) == 0x7f800000;
  });
  return !odd;
}

int32_t Sizes::getLargest(const float *kernel) const {
  int32_t largest = 0;
  forEachOfKernel(kernel, [&](float element) {
    largest = std::max(largest, getMagnitudeBits(element));
  });
  return largest;
}

void Sizes::multiplyPadding(const float *kernel, float *out) const {
  std::vector<int64_t> taps, places;
  for (const Window &w : windows) {
    taps.push_back(w.taps);
    places.push_back(w.out);
  }
  auto isOdd = [&](int64_t element) {
    for (int64_t c = 0; c < channels.extent; ++c)
      if (!std::isfinite(kernel[element + c * channels.kernel]))
        return true;
    return false;
  };
  auto spoil = [&](int64_t group, int64_t feature,
                   const std::vector<int64_t> &tap) {
    forEach(places, [&](const std::vector<int64_t> &place) {
      bool isOutside = false;
      int64_t element = group * groups.out + feature * features.out;
      for (size_t i = 0; i < place.size(); ++i) {
        const Window &w = windows[i];
        int64_t x = place[i] * w.stride + tap[i] * w.dilation - w.low;
        isOutside |= x < 0 || x >= w.in;
        element += place[i] * w.outStride;
      }
      for (int64_t n = 0; isOutside && n < batch.extent; ++n)
        out[element + n * batch.out] =
            std::numeric_limits<float>::quiet_NaN();
    });
  };
  for (int64_t g = 0; g < groups.extent; ++g)
    for (int64_t f = 0; f < features.extent; ++f)
      forEach(taps, [&](const std::vector<int64_t> &tap) {
        int64_t element = g * groups.kernel + f * features.kernel;
        for (size_t i = 0; i < tap.size(); ++i)
          element += tap[i] * windows[i].kernelStride;
        if (isOdd(element))
          spoil(g, f, tap);
      });
}
