//===- kernels.cpp - Kernels that the PTX executor's tests run ------------===//
//
// refresh.sh beside this file makes kernels.ptx of it, by clang alone.
//
//===----------------------------------------------------------------------===//

using u32 = unsigned;
using u64 = unsigned long long;
using bf16 = __bf16;
using f16 = _Float16;

#define KERNEL extern "C" __attribute__((nvptx_kernel)) void
#define SHARED __attribute__((address_space(3)))
#define DEVICE static inline __attribute__((always_inline))

DEVICE u32 tid() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 tidY() { return __nvvm_read_ptx_sreg_tid_y(); }
DEVICE u32 blockId() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 blockIdY() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DEVICE u32 blockSize() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE u32 gridSize() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DEVICE float shuffleXor(float x, int lanes) {
  return __nvvm_shfl_sync_bfly_f32(-1, x, lanes, 31);
}
DEVICE void barrier() { __nvvm_bar_sync(0); }

/// c = a + b, of n elements.
KERNEL vector_add(const float *__restrict a, const float *__restrict b,
                  float *__restrict c, u32 n) {
  u32 i = blockId() * blockSize() + tid();
  if (i < n)
    c[i] = a[i] + b[i];
}

/// y = a x + y, four elements a thread, over a grid that strides.
KERNEL axpy(float a, const float *__restrict x, float *__restrict y, u32 n) {
  typedef float f32x4 __attribute__((ext_vector_type(4)));
  for (u32 i = blockId() * blockSize() + tid(); i < n / 4;
       i += blockSize() * gridSize()) {
    f32x4 r = a * reinterpret_cast<const f32x4 *>(x)[i] +
              reinterpret_cast<f32x4 *>(y)[i];
    reinterpret_cast<f32x4 *>(y)[i] = r;
  }
}

static SHARED float tile[32 * 33];

/// out [m, n] of in [n, m], by tiles of 32 x 32; blocks of 32 x 8.
KERNEL transpose(const float *__restrict in, float *__restrict out, u32 n,
                 u32 m) {
  u32 x = blockId() * 32 + tid(), y = blockIdY() * 32 + tidY();
  for (u32 j = 0; j < 32; j += 8)
    if (x < m && y + j < n)
      tile[(tidY() + j) * 33 + tid()] = in[(y + j) * m + x];
  barrier();
  x = blockIdY() * 32 + tid();
  y = blockId() * 32 + tidY();
  for (u32 j = 0; j < 32; j += 8)
    if (x < n && y + j < m)
      out[(y + j) * n + x] = tile[tid() * 33 + tidY() + j];
}

static SHARED float partial[32];

/// One sum a block, of `length` elements each.
KERNEL row_sums(const float *__restrict in, float *__restrict out,
                u32 length) {
  float sum = 0;
  for (u32 i = tid(); i < length; i += blockSize())
    sum += in[blockId() * length + i];
  for (int lanes = 16; lanes; lanes /= 2)
    sum += shuffleXor(sum, lanes);
  if (tid() % 32 == 0)
    partial[tid() / 32] = sum;
  barrier();
  if (tid() < 32) {
    sum = tid() < blockSize() / 32 ? partial[tid()] : 0;
    for (int lanes = 16; lanes; lanes /= 2)
      sum += shuffleXor(sum, lanes);
    if (tid() == 0)
      out[blockId()] = sum;
  }
}

extern SHARED float dynamic[];

/// Sums by halves in dynamic shared memory; blockSize() a power of two.
KERNEL tree_sum(const float *__restrict in, float *__restrict out) {
  dynamic[tid()] = in[blockId() * blockSize() + tid()];
  barrier();
  for (u32 half = blockSize() / 2; half; half /= 2) {
    if (tid() < half)
      dynamic[tid()] += dynamic[tid() + half];
    barrier();
  }
  if (tid() == 0)
    out[blockId()] = dynamic[0];
}

/// Inclusive sums within each warp.
KERNEL warp_scan(const int *__restrict in, int *__restrict out) {
  u32 i = blockId() * blockSize() + tid(), lane = tid() % 32;
  int x = in[i];
  for (u32 by = 1; by < 32; by *= 2) {
    int other = __nvvm_shfl_sync_up_i32(-1, x, by, 0);
    if (lane >= by)
      x += other;
  }
  out[i] = x;
}

/// Which lanes of a warp hold a positive number, and each lane's place there.
KERNEL compact(const int *__restrict in, u32 *__restrict masks,
               int *__restrict places) {
  u32 i = blockId() * blockSize() + tid(), lane = tid() % 32;
  bool positive = in[i] > 0;
  u32 mask = __nvvm_vote_ballot_sync(-1u, positive);
  if (lane == 0)
    masks[i / 32] = mask;
  places[i] = positive ? __builtin_popcount(mask & ((1u << lane) - 1)) : -1;
  if (__nvvm_vote_all_sync(-1u, positive))
    places[i] += 1000;
  if (!__nvvm_vote_any_sync(-1u, positive))
    places[i] -= 1000;
}

