//===- Magnitudes.cpp - The range of some numbers -------------------------===//

#include "runtime/cpu/Magnitudes.h"
#include "runtime/cpu/VectorClones.h"

using namespace dist;

DIST_VECTOR_CLONES static int32_t getLargest(const float *data, int64_t count) {
  int32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    int32_t bits;
    __builtin_memcpy(&bits, data + i, sizeof bits);
    bits &= 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

int32_t dist::getLargestMagnitudeBits(const float *data, int64_t count) {
  return getLargest(data, count);
}
