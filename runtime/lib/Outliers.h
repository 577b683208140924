//===- Outliers.h - Elements far larger than the others ---------*- C++ -*-===//

#ifndef DIST_LIB_OUTLIERS_H
#define DIST_LIB_OUTLIERS_H

#include <cstdint>

namespace dist {

/// Products and sums of some of these do not overflow, nor do those of their
/// inverses become subnormal.
inline constexpr float kLargestOrdinary = 0x1p50f;

/// Whether an element is more than 256 times the mean of all magnitudes, larger
/// than kLargestOrdinary or no number, or all are smaller than its inverse, but
/// not all zero. Of the `stored` elements at `data` all but `count` are zeros
/// that do not count.
bool hasOutliers(const float *data, int64_t stored, int64_t count);

} // namespace dist

#endif // DIST_LIB_OUTLIERS_H
