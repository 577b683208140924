//===- Reduce.cpp - Elementwise reduction over several buffers ------------===//

#include "runtime/collectives/Reduce.h"
#include "dist/Tensor.h"
#include "runtime/cpu/VectorClones.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace dist;

#define DIST_INLINE static inline __attribute__((always_inline))

// Equal pointers are the only aliasing that callers may have, and harmless
// where element i depends on elements i alone.
#if defined(__clang__)
#define DIST_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define DIST_LOOP _Pragma("GCC ivdep")
#endif

namespace {
struct Sum {
  template <class T> static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a + b;
    else // wraps
      return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
  }
};
struct Prod {
  template <class T> static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a * b;
    else // 64 bits, as unsigned short would be promoted to int
      return T(uint64_t(a) * uint64_t(b));
  }
};
// NaN if either is: every comparison with NaN is false.
struct Max {
  template <class T> static T apply(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};
struct Min {
  template <class T> static T apply(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};
struct And {
  template <class T> static T apply(T a, T b) { return a & b; }
};
struct Or {
  template <class T> static T apply(T a, T b) { return a | b; }
};
struct Xor {
  template <class T> static T apply(T a, T b) { return a ^ b; }
};
} // namespace

template <class T, class Op>
DIST_INLINE void combine(const void *a, const void *b, void *out, int64_t n) {
  const T *x = static_cast<const T *>(a), *y = static_cast<const T *>(b);
  T *z = static_cast<T *>(out);
  DIST_LOOP
  for (int64_t i = 0; i < n; ++i)
    z[i] = Op::apply(x[i], y[i]);
}

/// Two outputs at once: the whole of a two-rank all_reduce.
template <class T, class Op>
DIST_INLINE void combineTwice(const void *a, const void *b, void *out,
                              void *out2, int64_t n) {
  const T *x = static_cast<const T *>(a), *y = static_cast<const T *>(b);
  T *z = static_cast<T *>(out), *w = static_cast<T *>(out2);
  DIST_LOOP
  for (int64_t i = 0; i < n; ++i) {
    T value = Op::apply(x[i], y[i]);
    z[i] = value;
    w[i] = value;
  }
}

template <class T, class Op>
DIST_INLINE void combineInto(const void *a, const void *b, void *out,
                             void *out2, int64_t n) {
  if (out2)
    combineTwice<T, Op>(a, b, out, out2, n);
  else
    combine<T, Op>(a, b, out, n);
}

template <class T>
DIST_INLINE void combineType(dist_op op, const void *a, const void *b,
                             void *out, void *out2, int64_t n) {
  switch (op) {
  case DIST_SUM:
    return combineInto<T, Sum>(a, b, out, out2, n);
  case DIST_PROD:
    return combineInto<T, Prod>(a, b, out, out2, n);
  case DIST_MAX:
    return combineInto<T, Max>(a, b, out, out2, n);
  case DIST_MIN:
    return combineInto<T, Min>(a, b, out, out2, n);
  case DIST_AND:
    if constexpr (std::is_integral_v<T>)
      combineInto<T, And>(a, b, out, out2, n);
    return;
  case DIST_OR:
    if constexpr (std::is_integral_v<T>)
      combineInto<T, Or>(a, b, out, out2, n);
    return;
  }
}

DIST_INLINE void combineBool(dist_op op, const void *a, const void *b,
                             void *out, void *out2, int64_t n) {
  switch (op) {
  case DIST_SUM:
    return combineInto<uint8_t, Xor>(a, b, out, out2, n);
  case DIST_PROD:
  case DIST_MIN:
  case DIST_AND:
    return combineInto<uint8_t, And>(a, b, out, out2, n);
  case DIST_MAX:
  case DIST_OR:
    return combineInto<uint8_t, Or>(a, b, out, out2, n);
  }
}

/// out (and out2, unless null) = a op b.
DIST_VECTOR_CLONES
static void combineAny(dist_dtype dtype, dist_op op, const void *a,
                       const void *b, void *out, void *out2, int64_t n) {
  switch (dtype) {
  case DIST_F64:
    return combineType<double>(op, a, b, out, out2, n);
  case DIST_F32:
    return combineType<float>(op, a, b, out, out2, n);
  case DIST_I64:
    return combineType<int64_t>(op, a, b, out, out2, n);
  case DIST_I32:
    return combineType<int32_t>(op, a, b, out, out2, n);
  case DIST_I16:
    return combineType<int16_t>(op, a, b, out, out2, n);
  case DIST_I8:
    return combineType<int8_t>(op, a, b, out, out2, n);
  case DIST_U8:
    return combineType<uint8_t>(op, a, b, out, out2, n);
  case DIST_U16:
    return combineType<uint16_t>(op, a, b, out, out2, n);
  case DIST_U32:
    return combineType<uint32_t>(op, a, b, out, out2, n);
  case DIST_U64:
    return combineType<uint64_t>(op, a, b, out, out2, n);
  case DIST_I1:
    return combineBool(op, a, b, out, out2, n);
  case DIST_F16: // by way of f32
  case DIST_BF16:
    return;
  }
}

/// For the 16-bit floats: tiles in f32.
static void reduceHalves(dist_dtype dtype, dist_op op,
                         const std::vector<const char *> &ins,
                         const std::vector<char *> &outs, int64_t count) {
  constexpr int64_t tile = 2048;
  alignas(64) float sum[tile], next[tile];
  alignas(64) uint16_t rounded[tile];
  for (int64_t at = 0; at < count; at += tile) {
    int64_t n = std::min(tile, count - at);
    convert(dtype, ins[0] + at * 2, DIST_F32, sum, n);
    for (size_t i = 1; i < ins.size(); ++i) {
      convert(dtype, ins[i] + at * 2, DIST_F32, next, n);
      combineAny(DIST_F32, op, sum, next, sum, nullptr, n);
    }
    for (int64_t i = 0; i < n; ++i)
      rounded[i] =
          dtype == DIST_F16 ? floatToHalf(sum[i]) : floatToBfloat(sum[i]);
    for (char *out : outs)
      std::memcpy(out + at * 2, rounded, n * 2);
  }
}

void dist::reduceBuffers(dist_dtype dtype, dist_op op,
                         const std::vector<const char *> &ins,
                         const std::vector<char *> &outs, int64_t count) {
  if (count == 0)
    return;
  if (ins.size() == 1) {
    for (char *out : outs)
      if (out != ins[0])
        std::memcpy(out, ins[0], count * dtypeBytes(dtype));
    return;
  }
  if (dtype == DIST_F16 || dtype == DIST_BF16)
    return reduceHalves(dtype, op, ins, outs, count);
  if (ins.size() == 2 && outs.size() <= 2)
    return combineAny(dtype, op, ins[0], ins[1], outs[0],
                      outs.size() == 2 ? outs[1] : nullptr, count);

  // The tile stays in the first-level cache between the operands, and is
  // complete before any output is written: outputs may be inputs.
  alignas(64) char sum[8192];
  int64_t bytes = dtypeBytes(dtype), tile = sizeof(sum) / bytes;
  for (int64_t at = 0; at < count; at += tile) {
    int64_t n = std::min(tile, count - at), offset = at * bytes;
    combineAny(dtype, op, ins[0] + offset, ins[1] + offset, sum, nullptr, n);
    for (size_t i = 2; i < ins.size(); ++i)
      combineAny(dtype, op, sum, ins[i] + offset, sum, nullptr, n);
    for (char *out : outs)
      std::memcpy(out + offset, sum, n * bytes);
  }
}
