//===- Collectives.cpp - Kernels of collectives, for a GPU ----------------===//
//
// Copies of runs, sums over ranks, fills. clang compiles them to PTX for sm_80,
// which every later chip takes (BUILD). All have 256 threads a block and go on
// by as many elements as there are threads. DeviceMemory.cpp launches them, and
// says what arguments are; it has the same structures.
//
// Sums have the bits of the host's (runtime/collectives/Reduce.cpp).
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Arguments.h"

using namespace dist::cuda;

#define KERNEL extern "C" __attribute__((nvptx_kernel)) void
#define DEVICE static inline __attribute__((always_inline))

typedef unsigned u128 __attribute__((ext_vector_type(4)));

DEVICE int64_t first() {
  return int64_t(__nvvm_read_ptx_sreg_ctaid_x()) * kBlockThreads +
         __nvvm_read_ptx_sreg_tid_x();
}
DEVICE int64_t stride() {
  return int64_t(__nvvm_read_ptx_sreg_nctaid_x()) * kBlockThreads;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// All counts and steps are in words.
template <class Word> DEVICE void copy(const CopyArguments &a) {
  const Word *from = reinterpret_cast<const Word *>(a.from);
  Word *to = reinterpret_cast<Word *>(a.to);
  int64_t total = a.extents[0] * a.extents[1] * a.extents[2] * a.run;
  for (int64_t i = first(); i < total; i += stride()) {
    int64_t in = i % a.run, rest = i / a.run, out = in;
#pragma unroll
    for (int loop = 2; loop >= 0; --loop) {
      int64_t place = loop ? rest % a.extents[loop] : rest;
      rest = loop ? rest / a.extents[loop] : 0;
      in += place * a.in[loop];
      out += place * a.out[loop];
    }
    to[out] = from[in];
  }
}

KERNEL copy1(CopyArguments a) { copy<uint8_t>(a); }
KERNEL copy2(CopyArguments a) { copy<uint16_t>(a); }
KERNEL copy4(CopyArguments a) { copy<uint32_t>(a); }
KERNEL copy8(CopyArguments a) { copy<uint64_t>(a); }
KERNEL copy16(CopyArguments a) { copy<u128>(a); }

//===----------------------------------------------------------------------===//
// Fills
//===----------------------------------------------------------------------===//

template <class Word> DEVICE void fill(const FillArguments &a) {
  for (int64_t i = first(); i < a.runs * a.count; i += stride())
    reinterpret_cast<Word *>(a.to + i / a.count * a.step)[i % a.count] =
        Word(a.element);
}

KERNEL fill1(FillArguments a) { fill<uint8_t>(a); }
KERNEL fill2(FillArguments a) { fill<uint16_t>(a); }
KERNEL fill4(FillArguments a) { fill<uint32_t>(a); }
KERNEL fill8(FillArguments a) { fill<uint64_t>(a); }

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// A type in memory, and the one in which it is combined.
template <class T> struct Plain {
  using Stored = T;
  using Value = T;
  DEVICE T load(T x) { return x; }
  DEVICE T store(T x) { return x; }
};
struct Half {
  using Stored = _Float16;
  using Value = float;
  DEVICE float load(_Float16 x) { return x; }
  DEVICE _Float16 store(float x) { return x; }
};
struct Bfloat {
  using Stored = uint16_t;
  using Value = float;
  DEVICE float load(uint16_t x) {
    return __builtin_bit_cast(float, uint32_t(x) << 16);
  }
  /// To the nearest, the even one of two; NaN stays NaN.
  DEVICE uint16_t store(float x) {
    uint32_t bits = __builtin_bit_cast(uint32_t, x);
    if (x != x)
      return (bits >> 16) | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  }
};
struct Bool {
  using Stored = uint8_t;
  using Value = bool;
  DEVICE bool load(uint8_t x) { return x; }
  DEVICE uint8_t store(bool x) { return x; }
};

template <class T> DEVICE T combine(int op, T a, T b) {
  switch (op) {
  case kSum:
    if constexpr (__is_same(T, bool))
      return a ^ b;
    else if constexpr (__is_integral(T))
      return T(uint64_t(a) + uint64_t(b));
    else
      return a + b;
  case kProd:
    if constexpr (__is_same(T, bool))
      return a & b;
    else if constexpr (__is_integral(T))
      return T(uint64_t(a) * uint64_t(b));
    else
      return a * b;
  // NaN if either is: every comparison with NaN is false.
  case kMax:
    return ((a > b) | (a != a)) ? a : b;
  case kMin:
    return ((a < b) | (a != a)) ? a : b;
  case kAnd:
    if constexpr (__is_integral(T))
      return a & b;
    return a;
  default:
    if constexpr (__is_integral(T))
      return a | b;
    return a;
  }
}

template <class Type> DEVICE void reduce(const ReduceArguments &a) {
  using Stored = typename Type::Stored;
  using Value = typename Type::Value;
  for (int64_t i = first(); i < a.runs * a.count; i += stride()) {
    int64_t run = i / a.count, place = i % a.count;
    Value sum;
#pragma unroll
    for (int k = 0; k < kMostTerms; ++k) {
      if (k >= a.terms)
        continue;
      // The sum of the terms before is in its own type.
      if (k == 0 && a.wideIn) {
        sum = reinterpret_cast<const Value *>(a.wideIn)[i];
        continue;
      }
      Value term = Type::load(
          reinterpret_cast<const Stored *>(a.ins[k] + run * a.steps[k])[place]);
      sum = k == 0 ? term : combine(a.op, sum, term);
    }
    if (a.wideOut)
      reinterpret_cast<Value *>(a.wideOut)[i] = sum;
    else
      reinterpret_cast<Stored *>(a.to + run * a.step)[place] = Type::store(sum);
  }
}

KERNEL reduce_f64(ReduceArguments a) { reduce<Plain<double>>(a); }
KERNEL reduce_f32(ReduceArguments a) { reduce<Plain<float>>(a); }
KERNEL reduce_f16(ReduceArguments a) { reduce<Half>(a); }
KERNEL reduce_bf16(ReduceArguments a) { reduce<Bfloat>(a); }
KERNEL reduce_i64(ReduceArguments a) { reduce<Plain<int64_t>>(a); }
KERNEL reduce_i32(ReduceArguments a) { reduce<Plain<int32_t>>(a); }
KERNEL reduce_i16(ReduceArguments a) { reduce<Plain<int16_t>>(a); }
KERNEL reduce_i8(ReduceArguments a) { reduce<Plain<int8_t>>(a); }
KERNEL reduce_u64(ReduceArguments a) { reduce<Plain<uint64_t>>(a); }
KERNEL reduce_u32(ReduceArguments a) { reduce<Plain<uint32_t>>(a); }
KERNEL reduce_u16(ReduceArguments a) { reduce<Plain<uint16_t>>(a); }
KERNEL reduce_u8(ReduceArguments a) { reduce<Plain<uint8_t>>(a); }
KERNEL reduce_i1(ReduceArguments a) { reduce<Bool>(a); }
