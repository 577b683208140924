//===- Lanes.h - Arithmetic of 32 lanes -------------------------*- C++ -*-===//

#ifndef DIST_RUNTIME_EMULATED_LANES_H
#define DIST_RUNTIME_EMULATED_LANES_H

#include "runtime/emulated/Code.h"

#include <cstring>

namespace dist::emulated {

enum class LaneOp : uint8_t {
  Add, Sub, Mul, MulHigh, MulWide, Mad, MadHigh, MadWide, Min, Max, Abs, Neg,
  And, Or, Xor, Not, Move, Shl, Shr, FunnelLeft, FunnelRight, Extract,
  Popcount, LeadingZeros, Reverse, FindBit, Permute, Logic3, Difference,
  Fma, Div, Rcp, Sqrt, Rsqrt, Exp2, Log2, Sin, Cos, Tanh, CopySign,
};

/// What computes `op` with the types and modifiers of `operation`; null if PTX
/// has no such instruction.
LaneFunction integerFunction(LaneOp op, const Operation &operation);
LaneFunction floatFunction(LaneOp op, const Operation &operation);
/// `cvt` from `from` to `type`.
LaneFunction convertFunction(const Operation &operation);
/// cvt.rn.f16x2.f32 and cvt.rn.bf16x2.f32 of two.
LaneFunction packFunction(const Operation &operation);
/// Comparison number `mode`; null if the type has none.
CompareFunction compareFunction(const Operation &operation);
/// testp: property number `mode`.
CompareFunction propertyFunction(const Operation &operation);

/// The names of comparisons, by number.
inline constexpr const char *kComparisons[] = {
    "eq", "ne", "lt", "le", "gt", "ge", "lo",  "ls",  "hi", "hs",
    "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
inline constexpr const char *kProperties[] = {
    "finite", "infinite", "number", "notanumber", "normal", "subnormal"};

template <class T> struct Lanes {
  T at[kLanes];
  explicit Lanes(const void *from) { std::memcpy(at, from, sizeof at); }
  Lanes() = default;
};

/// Writes the lanes of `mask`.
template <class T>
void writeLanes(void *to, const Lanes<T> &values, uint32_t mask) {
  if (mask == kAllLanes) {
    std::memcpy(to, values.at, sizeof values.at);
    return;
  }
  Lanes<T> old(to);
  for (unsigned l = 0; l < kLanes; ++l)
    old.at[l] = mask >> l & 1 ? values.at[l] : old.at[l];
  std::memcpy(to, old.at, sizeof old.at);
}

template <class D, class F> void eachLane(void *d, uint32_t mask, F function) {
  Lanes<D> result;
  for (unsigned l = 0; l < kLanes; ++l)
    result.at[l] = function(l);
  writeLanes(d, result, mask);
}

} // namespace dist::emulated

#endif // DIST_RUNTIME_EMULATED_LANES_H