static SHARED u32 bins[64];

/// Counts of values below 64, by atomics in shared and in global memory.
KERNEL histogram(const u32 *__restrict in, u32 *out, u32 n) {
  for (u32 i = tid(); i < 64; i += blockSize())
    bins[i] = 0;
  barrier();
  for (u32 i = blockId() * blockSize() + tid(); i < n;
       i += blockSize() * gridSize())
    __atomic_fetch_add((u32 *)&bins[in[i] & 63], 1, __ATOMIC_RELAXED);
  barrier();
  for (u32 i = tid(); i < 64; i += blockSize())
    __nvvm_atom_add_gen_i(reinterpret_cast<int *>(out + i), bins[i]);
}

/// What atomics leave in out: [and, or, xor, max, min, cas], a sum in f32 and
/// one in f64.
KERNEL atomics(const u32 *__restrict in, u32 *out, float *sum, double *wide) {
  u32 x = in[blockId() * blockSize() + tid()];
  __atomic_fetch_and(out + 0, x, __ATOMIC_RELAXED);
  __atomic_fetch_or(out + 1, x, __ATOMIC_RELAXED);
  __atomic_fetch_xor(out + 2, x, __ATOMIC_RELAXED);
  __nvvm_atom_max_gen_ui(out + 3, x);
  __nvvm_atom_min_gen_ui(out + 4, x);
  u32 none = 0;
  __atomic_compare_exchange_n(out + 5, &none, x, false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
  __nvvm_atom_add_gen_f(sum, float(x & 15));
  __nvvm_atom_add_gen_d(wide, double(x & 15));
}

static __attribute__((noinline)) int collatz(u64 n, int limit) {
  int steps = 0;
  while (n != 1 && steps < limit) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps;
}

/// Calls a function in divergent lanes, loops of which each has its own end.
KERNEL steps(const u32 *__restrict in, int *__restrict out) {
  u32 i = blockId() * blockSize() + tid();
  out[i] = in[i] % 3 ? collatz(in[i], 1000) : -collatz(in[i] + 1, 1000);
}

/// An array in local memory, read by an index of the data.
KERNEL reverse_digits(const u32 *__restrict in, u32 *__restrict out) {
  u32 i = blockId() * blockSize() + tid(), x = in[i], digits[10], count = 0;
#pragma unroll 1
  do {
    digits[count++] = x % 10;
    x /= 10;
  } while (x && count < 10);
  u32 y = 0;
#pragma unroll 1
  for (u32 k = 0; k < count; ++k)
    y = y * 10 + digits[k];
  out[i] = y;
}

/// Half precision: fma, sums, and conversions either way.
KERNEL halves(const f16 *__restrict a, const f16 *__restrict b,
              const bf16 *__restrict c, f16 *__restrict x,
              bf16 *__restrict y, float *__restrict z) {
  u32 i = blockId() * blockSize() + tid();
  x[i] = a[i] * b[i] + a[i];
  y[i] = c[i] + (bf16)(float)b[i];
  z[i] = (float)a[i] * (float)c[i];
}

/// Quotients and remainders, signed and unsigned, of 32 and 64 bits.
KERNEL divisions(const int *__restrict a, const int *__restrict b,
                 long long *__restrict out) {
  u32 i = blockId() * blockSize() + tid();
  long long x = (long long)a[i] * 65537, y = b[i];
  long long *o = out + i * 8;
  o[0] = a[i] / b[i];
  o[1] = a[i] % b[i];
  o[2] = (u32)a[i] / (u32)b[i];
  o[3] = (u32)a[i] % (u32)b[i];
  o[4] = x / y;
  o[5] = x % y;
  o[6] = (u64)x / (u64)y;
  o[7] = (u64)x % (u64)y;
}

/// f64 and what there is of functions.
KERNEL functions(const double *__restrict in, double *__restrict out,
                 float *__restrict approximate) {
  u32 i = blockId() * blockSize() + tid();
  double x = in[i];
  out[i * 4] = __builtin_sqrt(x * x + 1);
  out[i * 4 + 1] = 1 / (x * x + 3);
  out[i * 4 + 2] = __builtin_fma(x, x, -x);
  out[i * 4 + 3] = __builtin_floor(x) + __builtin_trunc(x) +
                   (double)(long long)x + (double)(u32)(int)x;
  float f = x;
  approximate[i * 6] = __nvvm_ex2_approx_f(f);
  approximate[i * 6 + 1] = __nvvm_lg2_approx_f(f * f + 1);
  approximate[i * 6 + 2] = __nvvm_rsqrt_approx_f(f * f + 1);
  approximate[i * 6 + 3] = __nvvm_sin_approx_f(f);
  approximate[i * 6 + 4] = __nvvm_cos_approx_f(f);
  approximate[i * 6 + 5] = __nvvm_rcp_approx_ftz_d(x * x + 1);
}

static __attribute__((address_space(4))) const float table[8] = {
    1, 2, 4, 8, 16, 32, 64, 128};
__attribute__((address_space(1))) u32 counter = 5;

/// A table in constant memory, a variable in global memory, a switch.
KERNEL lookups(const u32 *__restrict in, float *__restrict out) {
  u32 i = blockId() * blockSize() + tid();
  float x = table[in[i] & 7] * counter;
  switch (in[i] >> 3 & 7) {
  case 0: x += 1; break;
  case 1: x *= 3; break;
  case 2: x -= out[i + 1024]; break;
  case 3: x /= 7; break;
  case 4: x = -x; break;
  case 5: x = x * x; break;
  case 6: x = __builtin_fabsf(x - 100); break;
  default: x = 0; break;
  }
  out[i] = x;
}

/// Maxima over columns, and where: one thread a column, in order.
KERNEL column_argmax(const float *__restrict in, float *__restrict most,
                     int *__restrict where, u32 rows, u32 columns) {
  u32 c = blockId() * blockSize() + tid();
  if (c >= columns)
    return;
  float best = in[c];
  int at = 0;
  for (u32 r = 1; r < rows; ++r) {
    float x = in[r * columns + c];
    if (x > best) {
      best = x;
      at = r;
    }
  }
  most[c] = best;
  where[c] = at;
}

typedef float f32x4 __attribute__((ext_vector_type(4)));

DEVICE float warpSum(float x) {
  for (int lanes = 16; lanes; lanes /= 2)
    x += shuffleXor(x, lanes);
  return x;
}
DEVICE float warpMax(float x) {
  for (int lanes = 16; lanes; lanes /= 2)
    x = __builtin_fmaxf(x, shuffleXor(x, lanes));
  return x;
}

static SHARED float firstSums[8], secondSums[8];

/// Sums of all 256 threads.
DEVICE float blockSum(float x, SHARED float *sums) {
  x = warpSum(x);
  if (tid() % 32 == 0)
    sums[tid() / 32] = x;
  barrier();
  float sum = 0;
  for (int i = 0; i < 8; ++i)
    sum += sums[i];
  return sum;
}

/// y = (x - mean) / sqrt(variance + 1e-5) * gain + bias; rows of 2,048
/// elements, a block of 256 threads each.
KERNEL layer_norm(const f32x4 *__restrict x, const f32x4 *__restrict gain,
                  const f32x4 *__restrict bias, f32x4 *__restrict y) {
  u32 row = blockId() * 512, t = tid();
  f32x4 a = x[row + t], b = x[row + t + 256];
  f32x4 s = a + b;
  float mean =
      blockSum((s.x + s.y) + (s.z + s.w), firstSums) * (1.0f / 2048);
  a -= mean;
  b -= mean;
  f32x4 q = a * a + b * b;
  float variance =
      blockSum((q.x + q.y) + (q.z + q.w), secondSums) * (1.0f / 2048);
  float scale = __nvvm_rsqrt_approx_f(variance + 1e-5f);
  y[row + t] = a * scale * gain[t] + bias[t];
  y[row + t + 256] = b * scale * gain[t + 256] + bias[t + 256];
}

/// Softmax of rows of 512 elements, a warp each.
KERNEL softmax(const f32x4 *__restrict x, f32x4 *__restrict y) {
  u32 lane = tid() % 32;
  u32 at = (blockId() * (blockSize() / 32) + tid() / 32) * 128 + lane;
  f32x4 rows[4];
  float most = -__builtin_inff(), sum = 0;
  for (int i = 0; i < 4; ++i) {
    rows[i] = x[at + 32 * i];
    for (int k = 0; k < 4; ++k)
      most = __builtin_fmaxf(most, rows[i][k]);
  }
  most = warpMax(most);
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 4; ++k) {
      rows[i][k] =
          __nvvm_ex2_approx_f((rows[i][k] - most) * 1.44269504f);
      sum += rows[i][k];
    }
  float inverse = 1 / warpSum(sum);
  for (int i = 0; i < 4; ++i)
    y[at + 32 * i] = rows[i] * inverse;
}

/// Sums of columns: tiles of 32 x 8 rows, then shared memory.
KERNEL column_sums(const float *__restrict in, float *__restrict out,
                   u32 rows, u32 columns) {
  u32 c = blockId() * 32 + tid();
  float sum = 0;
  if (c < columns)
    for (u32 r = tidY(); r < rows; r += 8)
      sum += in[r * columns + c];
  tile[tidY() * 33 + tid()] = sum;
  barrier();
  if (tidY() == 0 && c < columns) {
    for (u32 i = 1; i < 8; ++i)
      sum += tile[i * 33 + tid()];
    out[c] = sum;
  }
}
