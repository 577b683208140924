//===- Outliers.cpp - Elements far larger than the others -----------------===//

#include "Outliers.h"
#include "VectorClones.h"

#include <cmath>

using namespace dist;

/// Of magnitudes. What is no number makes the sum none.
DIST_VECTOR_CLONES static void measure(const float *data, int64_t count,
                                       float *largestOfAll, float *sumOfAll) {
  constexpr int64_t lanes = 64;
  float largest[lanes] = {}, sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane) {
      float size = __builtin_fabsf(data[i + lane]);
      largest[lane] = size > largest[lane] ? size : largest[lane];
      sums[lane] += size;
    }
  for (int64_t lane = 0; i < count; ++i, ++lane) {
    float size = __builtin_fabsf(data[i]);
    largest[lane] = size > largest[lane] ? size : largest[lane];
    sums[lane] += size;
  }
  *largestOfAll = *sumOfAll = 0;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    *largestOfAll =
        largest[lane] > *largestOfAll ? largest[lane] : *largestOfAll;
    *sumOfAll += sums[lane];
  }
}

bool dist::hasOutliers(const float *data, int64_t stored, int64_t count) {
  constexpr double farLarger = 256;
  float largest, sum;
  measure(data, stored, &largest, &sum);
  if (sum == 0)
    return false;
  bool isOrdinary = largest <= kLargestOrdinary &&
                    largest >= 1 / kLargestOrdinary && sum < HUGE_VALF;
  return !isOrdinary || double(largest) * count > double(sum) * farLarger;
}
