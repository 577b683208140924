//===- Bf16.cpp - Rounding to bf16, for compiled code ---------------------===//
//
// LLVM calls this function if a value of type bf16 passes through f32 on a
// processor without an instruction for it. (A select does so at low levels of
// optimization.) compiler-rt has it, gcc 12's library does not. Such values are
// bf16 numbers already; others are rounded to nearest, ties to even.
//
//===----------------------------------------------------------------------===//

#include "dist/runtime.h"
#include <cstring>

extern "C" DIST_API __bf16 __truncsfbf2(float value);

extern "C" DIST_API __bf16 __truncsfbf2(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  uint16_t rounded;
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    rounded = static_cast<uint16_t>((bits >> 16) | 0x40u); // NaN stays quiet
  else
    rounded =
        static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
  __bf16 result;
  std::memcpy(&result, &rounded, sizeof(result));
  return result;
}
