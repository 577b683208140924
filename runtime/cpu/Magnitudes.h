//===- Magnitudes.h - The range of some numbers -----------------*- C++ -*-===//

#ifndef DIST_RUNTIME_CPU_MAGNITUDES_H
#define DIST_RUNTIME_CPU_MAGNITUDES_H

#include <cstdint>
#include <cstring>

namespace dist {

/// The bits without the sign: as integers they are in the order of magnitudes,
/// NaN beyond infinity.
inline int32_t getMagnitudeBits(float number) {
  int32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits & 0x7fffffff;
}

/// The largest of these of the elements.
int32_t getLargestMagnitudeBits(const float *data, int64_t count);

/// Whether numbers of which the largest has these bits may be added some times
/// and multiplied with others of the kind without an overflow, and without
/// losing digits as subnormals.
inline bool areOrdinary(int32_t largestBits) {
  return largestBits == 0 || (largestBits >= getMagnitudeBits(0x1p-50f) &&
                              largestBits <= getMagnitudeBits(0x1p50f));
}

/// Sums of so many products of two modest numbers are finite, also
/// Winograd's.
constexpr double kMostModestTerms = 0x1p20;

/// Whether numbers are modest of which the largest has these bits.
inline bool isModest(int32_t largestBits) {
  return largestBits <= getMagnitudeBits(0x1p50f);
}

} // namespace dist

#endif // DIST_RUNTIME_CPU_MAGNITUDES_H
