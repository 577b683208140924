//===- Gemm.cpp - Matrix products by dnnl_sgemm ---------------------------===//

#include "runtime/cpu/Gemm.h"
#include "runtime/cpu/Dnnl.h"

#include <algorithm>
#include <cstring>
#include <dnnl.h>
#include <string>
#include <utility>

using namespace dist;

GemmOperand dist::describeOperand(MatrixStrides strides, int64_t rows,
                                  int64_t columns) {
  // The stride of an extent of 1 is never used.
  if ((strides.column == 1 || columns == 1) &&
      (strides.row >= columns || rows == 1))
    return {true, 'N', rows == 1 ? columns : strides.row};
  if ((strides.row == 1 || rows == 1) &&
      (strides.column >= rows || columns == 1))
    return {true, 'T', columns == 1 ? rows : strides.column};
  return {false, 'N', columns};
}

static bool hasAvx512() {
  static const bool has = (static_cast<int>(dnnl::get_effective_cpu_isa()) &
                           static_cast<int>(dnnl::cpu_isa::avx512_core)) ==
                          static_cast<int>(dnnl::cpu_isa::avx512_core);
  return has;
}

/// Whether dnnl_sgemm reads operands in place: oneDNN 2.6,
/// src/cpu/x64/gemm/gemm_driver.cpp, nocopy_checker_avx2.
static bool readsInPlace(int64_t m, int64_t n) {
  return !hasAvx512() && 1.0 / m + 1.0 / n >= 0.0038;
}

/// Rows below which dnnl_sgemm takes longer to read operands than to compute.
constexpr int64_t fewestRows = 8;

GemmCall::GemmCall(GemmOperand a, GemmOperand b, GemmOperand c, int64_t m,
                   int64_t n, int64_t k)
    : m(m), n(n), k(k), a(a), b(b), c(c) {
  if (c.transposed == 'T') {
    isSwapped = true;
    std::swap(this->a, this->b);
    std::swap(this->m, this->n);
    for (GemmOperand *operand : {&this->a, &this->b})
      operand->transposed = operand->transposed == 'N' ? 'T' : 'N';
  }
  if (hasAvx512()) {
    spreadsA = this->a.transposed == 'T' && this->a.leading % 1024 == 0 &&
               this->m >= 1024 && this->n < 768;
    return;
  }
  if (!readsInPlace(m, n) || this->m < fewestRows)
    return;
  auto isFar = [](const GemmOperand &operand) {
    return operand.leading % 256 == 0 && operand.leading > 0;
  };
  spreadsA = this->a.transposed == 'T' && isFar(this->a) && this->n >= 128;
  spreadsB = this->b.transposed == 'N' && isFar(this->b) && this->n >= 8;
}

void dist::pack(const float *in, MatrixStrides strides, int64_t rows,
                int64_t columns, float *out) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      out[i * columns + j] = in[i * strides.row + j * strides.column];
}

void dist::unpack(const float *in, MatrixStrides strides, int64_t rows,
                  int64_t columns, float *out) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      out[i * strides.row + j * strides.column] = in[i * columns + j];
}

void dist::convertFrom(dist_dtype dtype, const char *in, MatrixStrides strides,
                       int64_t rows, int64_t columns, std::vector<float> &out) {
  out.resize(rows * columns);
  if (dtype == DIST_F32)
    return pack(reinterpret_cast<const float *>(in), strides, rows, columns,
                out.data());
  auto *values = reinterpret_cast<const uint16_t *>(in);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      out[i * columns + j] =
          bfloatToFloat(values[i * strides.row + j * strides.column]);
}

void dist::convertTo(dist_dtype dtype, const std::vector<float> &in,
                     MatrixStrides strides, int64_t rows, int64_t columns,
                     char *out) {
  if (dtype == DIST_F32)
    return unpack(in.data(), strides, rows, columns,
                  reinterpret_cast<float *>(out));
  auto *values = reinterpret_cast<uint16_t *>(out);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      values[i * strides.row + j * strides.column] =
          floatToBfloat(in[i * columns + j]);
}

/// Floats from one row to the next, such that rows neither share cache lines
/// nor compete for the same sets.
static int64_t spreadLeading(int64_t columns) {
  constexpr int64_t line = 16;
  int64_t leading = (columns + line - 1) / line * line;
  return leading % 128 == 0 ? leading + line : leading;
}

void dist::copyRows(const char *in, int64_t from, int64_t rows, int64_t bytes,
                    char *out, int64_t to) {
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(out + row * to, in + row * from, bytes);
}

void dist::multiply(const GemmCall &call, bool accumulating, const float *a,
                    const float *b, float *c, std::vector<float> &copyA,
                    std::vector<float> &copyB) {
  auto sgemm = [&](int64_t k, float beta, const float *a, int64_t leadingA,
                   const float *b, int64_t leadingB) {
    dnnl_status_t status =
        dnnl_sgemm(call.a.transposed, call.b.transposed, call.m, call.n, k,
                   1.0f, a, leadingA, b, leadingB, beta, c, call.c.leading);
    if (status != dnnl_success)
      throw Error("dist_contract: dnnl_sgemm returned " +
                  std::to_string(status) + " for " + std::to_string(call.m) +
                  "x" + std::to_string(k) + "x" + std::to_string(call.n));
  };
  if (!call.copies())
    return sgemm(call.k, accumulating ? 1.0f : 0.0f, a, call.a.leading, b,
                 call.b.leading);
  // The rows of a transposed operand are steps of the sum.
  auto take =
      [](const GemmOperand &operand, bool spreads, const float *data, int64_t k,
         int64_t steps, int64_t extent, bool rowsAreSteps,
         std::vector<float> &copy) -> std::pair<const float *, int64_t> {
    data += rowsAreSteps ? k * operand.leading : k;
    if (!spreads)
      return {data, operand.leading};
    int64_t leading = spreadLeading(extent);
    copy.resize(GemmCall::rows * leading);
    copyRows(reinterpret_cast<const char *>(data), operand.leading * 4, steps,
             extent * 4, reinterpret_cast<char *>(copy.data()), leading * 4);
    return {copy.data(), leading};
  };
  for (int64_t k = 0; k < call.k; k += GemmCall::rows) {
    int64_t steps = std::min(GemmCall::rows, call.k - k);
    auto [partA, leadingA] = take(call.a, call.spreadsA, a, k, steps, call.m,
                                  call.a.transposed == 'T', copyA);
    auto [partB, leadingB] = take(call.b, call.spreadsB, b, k, steps, call.n,
                                  call.b.transposed == 'N', copyB);
    sgemm(steps, accumulating || k > 0 ? 1.0f : 0.0f, partA, leadingA, partB,
          leadingB);
  }
}
